#include "probes/fabric/map.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/facts_text.h"
#include "probes/fabric/identity.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::FabricDevice;
using model::FabricFacts;
using model::FabricPort;

int64_t time_of(const model::Source& source) {
  return source.wall_ns.value_or(std::numeric_limits<int64_t>::min());
}

// A host that LLDP runs on is one device there and has a port for each interface; here each interface is a NIC, as
// everywhere else. The chassis id is the host's and would make them one again.
void split_host(FabricFacts& facts) {
  std::vector<bool> whole(facts.devices.size(), false);
  for (size_t d = 0; d < facts.devices.size(); ++d) {
    const FabricDevice& device = facts.devices[d];
    whole[d] = device.kind == DeviceKind::kNic && !device.host.empty() && device.nic.empty();
  }
  for (FabricPort& port : facts.ports) {
    if (port.device >= whole.size() || !whole[port.device] || port.label.empty()) continue;
    FabricDevice nic = facts.devices[port.device];
    nic.nic = std::exchange(port.label, {});
    nic.name = nic.host + " " + nic.nic;
    nic.chassis.clear();
    nic.guid = port.guid;
    port.number = 1;
    port.device = facts.devices.size();
    facts.devices.push_back(std::move(nic));
  }
}

class Builder {
 public:
  Builder(std::vector<FabricFacts> facts, std::vector<FabricFacts> remembered) {
    std::vector<std::pair<FabricFacts, bool>> all;
    for (FabricFacts& one : facts) all.emplace_back(std::move(one), false);
    for (FabricFacts& one : remembered) all.emplace_back(std::move(one), true);
    for (auto& [one, is_remembered] : all) split_host(one);
    sort(all);
    for (auto& [one, is_remembered] : all) {
      map_.sources.push_back({one.source, one.is_plan, is_remembered});
      map_.has_plan = map_.has_plan || one.is_plan;
      facts_.push_back(std::move(one));
    }
  }

  FabricMap build() {
    Identities identities = identify(facts_);
    map_.notes = std::move(identities.notes);
    map_.devices.resize(identities.count);
    by_key_.resize(identities.count);
    of_ = std::move(identities.of);
    for (size_t f = 0; f < facts_.size(); ++f) add_devices(f);
    name_devices();
    for (size_t f = 0; f < facts_.size(); ++f) add_ports(f);
    for (size_t f = 0; f < facts_.size(); ++f) {
      if (map_.sources[f].is_plan) add_plan(f);
    }
    for (size_t f = 0; f < facts_.size(); ++f) {
      if (!map_.sources[f].is_plan) add_links(f);
    }
    drop_replaced();
    judge_remembered();
    return std::move(map_);
  }

