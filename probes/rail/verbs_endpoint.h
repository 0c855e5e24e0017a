// An end on a port of an RDMA device: an unreliable datagram queue pair, its buffers and the address handles made so
// far. Internal to probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_VERBS_ENDPOINT_H_
#define RAILWITNESS_PROBES_RAIL_VERBS_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probes/rail/endpoint.h"
#include "probes/rail/verbs_device.h"

namespace railwitness::rail {

class VerbsEndpoint final : public Endpoint {
 public:
  // Opens, fills the receive queue and makes the queue pair ready to send. `id` names this end to the worker.
  static absl::StatusOr<std::unique_ptr<Endpoint>> open(std::shared_ptr<VerbsDevice> device, uint8_t port, uint64_t id,
                                                        AddressWorker& worker);

  const std::string& device() const override { return device_->name; }
  model::RailKind kind() const override { return model::RailKind::kVerbs; }
  int poll_fd() const override { return channel_->fd; }
  bool broken() const override { return broken_; }  // the queue pair is in error
  absl::StatusOr<std::unique_ptr<Endpoint>> reopen(uint64_t id) const override;
  model::PingPort ping_port() const override;
  void refresh_addresses() override;
  void drain_events() override;
  absl::StatusOr<Route> route(const model::PingPort& to) const override;
  std::vector<Arrival> poll() override;
  Lookup look_up(const Route& route, int64_t now_mono_ns) override;
  absl::Status lookup_problem(const Route& route) const override;
  void store(const Destination& destination, absl::StatusOr<std::shared_ptr<AddressHandle>> handle,
             int64_t now_mono_ns) override;
  absl::Status send(const Route& route, const Message& message) override;

 private:
  struct Known {
    bool pending = true;
    absl::Status problem;
    std::shared_ptr<AddressHandle> handle;
    int64_t asked_mono_ns = 0, made_mono_ns = 0;
  };

  VerbsEndpoint(std::shared_ptr<VerbsDevice> device, uint8_t port, uint64_t id, AddressWorker& worker)
      : Endpoint(id), device_(std::move(device)), port_(port), worker_(worker) {}
  absl::Status make_objects();
  absl::Status make_ready();
  absl::Status post_receive(uint32_t slot);
  void consume_events();
  void take_receive(const ibv_wc& completion, std::vector<Arrival>& arrivals);
  std::span<std::byte> slot_bytes(uint32_t slot);

  std::shared_ptr<VerbsDevice> device_;
  uint8_t port_;
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

#endif  // RAILWITNESS_PROBES_RAIL_VERBS_ENDPOINT_H_
