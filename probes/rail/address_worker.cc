#include "probes/rail/address_worker.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/model/words.h"

namespace railwitness::rail {
namespace {

absl::StatusOr<std::shared_ptr<AddressHandle>> make_handle(std::shared_ptr<VerbsDevice> device,
                                                           const Destination& destination) {
  ibv_ah_attr attributes{};
  attributes.port_num = destination.port;
  attributes.dlid = destination.lid;
  attributes.is_global = destination.global ? 1 : 0;
  if (destination.global) {
    std::memcpy(attributes.grh.dgid.raw, destination.gid.data(), destination.gid.size());
    attributes.grh.sgid_index = destination.source_index;
    attributes.grh.hop_limit = 64;
  }
  errno = 0;
  ibv_ah* handle = ibv_create_ah(device->domain, &attributes);
  if (handle == nullptr) {
    const std::string what = "address " + model::gid_text(destination.gid);
    return verbs_error(what.c_str(), device->name, errno);
  }
  return std::make_shared<AddressHandle>(std::move(device), handle);
}

}  // namespace

AddressWorker::AddressWorker() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Signals are for the thread that runs the loop.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AddressWorker::~AddressWorker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_one();
  thread_.join();
  if (event_fd_ >= 0) close(event_fd_);
}

bool AddressWorker::try_submit(uint64_t owner, std::shared_ptr<VerbsDevice> device, const Destination& destination) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (requests_.size() >= kMaxRequests) return false;
    requests_.push_back({owner, std::move(device), destination});
  }
  asked_.notify_one();
  return true;
}

std::vector<AddressWorker::Result> AddressWorker::take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_fd_, &count, sizeof(count));  // EAGAIN: nothing new
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(results_, {});
}

void AddressWorker::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
    if (stopping_) return;
    Request request = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    absl::StatusOr<std::shared_ptr<AddressHandle>> handle = make_handle(std::move(request.device), request.destination);
    lock.lock();
    results_.push_back({request.owner, request.destination, std::move(handle)});
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(event_fd_, &one, sizeof(one));
  }
}

}  // namespace railwitness::rail
