// Single cables: their width and speed, their counters, and those that were there before.
#include <algorithm>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/fabric/counter_kind.h"
#include "probes/fabric/rules.h"

namespace railwitness::fabric {
namespace {

// The end whose numbers are the lower counts: a link is as wide as it is.
struct Speed {
  uint32_t lanes = 0, lane_mbps = 0;  // 0: not known
};

std::string speed_text(const Speed& speed) {
  return fabric::speed_text(speed.lanes, speed.lane_mbps);
}

Speed speed_of(const MapPort& port) {
  return {port.lanes.value_or(0), port.lane_mbps.value_or(0)};
}

uint32_t lower(uint32_t a, uint32_t b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

class SpeedRule {
 public:
  explicit SpeedRule(Case& with) : with_(with), map_(with.map) {}

  void run() {
    groups_.resize(map_.links.size());
    for (size_t l = 0; l < map_.links.size(); ++l) {
      if (!with_.is_cable(map_.links[l])) continue;
      groups_[l] = find_groups(l);
      add_twin(l);
    }
    for (size_t l = 0; l < map_.links.size(); ++l) {
      if (!with_.is_cable(map_.links[l])) continue;
      if (disagree(l)) continue;
      judge(l);
    }
    if (able_.lanes + able_.lane_mbps == 0) return;
    with_.out.notes.push_back(fmt::format("most cables could be wider ({}) or faster ({}), so their sources say: no fault of a single one",
                                          able_.lanes, able_.lane_mbps));
  }

 private:
  Speed of_link(size_t l) const {
    const Speed a = speed_of(map_.ports[map_.links[l].a]), b = speed_of(map_.ports[map_.links[l].b]);
    return {lower(a.lanes, b.lanes), lower(a.lane_mbps, b.lane_mbps)};
  }

  // What both ends could do beyond what they do, as sources say.
  Speed could_of(size_t l) const {
    const MapPort &a = map_.ports[map_.links[l].a], &b = map_.ports[map_.links[l].b];
    const Speed is = of_link(l);
    const Speed could = {std::max(a.could_be_lanes.value_or(0), b.could_be_lanes.value_or(0)),
                         std::max(a.could_be_lane_mbps.value_or(0), b.could_be_lane_mbps.value_or(0))};
    return {is.lanes > 0 && could.lanes > is.lanes ? could.lanes : 0, is.lane_mbps > 0 && could.lane_mbps > is.lane_mbps ? could.lane_mbps : 0};
  }

  using Counts = std::map<uint32_t, size_t>;  // how many links have what
  struct Group {
    Counts lanes, mbps, could_lanes, could_mbps;  // could: 0 for nothing beyond what they do
  };

  // Links of one switch to NICs, of one switch to switches, and of one host are twins of each other.
  std::vector<Group*> find_groups(size_t l) {
    const MapLink& link = map_.links[l];
    std::vector<Group*> out;
    const bool is_between = with_.is_switch(link.a) && with_.is_switch(link.b);
    for (const size_t port : {link.a, link.b}) {
      const MapDevice& device = map_.devices[map_.ports[port].device];
      if (with_.is_switch(port)) out.push_back(&of_switch_[{map_.ports[port].device, is_between}]);
      if (!is_between && device.kind == model::DeviceKind::kNic && !device.host.empty()) out.push_back(&of_host_[device.host]);
    }
    return out;
  }

  void add_twin(size_t l) {
    const Speed speed = of_link(l), could = could_of(l);
    for (Group* of : groups_[l]) {
      if (speed.lanes > 0) ++of->lanes[speed.lanes], ++of->could_lanes[could.lanes];
      if (speed.lane_mbps > 0) ++of->mbps[speed.lane_mbps], ++of->could_mbps[could.lane_mbps];
    }
  }

  // What more than half of the others of the group have, if they are three at least.
  static uint32_t usual(const Counts& counts, uint32_t own) {
    size_t all = 0;
    for (const auto& [value, count] : counts) all += count;
    for (const auto& [value, count] : counts) {
      const size_t others = value == own ? count - 1 : count;
      if (others * 2 > all - 1 && others >= 3) return value;
    }
    return 0;
  }

  // Both groups must say more: the switch's other links and the host's, or both switches'.
  uint32_t meant(size_t l, Counts Group::* what, uint32_t own) const {
    const std::vector<Group*>& of = groups_[l];
    if (of.size() != 2 || own == 0) return 0;
    const uint32_t a = usual(of[0]->*what, own), b = usual(of[1]->*what, own);
    return a > own && b > own ? std::min(a, b) : 0;
  }

  // Most twins of both ends could do the same: that is how the fabric is built or set (switches of another generation, split
  // cables, hardware that supports 12x), and nothing of this cable.
  bool is_common(size_t l, Counts Group::* what, uint32_t could) const {
    const std::vector<Group*>& of = groups_[l];
    return could > 0 && of.size() == 2 && usual(of[0]->*what, could) == could && usual(of[1]->*what, could) == could;
  }

  Speed uncommon_could_of(size_t l) {
    Speed could = could_of(l);
    if (is_common(l, &Group::could_lanes, could.lanes)) could.lanes = 0, ++able_.lanes;
    if (is_common(l, &Group::could_mbps, could.lane_mbps)) could.lane_mbps = 0, ++able_.lane_mbps;
    return could;
  }

  bool disagree(size_t l) {
    const MapLink& link = map_.links[l];
    const MapPort &a = map_.ports[link.a], &b = map_.ports[link.b];
    if (a.speed_source == kNone || a.speed_source != b.speed_source) return false;
    const Speed one = speed_of(a), other = speed_of(b);
    const bool is_width = one.lanes != other.lanes && one.lanes > 0 && other.lanes > 0;
    const bool is_speed = one.lane_mbps != other.lane_mbps && one.lane_mbps > 0 && other.lane_mbps > 0;
    if (!is_width && !is_speed) return false;
    with_.slow.insert(l);
    tell(FindingKind::kEndsDisagree, link, {},
         fmt::format("the ends of {} disagree: {} says {}, {} says {}", map_.cable_name(link), map_.port_name(link.a), speed_text(one),
                     map_.port_name(link.b), speed_text(other)),
         {"said by " + with_.source_name(a.speed_source) + "; the lower one is likely what the cable carries"});
    return true;
  }

  void judge(size_t l) {
    const MapLink& link = map_.links[l];
    const MapPort &a = map_.ports[link.a], &b = map_.ports[link.b];
    const Speed is = of_link(l);
    Speed best = {meant(l, &Group::lanes, is.lanes), meant(l, &Group::mbps, is.lane_mbps)};
    const Speed could = uncommon_could_of(l);
    std::vector<std::string> evidence;
    if (best.lanes > 0 || best.lane_mbps > 0) evidence.push_back("most other links of both ends have " + speed_text({best.lanes, best.lane_mbps}));
    if (could.lanes > 0 || could.lane_mbps > 0) {
      evidence.push_back(fmt::format("{} says that both ends could do {}", with_.source_name(a.speed_source != kNone ? a.speed_source : b.speed_source),
                                     speed_text(could)));
    }
    if (evidence.empty()) return;
    const bool is_narrow = best.lanes > is.lanes || could.lanes > is.lanes;
    best = {std::max({best.lanes, could.lanes, is.lanes}), std::max({best.lane_mbps, could.lane_mbps, is.lane_mbps})};
    with_.slow.insert(l);
    evidence.push_back("said by " + with_.said_by(link.sources));
    tell(is_narrow ? FindingKind::kNarrow : FindingKind::kSlow, link, {},
         fmt::format("{} runs at {}, {} is usual", map_.cable_name(link), speed_text(is), speed_text(best)), std::move(evidence));
  }

  void tell(FindingKind kind, const MapLink& link, std::vector<std::string> wanted, std::string text, std::vector<std::string> evidence) {
    std::vector<std::string> ends{map_.port_name(link.a), map_.port_name(link.b)};
    std::sort(ends.begin(), ends.end());
    with_.add(kind, std::move(ends), std::move(wanted), std::move(text), std::move(evidence), {link.a, link.b});
  }

  Case& with_;
  const FabricMap& map_;
  std::map<std::pair<size_t, bool>, Group> of_switch_;  // by device, and whether towards switches
  std::map<std::string, Group> of_host_;
  std::vector<std::vector<Group*>> groups_;  // by link
  Speed able_;  // cables of which it is common, by what they could be
};

// What one port's counters say, of one kind; empty: nothing.
std::vector<std::string> counters_text(const Case& with, size_t p, CounterKind::Of of) {
  constexpr uint64_t kQuietNs = 600'000'000'000;  // no new error for so long: what stands there is old
  std::vector<std::string> out;
  for (const auto& [name, counter] : with.map.ports[p].counters) {
    const CounterKind kind = kind_of_counter(name);
    const uint64_t value = counter.value.value;
    if (kind.of != of || (value < kind.at_least && !counter.value.saturated)) continue;
    std::string growth;
    if (counter.before && counter.before_source != kNone) {
      const auto then = with.map.sources[counter.before_source].source.wall_ns, now = with.map.sources[counter.source].source.wall_ns;
      const bool is_long = then && now && *now > *then && static_cast<uint64_t>(*now) - static_cast<uint64_t>(*then) >= kQuietNs;
      if (*counter.before == value && is_long && !counter.value.saturated) continue;
      if (*counter.before < value) growth = fmt::format(", {} more than before", value - *counter.before);
    }
    out.push_back(fmt::format("{} {}{}{}", name, value, counter.value.saturated ? " or more (saturated)" : "", growth));
  }
  return out;
}

void judge_counters(Case& with, const std::vector<size_t>& ends, CounterKind::Of of) {
  const FabricMap& map = with.map;
  std::vector<std::string> told;
  std::vector<size_t> sources;
  for (const size_t p : ends) {
    const std::vector<std::string> of_port = counters_text(with, p, of);
    if (of_port.empty()) continue;
    told.push_back(fmt::format("{}: {}", map.port_name(p), fmt::join(of_port, ", ")));
    for (const auto& [name, counter] : map.ports[p].counters) sources.push_back(counter.source);
  }
  if (told.empty()) return;
  std::sort(told.begin(), told.end());
  std::vector<std::string> names;
  for (const size_t p : ends) names.push_back(map.port_name(p));
  std::sort(names.begin(), names.end());
  const std::string where = ends.size() == 2 ? map.cable_name(map.links[map.ports[ends[0]].link]) : names[0];
  const bool is_cable = of == CounterKind::Of::kCable;
  with.add(is_cable ? FindingKind::kCableErrors : FindingKind::kCongestion, std::move(names), {},
           fmt::format("{}: {}", is_cable ? "errors of the cable " + where : "congestion, not the cable, at " + where, fmt::join(told, "; ")),
           {"said by " + with.said_by(sources)}, ends);
}

}  // namespace

std::string speed_text(uint32_t lanes, uint32_t lane_mbps) {
  static const std::map<uint32_t, const char*> kNames{{2500, "SDR"},  {5000, "DDR"},  {10000, "QDR"},  {10312, "FDR10"}, {14062, "FDR"},
                                                      {25781, "EDR"}, {53125, "HDR"}, {106250, "NDR"}, {212500, "XDR"}};
  const auto name = kNames.find(lane_mbps);
  const std::string of_lanes = lanes == 0 ? "" : fmt::format("{}x", lanes);
  if (lane_mbps == 0) return of_lanes;
  return name != kNames.end() ? of_lanes + name->second : fmt::format("{}{} Mb/s a lane", of_lanes.empty() ? "" : of_lanes + " ", lane_mbps);
}

void rule_speed(Case& with) {
  SpeedRule(with).run();
}

void rule_counters(Case& with) {
  for (size_t p = 0; p < with.map.ports.size(); ++p) {
    const size_t peer = with.map.peer(p);
    if (peer != kNone && peer < p) continue;  // told from the other end
    std::vector<size_t> ends{p};
    if (peer != kNone) ends.push_back(peer);
    for (const CounterKind::Of of : {CounterKind::Of::kCable, CounterKind::Of::kCongestion}) judge_counters(with, ends, of);
  }
}

void rule_lost(Case& with) {
  const FabricMap& map = with.map;
  std::set<std::string> told;  // a host's missing rail, two switches' missing cable: told already
  for (const Finding& finding : with.out.findings) {
    if (finding.kind == FindingKind::kMissingLink) told.insert(finding.components.begin(), finding.components.end());
    if (finding.kind == FindingKind::kMissingSwitchLink) told.insert(fmt::format("{}\n{}", finding.components[0], finding.components[1]));
  }
  for (const MapLink& link : map.links) {
    if (link.state != LinkState::kGone || link.is_loop(map.ports)) continue;
    const MapDevice &a = map.devices[map.ports[link.a].device], &b = map.devices[map.ports[link.b].device];
    if (a.kind == model::DeviceKind::kAggregation || b.kind == model::DeviceKind::kAggregation) continue;
    const std::string of_pair = fmt::format("{}\n{}", std::min(a.label, b.label), std::max(a.label, b.label));
    if (told.contains(map.port_name(link.a)) || told.contains(map.port_name(link.b)) || told.contains(of_pair)) continue;
    if (with.placed.contains(link.a) || with.placed.contains(link.b)) continue;
    std::vector<std::string> ends{map.port_name(link.a), map.port_name(link.b)};
    std::sort(ends.begin(), ends.end());
    with.add(FindingKind::kLostLink, std::move(ends), {}, fmt::format("{} was there before and is not any more", map.cable_name(link)),
             {"last said by " + with.said_by(link.sources)}, {link.a, link.b});
  }
}

}  // namespace railwitness::fabric
