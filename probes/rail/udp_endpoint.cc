#include "probes/rail/udp_endpoint.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "probes/model/words.h"

namespace railwitness::rail {
namespace {

constexpr int kMaxArrivals = 128;  // a turn of the loop; the rest waits for the next one
constexpr size_t kMaxAddresses = 64;

absl::Status socket_error(const char* what, const std::string& interface, int error) {
  std::string text = std::string("cannot ") + what + " on " + interface + ": " + std::strerror(error);
  if (error == EPERM) text += " (CAP_NET_RAW lets a sidecar bind to an interface on kernels before 5.7)";
  return absl::UnavailableError(text);
}

bool is_mapped(const Gid& gid) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(std::begin(kMapped), std::end(kMapped), gid.begin());
}

bool is_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

// A socket address of either family and its length.
struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address ipv4_address(const Gid& gid, uint16_t port) {
  Address out;
  auto& to = reinterpret_cast<sockaddr_in&>(out.bytes);
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  std::memcpy(&to.sin_addr, gid.data() + 12, 4);
  out.length = sizeof(to);
  return out;
}

Address ipv6_address(const Gid& gid, uint16_t port, unsigned interface_index) {
  Address out;
  auto& to = reinterpret_cast<sockaddr_in6&>(out.bytes);
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  std::memcpy(&to.sin6_addr, gid.data(), gid.size());
  if (is_link_local(gid)) to.sin6_scope_id = interface_index;
  out.length = sizeof(to);
  return out;
}

// Who sent it: address as GID and port.
std::optional<Route> sender_of(const sockaddr_storage& from) {
  Route route;
  if (from.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(from);
    route.destination.gid[10] = route.destination.gid[11] = 0xff;
    std::memcpy(route.destination.gid.data() + 12, &address.sin_addr, 4);
    route.number = ntohs(address.sin_port);
  } else if (from.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(from);
    std::memcpy(route.destination.gid.data(), &address.sin6_addr, route.destination.gid.size());
    route.number = ntohs(address.sin6_port);
  } else {
    return std::nullopt;
  }
  return route.number == 0 ? std::nullopt : std::optional(route);
}

std::vector<LocalGid> read_addresses(const std::string& interface) {
  std::vector<LocalGid> out;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr && out.size() < kMaxAddresses; entry = entry->ifa_next) {
    const std::string_view label = entry->ifa_name;
    if (label.substr(0, label.find(':')) != interface || entry->ifa_addr == nullptr) continue;
    sockaddr_storage address{};
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::memcpy(&address, entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    // The port is none, so sender_of() would refuse it.
    if (family == AF_INET) reinterpret_cast<sockaddr_in&>(address).sin_port = 1;
    if (family == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_port = 1;
    if (const auto own = sender_of(address)) out.push_back({own->destination.gid, 0, true});
  }
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> UdpEndpoint::open(const std::string& interface, uint64_t id) {
  std::unique_ptr<UdpEndpoint> endpoint(new UdpEndpoint(interface, id));
  const absl::Status status = endpoint->open_socket();
  if (!status.ok()) return status;
  endpoint->refresh_addresses();
  return endpoint;
}

UdpEndpoint::~UdpEndpoint() {
  if (socket_ >= 0) close(socket_);
}

absl::Status UdpEndpoint::open_socket() {
  interface_index_ = if_nametoindex(interface_.c_str());
  if (interface_index_ == 0) return absl::NotFoundError("no network interface " + interface_);
  socket_ = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int off = 0;
  if (socket_ >= 0) setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (socket_ < 0 && errno == EAFNOSUPPORT) {
    ipv6_ = false;
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  }
  if (socket_ < 0) return socket_error("make a socket for probes", interface_, errno);
  if (setsockopt(socket_, SOL_SOCKET, SO_BINDTODEVICE, interface_.c_str(), static_cast<socklen_t>(interface_.size())) !=
      0) {
    return socket_error("bind a socket for probes", interface_, errno);
  }
  // Any address of the interface, which may get another one; the kernel takes what comes in there and nowhere else.
  const Address any = ipv6_ ? ipv6_address(Gid{}, 0, 0) : ipv4_address(Gid{}, 0);
  if (bind(socket_, any.get(), any.length) != 0) return socket_error("bind a port for probes", interface_, errno);
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return socket_error("ask for the port for probes", interface_, errno);
  }
  if (const auto own = sender_of(bound)) port_ = static_cast<uint16_t>(own->number);
  return absl::OkStatus();
}

void UdpEndpoint::refresh_addresses() {
  broken_ |= if_nametoindex(interface_.c_str()) != interface_index_;
  addresses_ = read_addresses(interface_);
  if (const auto own = choose_own(addresses_)) own_ = *own;
}

model::PingPort UdpEndpoint::ping_port() const {
  model::PingPort port;
  port.device = interface_;
  if (own_ != Gid{}) port.gid = model::gid_text(own_);
  port.udp_port = port_;
  return port;
}

absl::StatusOr<Route> UdpEndpoint::route(const model::PingPort& to) const {
  if (to.udp_port == 0) return absl::InvalidArgumentError("the peer answers probes there, but not over UDP");
  const std::optional<Gid> gid = parse_gid(to.gid);
  if (!gid || *gid == Gid{}) return absl::InvalidArgumentError("the peer's interface has no address");
  if (!choose_source(addresses_, *gid)) {
    return absl::UnavailableError(interface_ + " has no address of the family of " + to.gid);
  }
  Route route;
  route.destination.gid = *gid;
  route.number = to.udp_port;
  return route;
}

std::vector<Arrival> UdpEndpoint::poll() {
  std::vector<Arrival> arrivals;
  for (int i = 0; i < kMaxArrivals; ++i) {
    std::byte bytes[kMessageBytes + 1];  // one more, so that a longer one is seen to be longer
    sockaddr_storage from{};
    socklen_t length = sizeof(from);
    const ssize_t got = recvfrom(socket_, bytes, sizeof(bytes), 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      broken_ |= errno == ENODEV || errno == ENETDOWN || errno == EBADF;
      break;
    }
    auto message = parse_message(std::span<const std::byte>(bytes, static_cast<size_t>(got)));
    const auto sender = sender_of(from);
    if (message && sender) arrivals.push_back({*std::move(message), *sender});
  }
  return arrivals;
}

absl::Status UdpEndpoint::send(const Route& route, const Message& message) {
  const Gid& gid = route.destination.gid;
  const auto port = static_cast<uint16_t>(route.number);
  if (!ipv6_ && !is_mapped(gid)) return absl::InvalidArgumentError("this kernel has no IPv6, which the peer has");
  const Address to = ipv6_ ? ipv6_address(gid, port, interface_index_) : ipv4_address(gid, port);
  const auto bytes = encode_message(message);
  if (sendto(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL, to.get(), to.length) >= 0) return absl::OkStatus();
  const int error = errno;
  broken_ |= error == ENODEV || error == ENXIO;
  return socket_error("send a probe", interface_, error);
}

}  // namespace railwitness::rail
