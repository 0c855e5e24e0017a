// What NCCL's progress thread does with one connection: posts up to eight steps ahead, tests the oldest, checks.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_TRANSFER_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_TRANSFER_H_

#include "tests/plugin/net_host/net.h"

#include <functional>
#include <memory>
#include <vector>

namespace railwitness::net_host {

// Registered memory; deregistered by whoever made it, before the comm is closed.
struct Memory {
  std::vector<unsigned char> bytes;
  void* comm = nullptr;
  void* mr = nullptr;
};

struct TransferKind {
  int depth = 8;            // steps posted ahead
  bool optional = false;    // receives carry NCCL's hint that completion need not be known
  bool bootstrap = false;   // no phandles, test without sizes
  bool flush = false;       // each receive is flushed
  bool newest_first = false;  // tests the newest outstanding request first, as several operations on one comm would
  int tag = 0;
  unsigned seed = 1;
  int slow_us = 0;          // the receiver waits this long before each post
};

class Operation {
 public:
  virtual ~Operation() = default;
  // One turn; true: something happened. An error is NCCL's reason to end the thread.
  virtual Result step(bool* moved) = 0;
  virtual bool is_done() const = 0;
};

class SendOperation : public Operation {
 public:
  // memory: at least depth times the greatest size.
  SendOperation(Net&, void* comm, std::shared_ptr<Memory>, std::vector<size_t> sizes, TransferKind);
  ~SendOperation() override;
  Result step(bool* moved) override;
  bool is_done() const override { return done_ == sizes_.size(); }
  size_t posted() const { return posted_; }

 private:
  struct Slot;
  Result test(Slot&, bool* moved);
  Net& net_;
  void* comm_;
  std::shared_ptr<Memory> memory_;
  std::vector<size_t> sizes_;
  TransferKind kind_;
  std::vector<Slot> slots_;
  size_t room_, posted_ = 0, done_ = 0;
};

// A group of receives. Subs may have different numbers of steps; each irecv takes those that have steps left.
struct Sub {
  int tag;
  unsigned seed;
  std::vector<size_t> sizes;
};
class ReceiveOperation : public Operation {
 public:
  // memory: at least depth times subs times (the greatest size + kSlack).
  ReceiveOperation(Net&, void* comm, std::shared_ptr<Memory>, std::vector<Sub>, TransferKind);
  ~ReceiveOperation() override;
  Result step(bool* moved) override;
  bool is_done() const override { return done_ == steps_; }
  size_t posted() const { return posted_; }
  static constexpr size_t kSlack = 64;  // room beyond what is sent, which must stay untouched

 private:
  struct Slot;
  Result post(bool* moved);
  Result test(Slot&, bool* moved);
  void check(Slot&, const int* sizes);
  Net& net_;
  void* comm_;
  std::shared_ptr<Memory> memory_;
  std::vector<Sub> subs_;
  TransferKind kind_;
  std::vector<Slot> slots_;
  size_t room_, steps_ = 0, posted_ = 0, done_ = 0;
  double next_post_s_ = 0;
};

size_t largest(const std::vector<size_t>& sizes);
size_t receive_memory(const std::vector<Sub>&, const TransferKind&);
void write_pattern(unsigned char* data, size_t bytes, unsigned seed, size_t step);
bool has_pattern(const unsigned char* data, size_t bytes, unsigned seed, size_t step);

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_TRANSFER_H_
