// A communicator of one rank: NCCL's two threads and what they do with a net plugin.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_COMMUNICATOR_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_COMMUNICATOR_H_

#include "tests/plugin/net_host/library.h"
#include "tests/plugin/net_host/transfer.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace railwitness::net_host {

// "NCCL Service": one after the other, whatever it is asked for.
class Service {
 public:
  Service();
  ~Service();
  void call(const std::function<void()>& what) { start(what).wait(); }
  std::future<void> start(std::function<void()> what);

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

// "NCCL Progress": all operations in turn, until each is done or one fails, which ends the thread for all.
class Progress {
 public:
  Progress();
  ~Progress() { stop(); }
  void add(std::shared_ptr<Operation>);
  // False: not done within the time. `error`, if given, gets what ended the thread; without it an error fails the case.
  bool wait(const std::shared_ptr<Operation>&, double seconds, Result* error = nullptr);
  void stop();  // an abort: leaves at the next iteration

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Operation>> operations_;
  std::set<const Operation*> done_;
  bool stop_ = false, is_over_ = false;
  Result error_ = abi::kSuccess;
  std::thread thread_;
};

struct Link {  // to the other rank: one connection each way
  void* send = nullptr;
  void* recv = nullptr;
};

class Communicator {
 public:
  // Sets up the net as NCCL does: init, devices, properties. A net of no devices skips the case.
  Communicator(Library&, uint64_t comm_id, int traffic_class = abi::kUndefined);
  // A child that shares its parent's resources: no init of its own.
  explicit Communicator(Communicator& parent);
  ~Communicator();

  Net& net;
  void* context = nullptr;
  int device = 0;
  Device device_properties;
  Service service;
  Progress progress;

  std::vector<Link> connect(Rank&, int count = 1);
  void close(std::vector<Link>&);
  void finalize();
  // Both ranks: `messages` of these sizes over each link, both ways at once, data checked.
  void transfer(const std::vector<Link>&, const std::vector<size_t>& bytes, const TransferKind& = {});
  std::shared_ptr<Memory> memory(void* comm, size_t bytes);  // registered by the service thread

 private:
  bool owns_context_;
};

constexpr double kPatience_s = 100;  // a busy machine is no error

// Both sides of `count` connections to the other rank in one thread, polled in turn as NCCL's service thread does it.
std::vector<Link> connect_links(Rank&, Net&, void* context, int device, int count);

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_COMMUNICATOR_H_