 private:
  // By time; what has the same is put in an order of its own, so that the order given makes no difference.
  static void sort(std::vector<std::pair<FabricFacts, bool>>& all) {
    std::vector<std::tuple<int64_t, bool, std::string, std::string, std::string, size_t>> keys;
    for (size_t i = 0; i < all.size(); ++i) {
      const model::Source& source = all[i].first.source;
      keys.emplace_back(time_of(source), !all[i].second, source.kind, source.file, std::string(), i);
    }
    std::stable_sort(keys.begin(), keys.end());
    for (size_t i = 1; i < keys.size(); ++i) {  // the text is long; few need it
      const bool is_tie = std::get<0>(keys[i]) == std::get<0>(keys[i - 1]) && std::get<1>(keys[i]) == std::get<1>(keys[i - 1]) &&
                          std::get<2>(keys[i]) == std::get<2>(keys[i - 1]) && std::get<3>(keys[i]) == std::get<3>(keys[i - 1]);
      if (!is_tie) continue;
      for (const size_t at : {i - 1, i}) {
        if (std::get<4>(keys[at]).empty()) std::get<4>(keys[at]) = facts_text(all[std::get<5>(keys[at])].first);
      }
    }
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a), std::get<3>(a), std::get<4>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b), std::get<3>(b), std::get<4>(b));
    });
    std::vector<std::pair<FabricFacts, bool>> out;
    for (const auto& key : keys) out.push_back(std::move(all[std::get<5>(key)]));
    all = std::move(out);
  }

  void note(std::string text) {
    if (map_.notes.size() < kMaxNotes) map_.notes.push_back(std::move(text));
  }

  template <class T>
  static void take(T& to, const T& from, const T& unknown) {
    if (from != unknown) to = from;
  }

  void add_devices(size_t f) {
    for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
      const FabricDevice& from = facts_[f].devices[d];
      MapDevice& to = map_.devices[of_[f][d]];
      if (to.kind == DeviceKind::kUnknown || !to.is_seen) take(to.kind, from.kind, DeviceKind::kUnknown);
      to.is_seen = to.is_seen || !map_.sources[f].is_plan;
      const bool is_of_nameless = to.name.empty() && !from.name.empty() && !from.guid.empty();  // may be a port's
      if (to.guid.empty() || is_of_nameless) to.guid = from.guid;
      if (to.system_guid.empty()) to.system_guid = from.system_guid;
      if (to.chassis.empty()) to.chassis = from.chassis;
      if (to.name.empty() || !is_factory_name(from.name)) take(to.name, from.name, std::string());
      take(to.host, from.host, std::string());
      take(to.nic, from.nic, std::string());
      if (from.vendor_id) to.vendor_id = from.vendor_id;
      if (from.device_id) to.device_id = from.device_id;
      if (from.lid) to.lid = from.lid;
    }
  }

  // Short names; where two share one, what tells them apart is added.
  void name_devices() {
    std::unordered_map<std::string, size_t> count;
    for (MapDevice& device : map_.devices) {
      device.label = !device.host.empty() ? device.host + (device.nic.empty() ? "" : " " + device.nic) : short_name(device.name);
      ++count[device.label];
    }
    std::unordered_map<std::string, size_t> nth;
    for (MapDevice& device : map_.devices) {
      if (count[device.label] == 1 && !device.label.empty()) continue;
      const std::string apart = !device.guid.empty() ? device.guid : !device.chassis.empty() ? device.chassis : "";
      std::string label = device.label.empty() ? apart : apart.empty() ? device.label : fmt::format("{} ({})", device.label, apart);
      if (const size_t n = nth[label]++; n > 0 || label.empty()) label += fmt::format("{}#{}", label.empty() ? "nameless " : " ", n + 1);
      device.label = std::move(label);
    }
  }

  size_t port_of(size_t f, size_t p) {
    const FabricPort& from = facts_[f].ports[p];
    const size_t d = of_[f][from.device];
    std::unordered_map<std::string, size_t>& keys = by_key_[d];
    const bool is_nic = map_.devices[d].kind == DeviceKind::kNic;
    const uint32_t number = from.number == 0 && from.label.empty() && is_nic ? 1 : from.number;
    const std::string by_number = number > 0 ? fmt::format("#{}", number) : "";
    const std::string by_label = !from.label.empty() ? "l" + from.label : "";
    for (const std::string& key : {by_number, by_label}) {
      const auto found = key.empty() ? keys.end() : keys.find(key);
      if (found == keys.end()) continue;
      if (!by_number.empty()) keys.try_emplace(by_number, found->second);
      if (!by_label.empty()) keys.try_emplace(by_label, found->second);
      return found->second;
    }
    const size_t made = map_.ports.size();
    map_.ports.emplace_back().device = d;
    map_.devices[d].ports.push_back(made);
    if (!by_number.empty()) keys.emplace(by_number, made);
    if (!by_label.empty()) keys.emplace(by_label, made);
    map_.ports[made].number = number;
    return made;
  }

  void add_ports(size_t f) {
    const FabricFacts& facts = facts_[f];
    port_of_.emplace_back(facts.ports.size(), kNone);
    for (size_t p = 0; p < facts.ports.size(); ++p) {
      const FabricPort& from = facts.ports[p];
      if (from.device >= facts.devices.size()) continue;
      const size_t at = port_of(f, p);
      port_of_[f][p] = at;
      MapPort& to = map_.ports[at];
      if (to.number == 0) to.number = from.number;
      if (to.label.empty()) to.label = from.label;
      if (map_.sources[f].is_plan) continue;
      take(to.guid, from.guid, std::string());
      take(to.state, from.state, model::PortState::kUnknown);
      if (from.mtu_bytes) to.mtu_bytes = from.mtu_bytes;
      if (from.lanes || from.lane_mbps) add_speed(to, from, f);
      for (const auto& [name, value] : from.counters) add_counter(to.counters[name], value, f);
    }
  }

  // The newest source has the word, also on what it no longer says: that both ends could do more.
  static void add_speed(MapPort& to, const FabricPort& from, size_t f) {
    if (from.lanes) to.lanes = from.lanes;
    if (from.lane_mbps) to.lane_mbps = from.lane_mbps;
    to.could_be_lanes = from.could_be_lanes;
    to.could_be_lane_mbps = from.could_be_lane_mbps;
    to.speed_source = f;
  }

  void add_counter(MapCounter& to, const model::CounterValue& value, size_t f) const {
    if (to.source != kNone && time_of(map_.sources[to.source].source) < time_of(map_.sources[f].source)) {
      to.before = to.value.value;
      to.before_source = to.source;
    }
    to.value = value;
    to.source = f;
  }

  void add_plan(size_t f) {
    for (const model::FabricLink& from : facts_[f].links) {
      if (from.a >= port_of_[f].size() || from.b >= port_of_[f].size()) continue;
      const size_t a = port_of_[f][from.a], b = port_of_[f][from.b];
      if (a == kNone || b == kNone || a == b) continue;
      if (map_.ports[a].plan_link != kNone || map_.ports[b].plan_link != kNone) {
        const size_t taken = map_.ports[a].plan_link != kNone ? a : b;
        const MapLink& other = map_.plan_links[map_.ports[taken].plan_link];
        if ((other.a == a && other.b == b) || (other.a == b && other.b == a)) continue;
        note(fmt::format("the plan has two cables at {}; the first is taken: {}", map_.port_name(taken), map_.cable_name(other)));
        continue;
      }
      map_.ports[a].plan_link = map_.ports[b].plan_link = map_.plan_links.size();
      map_.plan_links.push_back({a, b, from.cable, LinkState::kPresent, {f}});
    }
  }

  void add_links(size_t f) {
    for (const model::FabricLink& from : facts_[f].links) {
      if (from.a >= port_of_[f].size() || from.b >= port_of_[f].size()) continue;
      const size_t a = port_of_[f][from.a], b = port_of_[f][from.b];
      if (a == kNone || b == kNone || a == b) continue;
      if (const size_t same = map_.ports[a].link; same != kNone && same == map_.ports[b].link) {
        MapLink& link = map_.links[same];
        if (link.sources.back() != f) link.sources.push_back(f);
        if (!from.cable.empty()) link.cable = from.cable;
        continue;
      }
      if (!make_room(a, b, f) || !make_room(b, a, f)) continue;
      map_.ports[a].link = map_.ports[b].link = map_.links.size();
      map_.links.push_back({a, b, from.cable, LinkState::kPresent, {f}});
    }
  }

  // A port has one cable. What an older source said gives way; of what one source says twice the first stays.
  bool make_room(size_t port, size_t to, size_t f) {
    const size_t old = map_.ports[port].link;
    if (old == kNone) return true;
    const MapLink& link = map_.links[old];
    const size_t last = link.sources.back();
    if (last == f) {
      note(fmt::format("{} says two cables at {}: to {}, which is taken, and to {}", source_name(f), map_.port_name(port),
                       map_.port_name(link.a == port ? link.b : link.a), map_.port_name(to)));
      return false;
    }
    if (!map_.sources[last].is_remembered) {
      note(fmt::format("{}: {} says {}, {} says {}; the later is taken", map_.port_name(port), source_name(last),
                       map_.port_name(link.a == port ? link.b : link.a), source_name(f), map_.port_name(to)));
    }
    map_.ports[link.a].link = map_.ports[link.b].link = kNone;
    replaced_.insert(old);
    return true;
  }

  std::string source_name(size_t f) const {
    const model::Source& source = map_.sources[f].source;
    return source.file.empty() ? source.kind : fmt::format("{} ({})", source.kind, source.file);
  }

  void drop_replaced() {
    if (replaced_.empty()) return;
    std::vector<MapLink> kept;
    for (size_t l = 0; l < map_.links.size(); ++l) {
      if (replaced_.contains(l)) continue;
      map_.ports[map_.links[l].a].link = map_.ports[map_.links[l].b].link = kept.size();
      kept.push_back(std::move(map_.links[l]));
    }
    map_.links = std::move(kept);
  }

  // A link that only an earlier run was told: would a source of this run say it if it still were there? One of the same kind
  // that knows an end of it would; LLDP only tells of the host that it runs on.
  void judge_remembered() {
    std::vector<std::set<std::string>> kinds_of_device(map_.devices.size());
    for (size_t f = 0; f < facts_.size(); ++f) {
      if (map_.sources[f].is_plan || map_.sources[f].is_remembered) continue;
      for (const size_t d : of_[f]) kinds_of_device[d].insert(map_.sources[f].source.kind);
    }
    for (MapLink& link : map_.links) {
      const bool is_told = std::any_of(link.sources.begin(), link.sources.end(), [this](size_t f) { return !map_.sources[f].is_remembered; });
      if (is_told) continue;
      link.state = LinkState::kSilent;
      const std::string& kind = map_.sources[link.sources.back()].source.kind;
      for (const size_t port : {link.a, link.b}) {
        const size_t d = map_.ports[port].device;
        if (kind == "lldp" && map_.devices[d].kind == DeviceKind::kSwitch) continue;
        if (kinds_of_device[d].contains(kind)) link.state = LinkState::kGone;
      }
    }
  }

  FabricMap map_;
  std::vector<FabricFacts> facts_;
  std::vector<std::vector<size_t>> of_;       // device of the map by facts and device
  std::vector<std::vector<size_t>> port_of_;  // port of the map by facts and port
  std::vector<std::unordered_map<std::string, size_t>> by_key_;
  std::set<size_t> replaced_;
};

}  // namespace

