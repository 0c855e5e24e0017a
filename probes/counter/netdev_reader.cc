#include "probes/counter/netdev_reader.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "probes/counter/rail_reader.h"
#include "probes/counter/sysfs.h"
#include "probes/model/natural_order.h"
#include "probes/model/words.h"

namespace railwitness::counter {
namespace {

constexpr size_t kMaxAddresses = 64;  // of an interface
// Reading speed and addresses takes the kernel's big network lock, and they change rarely.
constexpr int64_t kAgainNs = 10'000'000'000;

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::optional<std::string> gid_of(const sockaddr* address) {
  std::array<uint8_t, 16> gid{};
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    gid[10] = gid[11] = 0xff;
    std::memcpy(gid.data() + 12, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return model::gid_text(gid);
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  std::memcpy(gid.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, gid.size());
  return model::gid_text(gid);
}

std::string link_layer(std::string_view type) {
  if (type == std::to_string(ARPHRD_ETHER)) return "Ethernet";
  return type == std::to_string(ARPHRD_INFINIBAND) ? "InfiniBand" : "";
}

}  // namespace

bool is_interface_name(std::string_view name) {
  if (name.empty() || name.size() >= IFNAMSIZ || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != ':'; });
}

std::map<std::string, std::vector<std::string>> read_interface_addresses() {
  std::map<std::string, std::vector<std::string>> out;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const std::optional<std::string> gid = gid_of(entry->ifa_addr);
    if (!gid) continue;
    std::string_view name = entry->ifa_name;
    name = name.substr(0, name.find(':'));  // an address may have a label, "eth0:1"
    std::vector<std::string>& gids = out[std::string(name)];
    if (gids.size() < kMaxAddresses) gids.push_back(*gid);
  }
  return out;
}

std::string interface_state(std::string_view carrier, std::string_view operstate) {
  if (operstate == "dormant" || operstate == "testing") return upper(operstate);
  if (carrier == "0" || operstate == "down" || operstate == "lowerlayerdown" || operstate == "notpresent") return "DOWN";
  return carrier == "1" ? "ACTIVE" : "";
}

bool NetdevReader::can_be_rail(const std::string& name) const {
  if (!is_interface_name(name)) return false;
  return read_value(sysfs_root_ + "/class/net/" + name + "/type").has_value() && !is_loopback(name);
}

bool NetdevReader::is_loopback(const std::string& name) const {
  if (!is_interface_name(name)) return false;
  return read_value(sysfs_root_ + "/class/net/" + name + "/type") == std::to_string(ARPHRD_LOOPBACK);
}

std::vector<model::Rail> NetdevReader::read(std::vector<std::string> names, int64_t now_mono_ns) {
  std::sort(names.begin(), names.end(), model::natural_less);
  std::erase_if(memory_, [&names](const auto& known) {
    return std::find(names.begin(), names.end(), known.first) == names.end();
  });
  const bool new_one = std::any_of(names.begin(), names.end(), [this](const auto& name) { return !memory_.contains(name); });
  const bool again = new_one || addresses_mono_ns_ == 0 || now_mono_ns - addresses_mono_ns_ >= kAgainNs;
  if (again && !names.empty()) {
    addresses_ = read_interface_addresses();
    addresses_mono_ns_ = now_mono_ns;
  }
  std::vector<model::Rail> rails;
  for (const std::string& name : names) rails.push_back(read_one(name, again, now_mono_ns));
  return rails;
}

model::Rail NetdevReader::read_one(const std::string& name, bool again, int64_t now_mono_ns) {
  const std::string path = sysfs_root_ + "/class/net/" + name;
  model::Rail rail;
  rail.kind = model::RailKind::kNetdev;
  rail.device = rail.netdev = name;
  rail.link_layer = link_layer(read_value(path + "/type").value_or(""));
  rail.phys_state = read_value(path + "/operstate").value_or("");
  // An interface that is administratively down refuses to tell its carrier.
  rail.state = interface_state(read_value(path + "/carrier").value_or(""), rail.phys_state);
  Memory& memory = memory_[name];
  const bool changed = memory.state_since_mono_ns == 0 || memory.state != rail.state;
  if (changed) memory.state_since_mono_ns = now_mono_ns;
  if (changed || again) memory.speed = read_value(path + "/speed").value_or("");
  memory.state = rail.state;
  if (!rail.state.empty()) rail.state_since_mono_ns = memory.state_since_mono_ns;
  rail.speed_mbps = parse_number<uint32_t>(memory.speed);  // "-1": not known
  if (const auto known = addresses_.find(name); known != addresses_.end()) rail.gids = known->second;
  read_counters(path + "/statistics", rail.counters);
  for (const char* counter : {"carrier_up_count", "carrier_down_count"}) {
    if (const auto value = parse_number<uint64_t>(read_value(path + "/" + counter).value_or(""))) {
      rail.counters[counter] = *value;
    }
  }
  return rail;
}

}  // namespace railwitness::counter
