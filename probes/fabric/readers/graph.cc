#include "probes/fabric/readers/graph.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

constexpr std::string_view kAggregationNode = "Aggregation Node";

std::string words_of_speed(const model::FabricPort& port) {
  const std::string lanes = port.lanes ? absl::StrCat(*port.lanes, " lanes") : "lanes unknown";
  return port.lane_mbps ? absl::StrCat(lanes, " of ", *port.lane_mbps, " Mb/s") : lanes;
}

template <typename T>
bool differ(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

}  // namespace

Graph::Graph(std::string_view kind, std::string_view file) {
  facts_.source.kind = std::string(kind);
  facts_.source.file = std::string(file);
}

size_t Graph::device() {
  if (facts_.devices.size() == kMaxDevices) {  // the last one takes what is too much; finish() refuses
    too_many_ = true;
    return kMaxDevices - 1;
  }
  facts_.devices.emplace_back();
  return facts_.devices.size() - 1;
}

size_t Graph::device(const std::string& key) {
  if (const auto known = keys_.find(key); known != keys_.end()) return known->second;
  const size_t index = device();
  if (!too_many_) keys_.emplace(key, index);
  return index;
}

std::optional<size_t> Graph::find(const std::string& key) const {
  const auto known = keys_.find(key);
  if (known == keys_.end()) return std::nullopt;
  return known->second;
}

size_t Graph::port(size_t device, uint32_t number) {
  const uint64_t key = uint64_t{device} << 32 | number;
  if (const auto known = ports_.find(key); known != ports_.end()) return known->second;
  if (facts_.ports.size() == kMaxPorts) {
    too_many_ = true;
    return kMaxPorts - 1;
  }
  facts_.ports.emplace_back();
  facts_.ports.back().device = device;
  facts_.ports.back().number = number;
  ports_.emplace(key, facts_.ports.size() - 1);
  return facts_.ports.size() - 1;
}

void Graph::connect(size_t from, size_t to, uint32_t line) {
  const auto [said, is_new] = links_.try_emplace(std::minmax(from, to));
  if (is_new) {
    said->second.link = facts_.links.size();
    facts_.links.push_back({from, to, false, "", line});
  }
  said->second.by_lower |= from <= to;
  said->second.by_higher |= from >= to;
}

void Graph::count(size_t port, std::string_view name, model::CounterValue value) {
  auto& counters = facts_.ports[port].counters;
  if (counters.size() < kMaxCountersOfPort) counters.insert_or_assign(std::string(name), value);
}

void Graph::remark(uint32_t line, std::string text) {
  if (facts_.remarks.size() < kMaxRemarks) {
    facts_.remarks.push_back({line, std::move(text)});
  } else {
    ++unsaid_remarks_;
  }
}

void Graph::left_out(uint32_t line, std::string_view text) {
  constexpr size_t kShown = 60;
  text = trim(text);
  remark(line, absl::StrCat("left out: ", std::string(text.substr(0, kShown)), text.size() > kShown ? "..." : ""));
}

std::string Graph::words_of_port(size_t port) const {
  const model::FabricPort& of = facts_.ports[port];
  const model::FabricDevice& device = facts_.devices[of.device];
  const std::string& name = !device.name.empty() ? device.name : !device.guid.empty() ? device.guid : of.guid;
  return absl::StrCat(name.empty() ? "(no name)" : name, " [", of.number, "]");
}

void Graph::compare_ends(const model::FabricLink& link) {
  const model::FabricPort &a = facts_.ports[link.a], &b = facts_.ports[link.b];
  if (!differ(a.lanes, b.lanes) && !differ(a.lane_mbps, b.lane_mbps)) return;
  remark(link.line, absl::StrCat("the ends of a link disagree: ", words_of_port(link.a), " says ", words_of_speed(a), ", ",
                                 words_of_port(link.b), " says ", words_of_speed(b)));
}

absl::StatusOr<model::FabricFacts> Graph::finish() && {
  if (too_many_) {
    return refuse(facts_.source.file, 0,
                  absl::StrCat("more than ", kMaxDevices, " nodes or ", kMaxPorts, " ports: no fabric has so many"));
  }
  std::vector<uint8_t> far_ends(facts_.ports.size());
  for (const auto& [ports, said] : links_) {
    model::FabricLink& link = facts_.links[said.link];
    link.one_sided = !said.by_lower || !said.by_higher;
    compare_ends(link);
    for (const size_t port : {ports.first, ports.second}) {
      if (ports.first == ports.second && port == link.b && far_ends[port] > 0) continue;  // a loop plug has one port
      if (++far_ends[port] == 2) remark(link.line, absl::StrCat("a port with two far ends: ", words_of_port(port)));
      far_ends[port] = std::min<uint8_t>(far_ends[port], 3);
    }
  }
  if (unsaid_remarks_ > 0) facts_.remarks.push_back({0, absl::StrCat(unsaid_remarks_, " more remarks")});
  return std::move(facts_);
}

bool is_aggregation_id(uint32_t device_id) { return device_id == 0xcf08 || device_id == 0xcf09; }

model::DeviceKind kind_of_name(std::string_view name) {
  if (name.find(kAggregationNode) != std::string_view::npos) return model::DeviceKind::kAggregation;
  if (!host_and_nic_of(name).nic.empty()) return model::DeviceKind::kNic;
  // What Mellanox switches call themselves: "MF0;leaf-r8:MQM9700/U1".
  if (name.starts_with("MF0;")) return model::DeviceKind::kSwitch;
  return model::DeviceKind::kUnknown;
}

void name_device(model::FabricDevice& device, std::string_view name) {
  name = trim(name);
  if (name.empty()) return;
  device.name = std::string(name);
  if (device.kind == model::DeviceKind::kUnknown || (device.kind == model::DeviceKind::kNic &&
                                                     name.find(kAggregationNode) != std::string_view::npos)) {
    device.kind = kind_of_name(name);
  }
  if (device.kind != model::DeviceKind::kNic) return;
  HostAndNic said = host_and_nic_of(name);
  device.host = std::move(said.host);
  device.nic = std::move(said.nic);
}

std::optional<uint32_t> mbps_of_gbps(std::string_view text) {
  double gbps = 0;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &gbps) || !(gbps > 0) || gbps > 100000) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(gbps * 1000 + 1e-6);
}

}  // namespace railwitness::fabric