size_t FabricMap::peer(size_t port) const {
  const size_t at = ports[port].link;
  return at == kNone ? kNone : links[at].a == port ? links[at].b : links[at].a;
}

size_t FabricMap::plan_peer(size_t port) const {
  const size_t at = ports[port].plan_link;
  return at == kNone ? kNone : plan_links[at].a == port ? plan_links[at].b : plan_links[at].a;
}

std::string FabricMap::port_name(size_t port) const {
  const MapPort& at = ports[port];
  const MapDevice& device = devices[at.device];
  const std::string number = at.number > 0 ? std::to_string(at.number) : "";
  const bool is_number_alone = at.label.empty() || at.label == number || at.label == "Port " + number;  // plans label them so
  if (device.kind == DeviceKind::kNic && is_number_alone) return at.number > 1 ? fmt::format("{}/{}", device.label, number) : device.label;
  const std::string& port_label = at.number > 0 ? number : at.label;
  return port_label.empty() ? device.label : fmt::format("{}:{}", device.label, port_label);
}

std::string FabricMap::cable_name(const MapLink& link) const {
  std::string a = port_name(link.a), b = port_name(link.b);
  const bool a_is_nic = devices[ports[link.a].device].kind == DeviceKind::kNic;
  const bool b_is_nic = devices[ports[link.b].device].kind == DeviceKind::kNic;
  if (a_is_nic == b_is_nic ? b < a : b_is_nic) std::swap(a, b);
  return a + " - " + b;
}

