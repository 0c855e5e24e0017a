// The job's side: the built plugin as NCCL loads it, and somebody who moves data past it or through it.
#ifndef RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_LOADED_H_
#define RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_LOADED_H_

#include "railwitness/nccl/net_v11.h"
#include "railwitness/nccl/profiler_v5.h"
#include "tests/plugin/lifecycle/bed.h"

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace railwitness::lifecycle {

// Sets RAILWITNESS_MODE as the case asks.
void use_mode();

int lines_said();
bool was_said(const char* what);  // anywhere in what the plugin said in this job

struct Plugin {
  void* handle = nullptr;
  const nccl::NetV11* net = nullptr;
  const nccl::ProfilerV5* profiler = nullptr;
  void* context = nullptr;

  explicit Plugin(const std::string& path = bed.plugin);
  void init();
  void finalize() const;
  void* init_profiler() const;
  void unload();
};

// The functions of libibverbs, as net_ib gets them: by name, without linking.
struct Verbs {
  void* library = nullptr;
  ibv_context* context = nullptr;

  explicit Verbs(const char* name = "libibverbs.so");
  void open();
  void close();
  template <typename F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(find_symbol(name));
  }
  ibv_qp* create_qp() const;
  void destroy_qp(ibv_qp* qp) const;

 private:
  void* find_symbol(const char* name) const;
};

// One queue pair, or one net connection to itself; used by one thread at a time.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual bool move(int transfers) = 0;  // false: a call failed
};

class VerbsMover : public Mover {
 public:
  explicit VerbsMover(const Verbs& verbs);
  ~VerbsMover() override;
  VerbsMover(const VerbsMover&) = delete;
  VerbsMover& operator=(const VerbsMover&) = delete;
  bool move(int transfers) override;
  void keep() { qp_ = nullptr; }  // not destroyed

 private:
  const Verbs& verbs_;
  ibv_cq cq_{};
  ibv_qp* qp_;
};

class NetMover : public Mover {
 public:
  explicit NetMover(const Plugin& plugin);
  ~NetMover() override;
  NetMover(const NetMover&) = delete;
  NetMover& operator=(const NetMover&) = delete;
  bool move(int transfers) override;

 private:
  const nccl::NetV11& net_;
  void *listen_ = nullptr, *send_ = nullptr, *receive_ = nullptr, *out_mr_ = nullptr, *in_mr_ = nullptr;
  char out_[64] = {}, in_[64] = {};
};

// A whole job: plugin, verbs where the mode needs them, and movers.
class Loaded {
 public:
  Loaded();  // loads, initialises, opens
  std::unique_ptr<Mover> make_mover() const;
  // Threads that move until stop(), each counting in bed.page->moved[i].
  void start_moving(int threads);
  void stop();

  Plugin plugin;
  std::unique_ptr<Verbs> verbs;

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace railwitness::lifecycle

#endif  // RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_LOADED_H_
