#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/probes/fabric/readers/fixtures_infiniband.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::FabricFacts;

bool is_switch(const FabricFacts& facts, size_t port) {
  return facts.devices[facts.ports[port].device].kind == DeviceKind::kSwitch;
}

std::string speed(const model::FabricPort& port) {
  return absl::StrCat(port.lanes ? absl::StrCat(*port.lanes) : "?", "x", port.lane_mbps ? absl::StrCat(*port.lane_mbps) : "?");
}

template <typename Key>
std::string histogram(const std::map<Key, size_t>& counts, std::string_view between) {
  return absl::StrJoin(counts, ", ", [&](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, std::string(between), entry.second);
  });
}

}  // namespace

std::vector<Row> rows() {
  std::vector<Row> all = rows_of_maps();
  for (auto* more : {&rows_of_counters, &rows_of_hosts}) {
    for (Row& row : more()) all.push_back(std::move(row));
  }
  return all;
}

std::string counts(const FabricFacts& facts) {
  std::map<DeviceKind, size_t> kinds;
  for (const auto& device : facts.devices) kinds[device.kind] += device.line != 0;
  size_t between = 0, one_sided = 0;
  for (const auto& link : facts.links) {
    between += is_switch(facts, link.a) && is_switch(facts, link.b);
    one_sided += link.one_sided;
  }
  return absl::StrCat(kinds[DeviceKind::kSwitch], " switches, ", kinds[DeviceKind::kNic] + kinds[DeviceKind::kAggregation],
                      " CAs of which ", kinds[DeviceKind::kAggregation], " aggregation; ", facts.links.size(), " links, ",
                      between, " between switches, ", one_sided, " one-sided");
}

std::string speeds(const FabricFacts& facts) {
  std::map<std::string, size_t> ports;
  for (const auto& port : facts.ports) {
    if (port.line != 0 && port.state == model::PortState::kUp) ++ports[speed(port)];
  }
  return histogram(ports, " x ");
}

std::string parallel_links(const FabricFacts& facts) {
  std::map<std::pair<size_t, size_t>, size_t> pairs;
  size_t loops = 0;
  for (const auto& link : facts.links) {
    if (!is_switch(facts, link.a) || !is_switch(facts, link.b)) continue;
    const size_t a = facts.ports[link.a].device, b = facts.ports[link.b].device;
    if (a == b) ++loops;
    else ++pairs[std::minmax(a, b)];
  }
  std::map<size_t, size_t> by_number;
  for (const auto& entry : pairs) ++by_number[entry.second];
  return absl::StrCat(histogram(by_number, ": "), loops > 0 ? absl::StrCat(", loop: ", loops) : "");
}

std::string nics_of_hosts(const FabricFacts& facts) {
  std::map<std::string, size_t> hosts;
  for (const auto& device : facts.devices) {
    if (device.kind == DeviceKind::kNic && !device.host.empty()) ++hosts[device.host];
  }
  std::map<size_t, size_t> by_number;
  for (const auto& entry : hosts) ++by_number[entry.second];
  return histogram(by_number, ": ");
}

std::string short_name(const FabricFacts& facts, size_t device) {
  std::string name = facts.devices[device].name;
  if (name.starts_with("MF0;")) name = name.substr(4, name.find(':') - 4);
  return name.empty() ? facts.devices[device].guid : name;
}

std::vector<std::string> links(const FabricFacts& facts) {
  std::vector<std::string> all;
  for (const auto& link : facts.links) {
    std::vector<std::string> ends;
    for (const size_t port : {link.a, link.b}) {
      ends.push_back(absl::StrCat(short_name(facts, facts.ports[port].device), " ", facts.ports[port].number));
    }
    std::sort(ends.begin(), ends.end());
    all.push_back(absl::StrCat(ends[0], " - ", ends[1], " (", speed(facts.ports[link.a]), ")"));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string remarks(const FabricFacts& facts, std::string_view word) {
  std::vector<std::string> all;
  for (const auto& remark : facts.remarks) {
    if (remark.text.find(word) != std::string::npos) all.push_back(absl::StrCat(remark.line, ": ", remark.text));
  }
  return absl::StrJoin(all, "; ");
}

std::string errors(const FabricFacts& facts) {
  std::vector<std::string> all;
  for (const auto& port : facts.ports) {
    std::string text;
    for (const auto& [name, counter] : port.counters) {
      const bool is_data = name.find("Data") != std::string::npos || name.find("Pkts") != std::string::npos;
      if (counter.value > 0 && !is_data) absl::StrAppend(&text, " ", name, "=", counter.value, counter.saturated ? "+" : "");
    }
    if (!text.empty()) all.push_back(absl::StrCat(short_name(facts, port.device), "/", port.number, text));
  }
  std::sort(all.begin(), all.end());
  return absl::StrJoin(all, "; ");
}

const model::FabricPort* port_of(const FabricFacts& facts, std::string_view device, uint32_t number) {
  for (const auto& port : facts.ports) {
    if (short_name(facts, port.device) == device && port.number == number) return &port;
  }
  return nullptr;
}

}  // namespace railwitness::fabric