FabricMap build_map(std::vector<FabricFacts> facts, std::vector<FabricFacts> remembered) {
  return Builder(std::move(facts), std::move(remembered)).build();
}

std::vector<FabricFacts> remember(const FabricMap& map) {
  std::map<size_t, FabricFacts> by_source;
  std::map<std::pair<size_t, size_t>, size_t> devices, ports;  // by source and number in the map
  const auto device_in = [&](size_t f, size_t d) {
    const auto [at, is_new] = devices.try_emplace({f, d}, by_source[f].devices.size());
    if (is_new) {
      const MapDevice& from = map.devices[d];
      FabricDevice& to = by_source[f].devices.emplace_back();
      to.kind = from.kind, to.guid = from.guid, to.system_guid = from.system_guid, to.chassis = from.chassis;
      to.name = from.name, to.host = from.host, to.nic = from.nic;
      to.vendor_id = from.vendor_id, to.device_id = from.device_id;
    }
    return at->second;
  };
  const auto port_in = [&](size_t f, size_t p) {
    const auto found = ports.find({f, p});
    if (found != ports.end()) return found->second;
    const MapPort& from = map.ports[p];
    FabricPort port;
    port.device = device_in(f, from.device);
    port.number = from.number, port.label = from.label, port.guid = from.guid;
    for (const auto& [name, counter] : from.counters) {
      if (counter.source == f) port.counters[name] = counter.value;
    }
    if (from.speed_source == f) port.lanes = from.lanes, port.lane_mbps = from.lane_mbps;
    by_source[f].ports.push_back(std::move(port));
    ports[{f, p}] = by_source[f].ports.size() - 1;
    return by_source[f].ports.size() - 1;
  };
  for (const MapLink& link : map.links) {
    const size_t f = link.sources.back();
    const size_t a = port_in(f, link.a), b = port_in(f, link.b);
    by_source[f].links.push_back({a, b, false, link.cable, 0});
  }
  for (size_t p = 0; p < map.ports.size(); ++p) {
    for (const auto& [name, counter] : map.ports[p].counters) port_in(counter.source, p);
  }
  std::vector<FabricFacts> out;
  for (auto& [f, facts] : by_source) {
    facts.source = map.sources[f].source;
    out.push_back(std::move(facts));
  }
  if (out.size() > kMaxRememberedSources) out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(kMaxRememberedSources));
  return out;
}

}  // namespace railwitness::fabric
