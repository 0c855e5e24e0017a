// Makes address handles on a thread of its own: on Ethernet the kernel may ask the network for the peer's address and
// wait up to a second for a peer that does not answer, which is exactly when we probe. Internal to probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_ADDRESS_WORKER_H_
#define RAILWITNESS_PROBES_RAIL_ADDRESS_WORKER_H_

#include <compare>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/rail/message.h"
#include "probes/rail/verbs_device.h"

namespace railwitness::rail {

// Where a datagram goes from a port.
struct Destination {
  uint8_t port = 1;
  uint8_t source_index = 0;
  bool global = true;  // with a GRH
  Gid gid{};
  uint16_t lid = 0;  // InfiniBand
  auto operator<=>(const Destination&) const = default;
};

class AddressWorker {
 public:
  struct Result {
    uint64_t owner = 0;  // as it was asked
    Destination destination;
    absl::StatusOr<std::shared_ptr<AddressHandle>> handle;
  };

  AddressWorker();
  ~AddressWorker();  // waits for the request in work
  AddressWorker(const AddressWorker&) = delete;
  AddressWorker& operator=(const AddressWorker&) = delete;

  int poll_fd() const { return event_fd_; }  // readable when there are results
  bool try_submit(uint64_t owner, std::shared_ptr<VerbsDevice> device, const Destination& destination);
  std::vector<Result> take();

 private:
  struct Request {
    uint64_t owner = 0;
    std::shared_ptr<VerbsDevice> device;
    Destination destination;
  };
  void work();

  static constexpr size_t kMaxRequests = 256;
  int event_fd_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Request> requests_;
  std::vector<Result> results_;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_ADDRESS_WORKER_H_
