#include "probes/fabric/rails.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/identity.h"
#include "probes/model/natural_order.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;

constexpr size_t kMostLeavesOfHost = 64;  // beyond, a host says nothing of units: no host is wired so

size_t root_of(std::vector<size_t>& parent, size_t at) {
  while (parent[at] != at) at = parent[at] = parent[parent[at]];
  return at;
}

void join(std::vector<size_t>& parent, size_t a, size_t b) {
  a = root_of(parent, a), b = root_of(parent, b);
  if (a != b) parent[std::max(a, b)] = std::min(a, b);
}

// What most votes are for, if that is more than half; of equal ones none.
template <class T>
const T* majority(const std::map<T, size_t>& votes) {
  const T* most = nullptr;
  size_t best = 0, all = 0;
  for (const auto& [value, count] : votes) {
    all += count;
    if (count > best) best = count, most = &value;
  }
  return best * 2 > all ? most : nullptr;
}

// Among a family's slots, which are in natural order; -1: it is none of them.
int place_of(const std::vector<std::string>& slots, const std::string& slot) {
  const auto at = std::lower_bound(slots.begin(), slots.end(), slot, model::natural_less);
  return at != slots.end() && *at == slot ? static_cast<int>(at - slots.begin()) : -1;
}

class Finder {
 public:
  explicit Finder(const FabricMap& map) : map_(map) {
    out_.of_device.resize(map.devices.size());
    out_.plane_of_device.assign(map.devices.size(), -1);
  }

  Rails find() {
    gather_hosts();
    find_units();
    find_families();
    find_meant_leaves();
    number_rails();
    number_units();
    find_planes();
    return std::move(out_);
  }

 private:
  bool is_switch(size_t device) const { return map_.devices[device].kind == DeviceKind::kSwitch; }

  // NICs without a host's name that call themselves alike and sit in the same port number of their leaves are one host:
  // "localhost HCA-1" and "localhost HCA-2" in port 10 of two leaves. Factory names are nobody's.
  std::string host_name(const MapDevice& device, size_t leaf_port, std::string& nic, bool& is_nameless) const {
    is_nameless = device.host.empty();
    nic = device.nic;
    if (!is_nameless) return device.host;
    nic = nic_of_nameless(device.name);
    if (nic.empty() || leaf_port == kNone || map_.ports[leaf_port].number == 0) return {};
    return fmt::format("{} at port {}", device.name.substr(0, device.name.find(' ')), map_.ports[leaf_port].number);
  }

  void gather_hosts() {
    std::map<std::string, HostPlace> hosts;
    std::map<std::string, std::vector<NicPlace>> nics;
    for (size_t p = 0; p < map_.ports.size(); ++p) {
      const MapPort& port = map_.ports[p];
      const MapDevice& device = map_.devices[port.device];
      if (device.kind != DeviceKind::kNic || !device.is_seen) continue;
      NicPlace place;
      place.port = p;
      if (const size_t peer = map_.peer(p); peer != kNone && map_.links[port.link].state != LinkState::kGone) {
        if (is_switch(map_.ports[peer].device)) place.leaf = map_.ports[peer].device, place.leaf_port = peer;
      }
      if (place.leaf == kNone) continue;
      std::string nic;
      bool is_nameless = false;
      const std::string name = host_name(device, place.leaf_port, nic, is_nameless);
      if (name.empty()) continue;
      place.slot = port.number > 1 ? fmt::format("{}/{}", nic, port.number) : nic;
      // Of one slot said twice (two hosts of one name, or two nameless ones in one seat) no host can be made.
      hosts[name].name = name;
      hosts[name].is_nameless = is_nameless;
      nics[name].push_back(std::move(place));
    }
    for (auto& [name, host] : hosts) {
      std::vector<NicPlace>& of_host = nics[name];
      std::sort(of_host.begin(), of_host.end(), [this](const NicPlace& a, const NicPlace& b) {
        if (a.slot != b.slot) return model::natural_less(a.slot, b.slot);
        return map_.port_name(a.port) < map_.port_name(b.port);
      });
      for (NicPlace& nic : of_host) {
        nic.host = out_.hosts.size();
        host.nics.push_back(out_.nics.size());
        out_.nics.push_back(std::move(nic));
      }
      out_.hosts.push_back(std::move(host));
    }
  }

  std::set<size_t> leaves_of(const HostPlace& host) const {
    std::set<size_t> out;
    for (const size_t n : host.nics) out.insert(out_.nics[n].leaf);
    return out;
  }

