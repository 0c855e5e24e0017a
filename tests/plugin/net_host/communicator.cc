#include "tests/plugin/net_host/communicator.h"

#include <algorithm>

namespace railwitness::net_host {

Service::Service() {
  thread_ = std::thread([this] {
    for (;;) {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  });
}

Service::~Service() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  more_.notify_one();
  thread_.join();
}

std::future<void> Service::start(std::function<void()> what) {
  std::packaged_task<void()> task(std::move(what));
  auto future = task.get_future();
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  more_.notify_one();
  return future;
}

Progress::Progress() {
  thread_ = std::thread([this] { loop(); });
}

void Progress::loop() {
  std::vector<std::shared_ptr<Operation>> mine;
  int idle = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !operations_.empty() || !mine.empty(); });
      if (stop_) break;
      mine.insert(mine.end(), operations_.begin(), operations_.end());
      operations_.clear();
    }
    bool moved = false;
    Result result = abi::kSuccess;
    for (const auto& operation : mine)
      if (result = operation->step(&moved); result) break;
    if (result || std::ranges::any_of(mine, [](const auto& operation) { return operation->is_done(); })) {
      const std::lock_guard lock(mutex_);
      for (const auto& operation : mine)
        if (operation->is_done()) done_.insert(operation.get());
      std::erase_if(mine, [](const auto& operation) { return operation->is_done(); });
      error_ = result;
      changed_.notify_all();
      if (result) break;
    }
    idle = moved ? 0 : idle + 1;
    // NCCL spins here; this machine has other things to do.
    if (idle > 100) nap_us(50);
    else if (idle) std::this_thread::yield();
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void Progress::add(std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  done_.erase(operation.get());  // another one may have had this address
  operations_.push_back(std::move(operation));
  changed_.notify_all();
}

bool Progress::wait(const std::shared_ptr<Operation>& operation, double seconds, Result* error) {
  std::unique_lock lock(mutex_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const bool done = changed_.wait_until(lock, std::chrono::time_point_cast<std::chrono::nanoseconds>(until),
                                        [&] { return is_over_ || done_.contains(operation.get()); });
  if (error) *error = error_;
  else REQUIRE(!error_, "the progress thread ended with error %d", error_);
  return done && done_.contains(operation.get());
}

void Progress::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Communicator::Communicator(Library& library, uint64_t comm_id, int traffic_class) : net(library.net()), owns_context_(true) {
  const Result result = net.init(&context, comm_id, traffic_class);
  REQUIRE(result == abi::kSuccess, "init said %d; NCCL 2.28 would call finalize with a context that was never set", result);
  if (net.devices() == 0) skip("the plugin has no devices: NCCL would go on without, silently");
  device_properties = net.properties(device);
}

Communicator::Communicator(Communicator& parent)
    : net(parent.net), context(parent.context), device(parent.device), device_properties(parent.device_properties),
      owns_context_(false) {}

Communicator::~Communicator() { progress.stop(); }

void Communicator::finalize() {
  progress.stop();
  if (!owns_context_) return;
  const Result result = net.finalize(context);
  REQUIRE(result == abi::kSuccess, "finalize said %d", result);
}

std::vector<Link> Communicator::connect(Rank& rank, int count) {
  std::vector<Link> links;
  service.call([&] { links = connect_links(rank, net, context, device, count); });
  return links;
}

std::vector<Link> connect_links(Rank& rank, Net& net, void* context, int device, int count) {
  const size_t n = static_cast<size_t>(count);
  std::vector<Link> links(n);
  std::vector<Handle> mine(n), theirs(n);
  std::vector<void*> listens(n);
  for (size_t i = 0; i < n; i++) {
    const Result result = net.listen(context, device, &mine[i], &listens[i]);
    REQUIRE(result == abi::kSuccess, "listen said %d", result);
  }
  rank.exchange(mine.data(), theirs.data(), n * sizeof(Handle));
  const double end = now_s() + kPatience_s;
  for (bool all = false; !all;) {
    REQUIRE(now_s() < end, "no connection after %.0f s", kPatience_s);
    all = true;
    for (size_t i = 0; i < n; i++) {
      if (!links[i].send) {
        const Result result = net.connect(context, device, &theirs[i], &links[i].send);
        REQUIRE(result == abi::kSuccess, "connect said %d", result);
      }
      if (!links[i].recv) {
        const Result result = net.accept(listens[i], &links[i].recv);
        REQUIRE(result == abi::kSuccess, "accept said %d", result);
        if (links[i].recv) net.close_listen(listens[i]);  // at once
      }
      all &= links[i].send && links[i].recv;
    }
    if (!all) nap_us(50);
  }
  return links;
}

void Communicator::close(std::vector<Link>& links) {
  service.call([&] {
    for (Link& link : links) {
      if (link.send) net.close_send(link.send);
      if (link.recv) net.close_recv(link.recv);
    }
  });
  links.clear();
}

std::shared_ptr<Memory> Communicator::memory(void* comm, size_t bytes) {
  auto memory = std::make_shared<Memory>();
  memory->bytes.resize(std::max<size_t>(bytes, 1));
  memory->comm = comm;
  service.call([&] { memory->mr = net.register_memory(comm, memory->bytes.data(), memory->bytes.size()); });
  return memory;
}

void Communicator::transfer(const std::vector<Link>& links, const std::vector<size_t>& bytes, const TransferKind& kind) {
  std::vector<std::shared_ptr<Operation>> operations;
  std::vector<std::shared_ptr<Memory>> memories;
  for (const Link& link : links) {
    const std::vector<Sub> subs{{kind.tag, kind.seed, bytes}};
    memories.push_back(memory(link.send, largest(bytes) * static_cast<size_t>(kind.depth)));
    operations.push_back(std::make_shared<SendOperation>(net, link.send, memories.back(), bytes, kind));
    memories.push_back(memory(link.recv, receive_memory(subs, kind)));
    operations.push_back(std::make_shared<ReceiveOperation>(net, link.recv, memories.back(), subs, kind));
  }
  for (const auto& operation : operations) progress.add(operation);
  for (const auto& operation : operations)
    REQUIRE(progress.wait(operation, kPatience_s), "not done after %.0f s", kPatience_s);
  service.call([&] {
    for (const auto& memory : memories) net.deregister(memory->comm, memory->mr);
  });
}

}  // namespace railwitness::net_host
