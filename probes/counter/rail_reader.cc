#include "probes/counter/rail_reader.h"

#include <algorithm>
#include <optional>

#include "probes/counter/sysfs.h"
#include "probes/model/natural_order.h"

namespace railwitness::counter {
namespace {

// Bounds of what a device may say; a real one has 1 or 2 ports with a few addresses and about 80 counters each.
constexpr size_t kMaxDevices = 256;
constexpr size_t kMaxGids = 256;
// Tables have up to 1024 entries, filled from the front; reading on past this many empty ones finds nothing.
constexpr int kMaxGap = 64;
// Address tables are long and change rarely: read again after this or when the port's state changed.
constexpr int64_t kGidsValidNs = 10'000'000'000;
constexpr std::string_view kZeroGid = "0000:0000:0000:0000:0000:0000:0000:0000";

std::vector<std::string> read_gids(const std::string& port_path) {
  std::vector<std::string> gids;
  for (int i = 0, gap = 0; gap < kMaxGap && gids.size() < kMaxGids; ++i) {
    const auto gid = read_value(port_path + "/gids/" + std::to_string(i));
    const bool taken = gid && !gid->empty() && *gid != kZeroGid;
    gap = taken ? 0 : gap + 1;
    if (taken) gids.push_back(*gid);
  }
  return gids;
}

}  // namespace

std::string parse_state(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos && parse_number<unsigned>(text.substr(0, colon))) {
    text.remove_prefix(colon + 1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return std::string(text);
}

std::vector<std::string> RailReader::devices() const {
  return list_folder(sysfs_root_ + "/class/infiniband", kMaxDevices);
}

std::vector<model::Rail> RailReader::read(std::vector<std::string> devices, int64_t now_mono_ns) {
  std::sort(devices.begin(), devices.end(), model::natural_less);
  std::vector<model::Rail> rails;
  for (const std::string& device : devices) {
    std::vector<uint8_t> ports;
    for (const std::string& name : list_folder(sysfs_root_ + "/class/infiniband/" + device + "/ports", 255)) {
      if (const auto port = parse_number<uint8_t>(name)) ports.push_back(*port);
    }
    if (ports.empty()) ports.push_back(1);  // gone from sysfs: still a rail of this node, with nothing known
    for (const uint8_t port : ports) {
      model::Rail& rail = rails.emplace_back(read_port(device, port, now_mono_ns));
      rail.index = static_cast<int32_t>(rails.size()) - 1;
    }
  }
  std::erase_if(memory_, [&rails](const auto& known) {
    return std::none_of(rails.begin(), rails.end(), [&known](const model::Rail& rail) {
      return rail.device == known.first.first && rail.port == known.first.second;
    });
  });
  return rails;
}

model::Rail RailReader::read_port(const std::string& device, uint8_t port, int64_t now_mono_ns) {
  const std::string path = sysfs_root_ + "/class/infiniband/" + device + "/ports/" + std::to_string(port);
  model::Rail rail;
  rail.device = device;
  rail.port = port;
  rail.link_layer = read_value(path + "/link_layer").value_or("");
  rail.state = parse_state(read_value(path + "/state").value_or(""));
  rail.phys_state = parse_state(read_value(path + "/phys_state").value_or(""));
  rail.lid = parse_number<uint16_t>(read_value(path + "/lid").value_or(""), 16).value_or(0);
  PortMemory& memory = memory_[{device, port}];
  const bool changed = memory.state_since_mono_ns == 0 || memory.state != rail.state;
  if (changed) memory.state_since_mono_ns = now_mono_ns;
  if (changed || memory.phys_state != rail.phys_state || now_mono_ns - memory.gids_read_mono_ns >= kGidsValidNs) {
    memory.gids = read_gids(path);
    memory.gids_read_mono_ns = now_mono_ns;
  }
  memory.state = rail.state;
  memory.phys_state = rail.phys_state;
  if (!rail.state.empty()) rail.state_since_mono_ns = memory.state_since_mono_ns;
  rail.gids = memory.gids;
  if (rail.link_layer != "InfiniBand") rail.netdev = read_netdev(device, path);
  read_counters(path + "/hw_counters", rail.counters);
  read_counters(path + "/counters", rail.counters);
  return rail;
}

std::string RailReader::read_netdev(const std::string& device, const std::string& port_path) const {
  const auto of_gid = read_value(port_path + "/gid_attrs/ndevs/0");
  if (of_gid && !of_gid->empty()) return *of_gid;
  const std::string device_path = sysfs_root_ + "/class/infiniband/" + device;
  const std::vector<std::string> of_device = list_folder(device_path + "/device/net", 2);
  if (of_device.size() == 1) return of_device.front();  // two: the one of this port is not told
  return read_value(device_path + "/parent").value_or("");  // Soft-RoCE
}

}  // namespace railwitness::counter