  // Two leaves are of one unit where more than half of the hosts of the smaller one are on both: one cable gone astray
  // joins nothing.
  void find_units() {
    std::unordered_map<size_t, size_t> hosts_on;
    std::map<std::pair<size_t, size_t>, size_t> shared;
    for (const HostPlace& host : out_.hosts) {
      const std::set<size_t> leaves = leaves_of(host);
      for (const size_t leaf : leaves) ++hosts_on[leaf];
      if (leaves.size() > kMostLeavesOfHost) continue;
      for (auto a = leaves.begin(); a != leaves.end(); ++a) {
        for (auto b = std::next(a); b != leaves.end(); ++b) ++shared[{*a, *b}];
      }
    }
    parent_.resize(map_.devices.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (const auto& [pair, count] : shared) {
      if (count * 2 > std::min(hosts_on[pair.first], hosts_on[pair.second])) join(parent_, pair.first, pair.second);
    }
    for (const auto& [leaf, count] : hosts_on) out_.of_device[leaf].unit = static_cast<int>(root_of(parent_, leaf));
    for (HostPlace& host : out_.hosts) {
      std::map<int, size_t> votes;
      for (const size_t n : host.nics) ++votes[out_.of_device[out_.nics[n].leaf].unit];
      if (const int* unit = majority(votes); unit != nullptr) host.unit = *unit;
    }
  }

  std::vector<std::string> slots_of(const HostPlace& host) const {
    std::vector<std::string> out;
    for (const size_t n : host.nics) {
      if (out.empty() || out.back() != out_.nics[n].slot) out.push_back(out_.nics[n].slot);
    }
    return out;
  }

  // Sets of slots, the most common first; a set whose larger part is in an earlier one is of that family.
  void find_families() {
    std::map<std::vector<std::string>, std::vector<size_t>> hosts_by_slots;
    for (size_t h = 0; h < out_.hosts.size(); ++h) hosts_by_slots[slots_of(out_.hosts[h])].push_back(h);
    std::vector<std::pair<const std::vector<std::string>*, const std::vector<size_t>*>> order;
    for (const auto& [slots, hosts] : hosts_by_slots) order.emplace_back(&slots, &hosts);
    // A family is known by its whole set: of two common ones the larger leads, as hosts lose NICs and never gain them.
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      const bool a_is_common = a.second->size() > 1, b_is_common = b.second->size() > 1;
      if (a_is_common != b_is_common) return a_is_common;
      if (a.first->size() != b.first->size()) return a.first->size() > b.first->size();
      return a.second->size() > b.second->size();
    });
    for (const auto& [slots, hosts] : order) {
      size_t best = 0;
      int family = -1;
      for (size_t f = 0; f < out_.families.size() && f < kMostFamilies; ++f) {
        const size_t both = common(*slots, out_.families[f].slots);
        if (both * 2 > slots->size() && both > best) best = both, family = static_cast<int>(f);
      }
      if (family < 0) {
        family = static_cast<int>(out_.families.size());
        out_.families.push_back({*slots});
      }
      for (const size_t h : *hosts) out_.hosts[h].family = family;
    }
  }

  static size_t common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both), model::natural_less);
    return both.size();
  }

  // Hosts vote where each slot belongs. One vote is none.
  void find_meant_leaves() {
    std::map<std::pair<int, std::pair<int, std::string>>, std::map<size_t, size_t>> votes;
    for (const HostPlace& host : out_.hosts) {
      if (host.unit < 0) continue;
      std::set<std::string> said;
      for (const size_t n : host.nics) {
        const NicPlace& nic = out_.nics[n];
        if (said.insert(nic.slot).second) ++votes[{host.unit, {host.family, nic.slot}}][nic.leaf];
      }
    }
    for (const auto& [key, leaves] : votes) {
      const size_t* leaf = majority(leaves);
      if (leaf != nullptr && leaves.at(*leaf) > 1) out_.meant[key] = *leaf;
    }
    for (HostPlace& host : out_.hosts) {
      for (const size_t n : host.nics) {
        NicPlace& nic = out_.nics[n];
        const auto found = out_.meant.find({host.unit, {host.family, nic.slot}});
        if (found != out_.meant.end()) nic.meant_leaf = found->second;
      }
      // A host with fewer slots than most of the family is of another kind (one for management): its wiring is its own.
      const size_t slots = slots_of(host).size(), of_family = out_.families[static_cast<size_t>(host.family)].slots.size();
      const bool has_doubles = slots != host.nics.size();
      host.is_typical = !has_doubles && slots * 2 > of_family;
      if (slots * 2 > of_family) continue;
      for (const size_t n : host.nics) out_.nics[n].meant_leaf = kNone;
    }
  }

  // A leaf's rail is the place of the slot that most hosts have there.
  void number_rails() {
    std::map<size_t, std::map<int, size_t>> votes;
    std::map<int, size_t> of_family;
    for (const HostPlace& host : out_.hosts) ++of_family[host.family];
    for (const HostPlace& host : out_.hosts) {
      if (!host.is_typical || of_family[host.family] < 2) continue;  // one host alone shows no pattern
      const std::vector<std::string>& slots = out_.families[static_cast<size_t>(host.family)].slots;
      if (slots.size() < 2) continue;
      for (const size_t n : host.nics) {
        const NicPlace& nic = out_.nics[n];
        if (const int place = place_of(slots, nic.slot); place >= 0) ++votes[nic.leaf][place];
      }
    }
    for (const auto& [leaf, rails] : votes) {
      const int* rail = majority(rails);
      if (rail == nullptr) continue;
      out_.of_device[leaf].rail = *rail;
    }
    for (HostPlace& host : out_.hosts) host.is_typical = host.is_typical || is_half_of_typical(host);
    for (NicPlace& nic : out_.nics) {
      const HostPlace& host = out_.hosts[nic.host];
      const std::vector<std::string>& slots = out_.families[static_cast<size_t>(host.family)].slots;
      nic.rail = out_.of_device[nic.leaf].rail;
      const bool is_of_several = nic.rail < 0 && slots.size() > 1 && host.is_typical && of_family[host.family] > 1;
      if (is_of_several) nic.rail = place_of(slots, nic.slot);
      out_.rail_count = std::max(out_.rail_count, nic.rail + 1);
    }
  }

  // Just half of the slots, each in the leaf of its rail: a host that lost the other half.
  bool is_half_of_typical(const HostPlace& host) const {
    const std::vector<std::string>& slots = out_.families[static_cast<size_t>(host.family)].slots;
    if (host.nics.size() < 2 || host.nics.size() * 2 != slots.size()) return false;
    return std::all_of(host.nics.begin(), host.nics.end(), [&](size_t n) {
      const int place = place_of(slots, out_.nics[n].slot);
      return place >= 0 && out_.of_device[out_.nics[n].leaf].rail == place;
    });
  }

  // Units are numbered by the names of their leaves.
  void number_units() {
    std::map<int, std::string> first;
    for (size_t d = 0; d < map_.devices.size(); ++d) {
      const int unit = out_.of_device[d].unit;
      if (unit < 0) continue;
      const auto [at, is_new] = first.try_emplace(unit, map_.devices[d].label);
      if (!is_new && model::natural_less(map_.devices[d].label, at->second)) at->second = map_.devices[d].label;
    }
    std::vector<std::pair<std::string, int>> order;
    for (const auto& [unit, name] : first) order.emplace_back(name, unit);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? model::natural_less(a.first, b.first) : a.second < b.second;
    });
    std::map<int, int> number;
    for (size_t i = 0; i < order.size(); ++i) number[order[i].second] = static_cast<int>(i);
    const auto renumber = [&number](int& unit) { unit = unit < 0 ? -1 : number.at(unit); };
    for (LeafPlace& leaf : out_.of_device) renumber(leaf.unit);
    for (HostPlace& host : out_.hosts) renumber(host.unit);
    decltype(out_.meant) meant;
    for (const auto& [key, leaf] : out_.meant) meant[{number.at(key.first), key.second}] = leaf;
    out_.meant = std::move(meant);
    out_.unit_count = static_cast<int>(order.size());
  }

  // Parts of the graph of switches that hold most of the hosts each.
  void find_planes() {
    std::vector<size_t> parent(map_.devices.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    for (const MapLink& link : map_.links) {
      const size_t a = map_.ports[link.a].device, b = map_.ports[link.b].device;
      if (is_switch(a) && is_switch(b) && link.state != LinkState::kGone) join(parent, a, b);
    }
    std::map<size_t, std::set<size_t>> hosts_in;
    std::map<size_t, std::pair<int, std::string>> first;  // lowest rail, then name
    for (const NicPlace& nic : out_.nics) {
      const size_t part = root_of(parent, nic.leaf);
      if (out_.hosts[nic.host].nics.size() > 1) hosts_in[part].insert(nic.host);
      const int rail = out_.of_device[nic.leaf].rail < 0 ? out_.rail_count : out_.of_device[nic.leaf].rail;
      const std::pair<int, std::string> name{rail, map_.devices[nic.leaf].label};
      const auto [at, is_new] = first.try_emplace(part, name);
      if (!is_new && name < at->second) at->second = name;
    }
    size_t most = 0;
    for (const auto& [part, hosts] : hosts_in) most = std::max(most, hosts.size());
    std::vector<std::pair<std::pair<int, std::string>, size_t>> order;
    for (const auto& [part, hosts] : hosts_in) {
      if (most > 1 && hosts.size() * 2 > most) order.emplace_back(first[part], part);
    }
    std::sort(order.begin(), order.end());
    std::map<size_t, int> number;
    for (const auto& [name, part] : order) number.emplace(part, static_cast<int>(number.size()));
    for (size_t d = 0; d < map_.devices.size(); ++d) {
      if (!is_switch(d)) continue;
      const auto found = number.find(root_of(parent, d));
      if (found != number.end()) out_.plane_of_device[d] = found->second;
    }
    out_.plane_count = static_cast<int>(number.size());
  }

  static constexpr size_t kMostFamilies = 64;
  const FabricMap& map_;
  Rails out_;
  std::vector<size_t> parent_;
};

}  // namespace

uint32_t Rails::usual_port(const FabricMap& map, size_t host) const {
  std::map<uint32_t, size_t> votes;
  for (const size_t n : hosts[host].nics) {
    const uint32_t number = map.ports[nics[n].leaf_port].number;
    if (number > 0 && nics[n].leaf == nics[n].meant_leaf) ++votes[number];
  }
  const uint32_t* port = majority(votes);
  return port == nullptr || votes.at(*port) < 2 ? 0 : *port;
}

Rails find_rails(const FabricMap& map) {
  return Finder(map).find();
}

}  // namespace railwitness::fabric
