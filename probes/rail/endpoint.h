// One port's end for active probes: an unreliable datagram queue pair, its buffers and the address handles made so far.
// One thread; nothing here waits. Internal to probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_ENDPOINT_H_
#define RAILWITNESS_PROBES_RAIL_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/model/facts.h"
#include "probes/rail/address_worker.h"
#include "probes/rail/message.h"
#include "probes/rail/verbs_device.h"

namespace railwitness::rail {

struct Arrival {
  Message message;
  Destination answer_to;
  uint32_t answer_qpn = 0;
};

class Endpoint {
 public:
  // Opens, fills the receive queue and makes the queue pair ready to send. `id` names this end to the worker.
  static absl::StatusOr<std::unique_ptr<Endpoint>> open(std::shared_ptr<VerbsDevice> device, uint8_t port, uint64_t id,
                                                        AddressWorker& worker);

  uint64_t id() const { return id_; }
  const std::string& device() const { return device_->name; }
  std::shared_ptr<VerbsDevice> shared_device() const { return device_; }
  uint8_t port() const { return port_; }
  int poll_fd() const { return channel_->fd; }
  bool broken() const { return broken_; }  // the queue pair is in error: open a new one
  model::PingPort ping_port() const;

  void refresh_gids();
  absl::StatusOr<Destination> destination(const model::PingPort& to) const;

  // Messages that came; everything that is not one of ours is dropped.
  std::vector<Arrival> poll();

  // Whether there is an address handle; asks the worker for one if not. lookup_problem() says why it failed.
  enum class Lookup { kReady, kPending, kFailed };
  Lookup look_up(const Destination& destination, int64_t now_mono_ns);
  absl::Status lookup_problem(const Destination& destination) const;
  void store(const Destination& destination, absl::StatusOr<std::shared_ptr<AddressHandle>> handle,
             int64_t now_mono_ns);

  // Only after look_up() said kReady.
  absl::Status send(const Destination& destination, uint32_t qpn, const Message& message);

 private:
  struct Known {
    bool pending = true;
    absl::Status problem;
    std::shared_ptr<AddressHandle> handle;
    int64_t asked_mono_ns = 0, made_mono_ns = 0;
  };

  Endpoint(std::shared_ptr<VerbsDevice> device, uint8_t port, uint64_t id, AddressWorker& worker)
      : device_(std::move(device)), port_(port), id_(id), worker_(worker) {}
  absl::Status make_objects();
  absl::Status make_ready();
  absl::Status post_receive(uint32_t slot);
  void consume_events();
  void take_receive(const ibv_wc& completion, std::vector<Arrival>& arrivals);
  std::span<std::byte> slot_bytes(uint32_t slot);

  std::shared_ptr<VerbsDevice> device_;
  uint8_t port_;
  uint64_t id_;
  AddressWorker& worker_;
  bool infiniband_ = false;
  bool broken_ = false;
  uint16_t lid_ = 0;
  std::vector<LocalGid> gids_;
  Gid own_gid_{};  // stays when the address table empties with the link
  std::map<Destination, Known> known_;
  std::vector<uint32_t> free_send_slots_;
  // In the order of making; destroyed in the other one.
  std::vector<std::byte> buffer_;
  MemoryRegion region_;
  CompletionChannel channel_;
  CompletionQueue queue_;
  QueuePair pair_;
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_ENDPOINT_H_
