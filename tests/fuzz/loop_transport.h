// A transport within one process, for fuzzing the engine before it. It is strict: what it never gave out, what is over, and
// what the engine must not pass on end the program. A byte of input decides each time whether it is ready, lacks a
// request, or fails.
#ifndef RAILWITNESS_TESTS_FUZZ_LOOP_TRANSPORT_H_
#define RAILWITNESS_TESTS_FUZZ_LOOP_TRANSPORT_H_

#include "plugin/engine/transport.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace railwitness::fuzz {

using engine::CommConfig;
using engine::DeviceProperties;
using engine::Ends;
using engine::VirtualDevice;
using nccl::Result;

// The input, byte by byte; zeros after its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool is_over() const { return at_ >= size_; }
  uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }
  bool one_in(unsigned n) { return next() % n == 1; }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

class LoopTransport final : public engine::Transport {
 public:
  explicit LoopTransport(Bytes& choices) : choices_(choices) {}

  // What is held; all of it must be 0 when all is closed.
  size_t comms() const { return comms_.size(); }
  size_t registrations() const { return registrations_.size(); }
  size_t contexts() const { return contexts_.size(); }
  void be_well(bool well) { is_well_ = well; }  // no faults from now on

  const char* description() const override { return "loop"; }
  Result init(void** context, uint64_t comm_id, const CommConfig&, nccl::Logger, nccl::ProfilerCallback) override;
  Result finalize(void* context) override;
  Result devices(int* count) override;
  Result properties(int device, DeviceProperties*) override;
  Result make_virtual_device(int* device, const VirtualDevice&) override;
  bool has_virtual_devices() const override { return true; }
  Result listen(void* context, int device, void* handle, void** listen_comm) override;
  Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) override;
  Result accept(void* listen_comm, void** recv_comm, void** device_handle) override;
  Result close_listen(void* comm) override { return close(comm, Kind::kListen); }
  Result close_send(void* comm) override { return close(comm, Kind::kSend); }
  Result close_recv(void* comm) override { return close(comm, Kind::kReceive); }
  void describe(void* comm, bool is_send, Ends*) override;
  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override;
  Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) override;
  Result deregister(void* comm, void* mr) override;
  Result get_device_mr(void*, void*, void**) override { return nccl::kInternalError; }
  Result isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) override;
  Result irecv(void* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers, void** request) override;
  Result iflush(void* comm, int n, void** data, int* bytes, void** mrs, void** request) override;
  Result test(void* request, int* done, int* bytes) override;
  Result irecv_consumed(void* comm, int n, void* request) override;
  Result set_attributes(void* context, const void* attributes) override;

  static constexpr int kGroup = 4;  // maxRecvs

 private:
  enum class Kind { kListen, kSend, kReceive };
  struct Message {
    int tag;
    std::vector<char> data;
  };
  struct Pipe {
    std::deque<Message> messages;
  };
  struct Comm {
    Kind kind;
    uint32_t number;
    std::shared_ptr<Pipe> pipe;
    std::deque<std::shared_ptr<Pipe>> backlog;
    std::set<void*> requests;
  };
  struct Part {
    char* data;
    size_t bytes;
    int tag;
    bool is_filled;
    size_t moved;
  };
  struct Request {
    Comm* comm;
    std::vector<Part> parts;
    bool is_flush;
  };

  Comm* find(void* comm, Kind) const;
  Result close(void* comm, Kind);
  void* make_request(Comm&, std::vector<Part>, bool is_flush);
  bool fails() { return !is_well_ && choices_.one_in(64); }
  bool holds_back() { return !is_well_ && choices_.one_in(4); }

  Bytes& choices_;
  bool is_well_ = false;
  uint32_t number_ = 0;
  int virtual_devices_ = 0;
  std::set<void*> contexts_;
  std::map<void*, std::unique_ptr<Comm>> comms_;
  std::map<void*, std::unique_ptr<Request>> requests_;
  std::map<void*, void*> registrations_;  // to comm
};

[[noreturn]] void broken(const char* what);

}  // namespace railwitness::fuzz

#endif  // RAILWITNESS_TESTS_FUZZ_LOOP_TRANSPORT_H_
