// Names that several devices share, and planes that are not alike.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/fabric/identity.h"
#include "probes/fabric/rules.h"

namespace railwitness::fabric {

// Devices that are two by GUID or chassis and one by name. A factory's name or an unset one is nobody's.
void rule_names(Case& with) {
  const FabricMap& map = with.map;
  std::map<std::string, std::vector<size_t>> by_name;
  for (size_t d = 0; d < map.devices.size(); ++d) {
    const MapDevice& device = map.devices[d];
    if (!device.is_seen || (device.guid.empty() && device.chassis.empty())) continue;
    if (device.kind == model::DeviceKind::kSwitch && !is_factory_name(device.name)) by_name[short_name(device.name)].push_back(d);
    if (device.kind == model::DeviceKind::kNic && !device.host.empty() && !device.nic.empty()) {
      by_name[device.host + " " + device.nic].push_back(d);
    }
  }
  for (const auto& [name, devices] : by_name) {
    if (devices.size() < 2) continue;
    std::vector<std::string> who, components{name};
    std::vector<size_t> ports;
    for (const size_t d : devices) {
      who.push_back(!map.devices[d].guid.empty() ? map.devices[d].guid : map.devices[d].chassis);
      for (const size_t port : map.devices[d].ports) ports.push_back(port);
    }
    std::sort(who.begin(), who.end());
    components.insert(components.end(), who.begin(), who.end());
    if (who.size() > 8) who.resize(8);
    with.add(FindingKind::kDuplicateName, std::move(components), {},
             fmt::format("{} devices are called {}: {}", devices.size(), name, fmt::join(who, ", ")),
             {"they are told apart by GUID or chassis id; give each a name of its own"}, std::move(ports));
  }
}

namespace {

size_t leaf_of_rail(const Case& with, int rail) {
  for (size_t d = 0; d < with.map.devices.size(); ++d) {
    if (with.rails.of_device[d].rail == rail) return d;
  }
  return kNone;
}

uint64_t uplinks(const Case& with, size_t leaf) {
  uint64_t out = 0;
  for (const size_t port : with.map.devices[leaf].ports) {
    const size_t peer = with.map.peer(port);
    out += peer != kNone && with.is_switch(peer) && with.is_cable(with.map.links[with.map.ports[port].link]) ? 1 : 0;
  }
  return out;
}

}  // namespace

// Planes have as many switches and as many cables between them as most. Those that another finding tells to be missing count as
// there: they are said once.
void rule_planes(Case& with) {
  const FabricMap& map = with.map;
  const Rails& rails = with.rails;
  if (rails.plane_count < 2) return;
  struct Plane {
    uint64_t switches = 0, cables = 0;
    std::string first;
  };
  std::vector<Plane> planes(static_cast<size_t>(rails.plane_count));
  std::map<std::string, size_t> plane_by_label;
  for (size_t d = 0; d < map.devices.size(); ++d) {
    if (rails.plane_of_device[d] < 0) continue;
    Plane& plane = planes[static_cast<size_t>(rails.plane_of_device[d])];
    ++plane.switches;
    plane_by_label[map.devices[d].label] = static_cast<size_t>(rails.plane_of_device[d]);
    if (plane.first.empty() || map.devices[d].label < plane.first) plane.first = map.devices[d].label;
  }
  for (const MapLink& link : map.links) {
    if (!with.is_cable(link) || !with.is_switch(link.a) || !with.is_switch(link.b)) continue;
    const int plane = rails.plane_of_device[map.ports[link.a].device];
    if (plane >= 0) ++planes[static_cast<size_t>(plane)].cables;
  }
  for (const Finding& finding : with.out.findings) {
    if (finding.kind == FindingKind::kMissingLink && finding.components.size() > 1 && finding.rails.size() == 1) {  // a leaf that is gone
      const size_t twin = leaf_of_rail(with, finding.rails[0]);
      if (twin == kNone || rails.plane_of_device[twin] < 0) continue;
      Plane& plane = planes[static_cast<size_t>(rails.plane_of_device[twin])];
      ++plane.switches;
      plane.cables += uplinks(with, twin);
    }
    if (finding.kind != FindingKind::kMissingSwitchLink) continue;
    const auto found = plane_by_label.find(finding.components[0]);
    if (found != plane_by_label.end()) planes[found->second].cables += std::max<size_t>(finding.wanted.size() / 2, 1);
  }
  std::vector<uint64_t> switches, cables;
  for (const Plane& plane : planes) switches.push_back(plane.switches), cables.push_back(plane.cables);
  const auto usual_switches = most_common(switches, 2), usual_cables = most_common(cables, 2);
  const auto most_switches = *std::max_element(switches.begin(), switches.end()), most_cables = *std::max_element(cables.begin(), cables.end());
  for (size_t i = 0; i < planes.size(); ++i) {
    const uint64_t want_switches = usual_switches.value_or(most_switches), want_cables = usual_cables.value_or(most_cables);
    if (planes[i].switches >= want_switches && planes[i].cables >= want_cables) continue;
    with.add(FindingKind::kUnequalPlanes, {"plane of " + planes[i].first}, {},
             fmt::format("plane {} (of {}) has {} switches and {} cables between them, the others have {} and {}", i, planes[i].first,
                         planes[i].switches, planes[i].cables, want_switches, want_cables),
             {fmt::format("{} planes share most of the hosts", planes.size())}, {});
  }
}

}  // namespace railwitness::fabric
