// An end on a network interface, where there is no RDMA device: a UDP socket that is bound to the interface, so that
// what it sends and hears crosses that wire and no other. Internal to probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_UDP_ENDPOINT_H_
#define RAILWITNESS_PROBES_RAIL_UDP_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probes/rail/endpoint.h"

namespace railwitness::rail {

class UdpEndpoint final : public Endpoint {
 public:
  // Takes a UDP port that the kernel chooses. IPv4 and IPv6; IPv4 alone where the kernel has no IPv6.
  static absl::StatusOr<std::unique_ptr<Endpoint>> open(const std::string& interface, uint64_t id);
  ~UdpEndpoint() override;

  const std::string& device() const override { return interface_; }
  model::RailKind kind() const override { return model::RailKind::kNetdev; }
  int poll_fd() const override { return socket_; }
  bool broken() const override { return broken_; }  // the interface is gone, or another one goes by its name
  absl::StatusOr<std::unique_ptr<Endpoint>> reopen(uint64_t id) const override { return open(interface_, id); }
  model::PingPort ping_port() const override;
  void refresh_addresses() override;
  absl::StatusOr<Route> route(const model::PingPort& to) const override;
  std::vector<Arrival> poll() override;
  absl::Status send(const Route& route, const Message& message) override;

 private:
  UdpEndpoint(std::string interface, uint64_t id) : Endpoint(id), interface_(std::move(interface)) {}
  absl::Status open_socket();

  std::string interface_;
  unsigned interface_index_ = 0;
  int socket_ = -1;
  bool ipv6_ = true;
  bool broken_ = false;
  uint16_t port_ = 0;
  std::vector<LocalGid> addresses_;
  Gid own_{};  // stays when the interface loses its addresses
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_UDP_ENDPOINT_H_
