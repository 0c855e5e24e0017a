#include "probes/fabric/findings.h"

#include <algorithm>
#include <array>
#include <map>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/fabric/rules.h"
#include "probes/model/natural_order.h"
#include "railwitness/base/fnv1a.h"

namespace railwitness::fabric {
namespace {

void tell_loops(Case& with) {
  for (const MapLink& link : with.map.links) {
    if (!link.is_loop(with.map.ports) || link.state == LinkState::kGone) continue;
    if (with.out.notes.size() >= kMaxNotes) return;
    with.out.notes.push_back(fmt::format("a cable goes back into the same device: {}", with.map.cable_name(link)));
  }
}

void rule_no_fabric(Case& with) {
  const FabricMap& map = with.map;
  with.out.is_fabric_seen = std::any_of(map.links.begin(), map.links.end(), [&](const MapLink& link) {
    return link.state != LinkState::kGone && !link.is_loop(map.ports);
  });
  if (with.out.is_fabric_seen) return;
  std::vector<std::string> seen, scans;
  for (const MapDevice& device : map.devices) {
    if (device.is_seen && seen.size() < 4) seen.push_back(device.label);
  }
  bool is_scan = false, is_asked = false;
  for (const MapSource& source : map.sources) {
    if (source.is_plan || source.is_remembered) continue;
    is_asked = true;
    is_scan = is_scan || source.source.kind == "ibnetdiscover" || source.source.kind == "iblinkinfo" || source.source.kind == "ibdiagnet";
  }
  if (!is_asked) return;
  if (!is_scan) {
    with.out.notes.push_back("no source of this run says a cable: this is no information, not a fabric without cables; "
                             "give ibnetdiscover, iblinkinfo, ibdiagnet or lldpctl as well");
    return;
  }
  std::sort(seen.begin(), seen.end());
  with.add(FindingKind::kNoFabric, seen, {},
           fmt::format("no fabric seen from this port: {} and no cable (port down, or no subnet manager?)",
                       seen.empty() ? "no device" : fmt::format("only {}", fmt::join(seen, ", "))),
           {"ask again from a port that is up: ibstat says State: Active"}, {});
}

}  // namespace

std::string_view word(FindingKind kind) {
  static constexpr std::array<std::string_view, kFindingKinds> kWords{
      "no-fabric", "swapped", "wrong-leaf",     "other-unit",   "wrong-port", "missing-link",   "missing-switch-link", "lost-link",
      "narrow",    "slow",    "ends-disagree",  "cable-errors", "congestion", "duplicate-name", "unequal-planes"};
  return kWords[static_cast<size_t>(kind)];
}

void Case::add(FindingKind kind, std::vector<std::string> components, std::vector<std::string> wanted, std::string text,
               std::vector<std::string> evidence, std::vector<size_t> ports, std::set<int> of_rails) {
  if (out.findings.size() >= kMaxFindings) {
    ++left_out;
    return;
  }
  std::vector<std::string> key = components;
  std::sort(key.begin(), key.end());
  Finding finding;
  finding.kind = kind;
  const std::string name = fmt::format("{}\n{}", word(kind), fmt::join(key, "\n"));
  finding.id = fmt::format("{:012x}", fnv1a_64(name.data(), name.size()) & 0xffffffffffff);
  finding.components = std::move(components);
  finding.wanted = std::move(wanted);
  finding.text = std::move(text);
  finding.evidence = std::move(evidence);
  finding.ports = std::move(ports);
  if (of_rails.empty()) of_rails = rails_of(finding.ports);
  for (const int rail : of_rails) {
    if (rail >= 0) finding.rails.push_back(rail);
  }
  out.findings.push_back(std::move(finding));
}

std::set<int> Case::rails_of(const std::vector<size_t>& ports) {
  if (rail_of_nic.empty()) {
    for (const NicPlace& nic : rails.nics) rail_of_nic[nic.port] = nic.meant_leaf == kNone ? nic.rail : rails.of_device[nic.meant_leaf].rail;
  }
  std::set<int> of_nics, of_leaves;
  for (const size_t port : ports) {
    if (const auto nic = rail_of_nic.find(port); nic != rail_of_nic.end()) of_nics.insert(nic->second);
    of_leaves.insert(rails.of_device[map.ports[port].device].rail);
  }
  return of_nics.empty() ? of_leaves : of_nics;
}

bool Case::is_switch(size_t port) const {
  return map.devices[map.ports[port].device].kind == model::DeviceKind::kSwitch;
}

bool Case::is_cable(const MapLink& link) const {
  if (link.state == LinkState::kGone || link.is_loop(map.ports)) return false;
  for (const size_t port : {link.a, link.b}) {
    if (map.devices[map.ports[port].device].kind == model::DeviceKind::kAggregation) return false;
  }
  return true;
}

std::string Case::source_name(size_t source) const {
  const MapSource& from = map.sources[source];
  return from.is_remembered ? from.source.kind + ", remembered" : from.source.kind;
}

std::string Case::said_by(const std::vector<size_t>& sources) const {
  std::vector<std::string> names;
  for (const size_t source : sources) {
    std::string name = source_name(source);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<uint64_t> most_common(const std::vector<uint64_t>& values, size_t at_least) {
  std::map<uint64_t, size_t> count;
  for (const uint64_t value : values) ++count[value];
  for (const auto& [value, n] : count) {
    if (n * 2 > values.size() && n >= at_least) return value;
  }
  return {};
}

Judgement judge(const FabricMap& map, const Rails& rails) {
  Judgement out;
  Case with{map, rails, out, {}, {}, 0};
  out.notes = map.notes;
  rule_no_fabric(with);
  tell_loops(with);
  rule_plan(with);
  rule_rails(with);
  rule_switch_pairs(with);
  rule_speed(with);
  rule_counters(with);
  rule_names(with);
  rule_planes(with);
  rule_lost(with);
  if (with.left_out > 0) out.notes.push_back(fmt::format("{} more findings are left out", with.left_out));
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.components != b.components ? std::lexicographical_compare(a.components.begin(), a.components.end(), b.components.begin(),
                                                                       b.components.end(), model::natural_less)
                                        : a.id < b.id;
  });
  return out;
}

}  // namespace railwitness::fabric
