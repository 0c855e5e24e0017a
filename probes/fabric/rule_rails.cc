// NICs in the wrong leaf and hosts that lack a rail, by what most hosts of the unit do.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "probes/fabric/rules.h"
#include "probes/model/natural_order.h"

namespace railwitness::fabric {
namespace {

class RailRule {
 public:
  explicit RailRule(Case& with) : with_(with), map_(with.map), rails_(with.rails) {}

  void run() {
    for (size_t h = 0; h < rails_.hosts.size(); ++h) {
      judge_places(h);
      judge_missing(h);
    }
    for (const auto& [where, hosts] : whole_units_) missing_in_unit(where.second, hosts);
  }

 private:
  std::string name(size_t nic) const { return map_.port_name(rails_.nics[nic].port); }
  std::string leaf_port(size_t nic) const { return map_.port_name(rails_.nics[nic].leaf_port); }

  std::string wanted(size_t host, size_t leaf) const {
    const uint32_t port = rails_.usual_port(map_, host);
    return port == 0 ? map_.devices[leaf].label : fmt::format("{}:{}", map_.devices[leaf].label, port);
  }

  std::string votes(size_t host, const std::string& slot, size_t leaf) {
    if (votes_.empty()) {
      for (const NicPlace& nic : rails_.nics) {
        const HostPlace& at = rails_.hosts[nic.host];
        ++votes_[{at.unit, {at.family, nic.slot}}][nic.leaf];
      }
    }
    std::map<size_t, size_t>& of_slot = votes_[{rails_.hosts[host].unit, {rails_.hosts[host].family, slot}}];
    size_t all = 0;
    for (const auto& [at, count] : of_slot) all += count;
    return fmt::format("{} of {} hosts of this unit have {} in {}", of_slot[leaf], all, slot, map_.devices[leaf].label);
  }

  bool is_astray(size_t nic) const {
    const NicPlace& at = rails_.nics[nic];
    return at.meant_leaf != kNone && at.meant_leaf != at.leaf && !with_.placed.contains(at.port);
  }

  void judge_places(size_t h) {
    const std::vector<size_t>& nics = rails_.hosts[h].nics;
    for (const size_t a : nics) {
      if (!is_astray(a)) continue;
      for (const size_t b : nics) {
        if (a == b || !is_astray(b)) continue;
        const NicPlace &one = rails_.nics[a], &other = rails_.nics[b];
        if (one.leaf != other.meant_leaf || other.leaf != one.meant_leaf) continue;
        swapped(h, a, b);
        break;
      }
      if (is_astray(a)) astray(h, a);
    }
  }

  void swapped(size_t h, size_t a, size_t b) {
    const NicPlace &one = rails_.nics[a], &other = rails_.nics[b];
    with_.placed.insert(one.port);
    with_.placed.insert(other.port);
    with_.add(FindingKind::kSwapped, {name(a), name(b)}, {leaf_port(b), leaf_port(a)},
              fmt::format("{} and {} are swapped: {} is in {} and belongs in {}, {} is in {} and belongs in {}", name(a), name(b),
                          one.slot, leaf_port(a), leaf_port(b), other.slot, leaf_port(b), leaf_port(a)),
              {votes(h, one.slot, one.meant_leaf), votes(h, other.slot, other.meant_leaf),
               "said by " + with_.said_by(map_.links[map_.ports[one.port].link].sources)},
              {one.port, other.port, one.leaf_port, other.leaf_port});
  }

  void astray(size_t h, size_t n) {
    const NicPlace& nic = rails_.nics[n];
    with_.placed.insert(nic.port);
    const int unit = rails_.of_device[nic.leaf].unit;
    const bool is_other_unit = unit != rails_.hosts[h].unit;
    with_.add(is_other_unit ? FindingKind::kOtherUnit : FindingKind::kWrongLeaf, {name(n), leaf_port(n)}, {wanted(h, nic.meant_leaf)},
              fmt::format("{} is in {}{} and belongs in {}", name(n), leaf_port(n), is_other_unit ? ", a leaf of another unit," : "",
                          wanted(h, nic.meant_leaf)),
              {votes(h, nic.slot, nic.meant_leaf), "said by " + with_.said_by(map_.links[map_.ports[nic.port].link].sources)},
              {nic.port, nic.leaf_port});
  }

  // A slot that the family has and the host does not. Where a plan says the cable, the plan's rule has told it.
  void judge_missing(size_t h) {
    const HostPlace& host = rails_.hosts[h];
    if (!host.is_typical || host.family < 0) return;
    const Family& family = rails_.families[static_cast<size_t>(host.family)];
    if (family.slots.size() < 2 || twins(h) < 2) return;
    std::set<std::string> has;
    for (const size_t n : host.nics) has.insert(rails_.nics[n].slot);
    const auto there = std::count_if(family.slots.begin(), family.slots.end(), [&](const std::string& slot) { return has.contains(slot); });
    for (size_t s = 0; s < family.slots.size(); ++s) {
      const std::string& slot = family.slots[s];
      if (has.contains(slot) || is_planned(host.name, slot)) continue;
      const auto meant = rails_.meant.find({host.unit, {host.family, slot}});
      if (meant == rails_.meant.end() && is_unit_without(h, slot)) {
        whole_units_[{host.unit, s}].push_back(h);
        continue;
      }
      if (!is_usual(host.family, slot)) continue;
      const std::string nic = fmt::format("{} {}", host.name, slot);
      std::vector<std::string> where;
      if (meant != rails_.meant.end()) where.push_back(wanted(h, meant->second));
      with_.add(FindingKind::kMissingLink, {nic}, where,
                fmt::format("{} has {} of {} rails: {} is not there{}", host.name, there, family.slots.size(), slot,
                            where.empty() ? fmt::format(", nor is a leaf of rail {} in its unit", s) : ", it belongs in " + where[0]),
                {meant == rails_.meant.end() ? fmt::format("{} hosts that name their NICs alike have {}", having(host.family, slot), slot)
                                             : votes(h, slot, meant->second)},
                {}, {static_cast<int>(s)});
    }
  }

  // Nobody in the unit has it, half of the family or more has it elsewhere: a leaf is gone, not many cables.
  bool is_unit_without(size_t h, const std::string& slot) {
    const int unit = rails_.hosts[h].unit, family = rails_.hosts[h].family;
    if (unit < 0 || having(family, slot) * 2 < family_size_[family]) return false;
    if (hosts_having_.empty()) {
      for (const NicPlace& nic : rails_.nics) ++hosts_having_[{rails_.hosts[nic.host].unit, {rails_.hosts[nic.host].family, nic.slot}}];
      for (const HostPlace& host : rails_.hosts) ++hosts_of_unit_[{host.unit, host.family}];
    }
    return hosts_of_unit_[{unit, family}] > 1 && !hosts_having_.contains({unit, {family, slot}});
  }

  void missing_in_unit(size_t rail, const std::vector<size_t>& hosts) {
    const HostPlace& one = rails_.hosts[hosts[0]];
    const std::string& slot = rails_.families[static_cast<size_t>(one.family)].slots[rail];
    std::vector<std::string> nics;
    for (const size_t h : hosts) nics.push_back(fmt::format("{} {}", rails_.hosts[h].name, slot));
    std::sort(nics.begin(), nics.end(), model::natural_less);
    std::string text = fmt::format("the {} hosts of unit {} have no rail {}: {} to {} are not there, nor is a leaf of that rail", nics.size(), one.unit, rail,
                                   nics.front(), nics.back());
    if (!is_usual(one.family, slot)) {  // as many have it as have not: which of both is right nobody can tell
      with_.out.notes.push_back(text + fmt::format("; {} hosts of other units have one: a leaf is gone, or these are built so", having(one.family, slot)));
      return;
    }
    std::vector<std::string> evidence{fmt::format("{} hosts of other units, that name their NICs alike, have {}", having(one.family, slot), slot)};
    with_.add(FindingKind::kMissingLink, std::move(nics), {}, std::move(text), std::move(evidence), {}, {static_cast<int>(rail)});
  }

  // Hosts of the same family beside this one.
  size_t twins(size_t h) {
    if (family_size_.empty()) {
      for (const HostPlace& host : rails_.hosts) ++family_size_[host.family];
    }
    return family_size_[rails_.hosts[h].family] - 1;
  }

  size_t having(int family, const std::string& slot) {
    if (slot_count_.empty()) {
      for (const NicPlace& nic : rails_.nics) ++slot_count_[{rails_.hosts[nic.host].family, nic.slot}];
    }
    return slot_count_[{family, slot}];
  }

  // A slot that most of the family have; one that few have is theirs alone.
  bool is_usual(int family, const std::string& slot) { return having(family, slot) * 2 > family_size_[family]; }

  bool is_planned(const std::string& host, const std::string& slot) {
    if (!map_.has_plan) return false;
    if (planned_.empty()) {
      for (size_t p = 0; p < map_.ports.size(); ++p) {
        const MapDevice& device = map_.devices[map_.ports[p].device];
        if (map_.ports[p].plan_link != kNone && !device.host.empty()) planned_.insert(map_.port_name(p));
      }
    }
    return planned_.contains(fmt::format("{} {}", host, slot));
  }

  Case& with_;
  const FabricMap& map_;
  const Rails& rails_;
  std::map<std::pair<int, std::pair<int, std::string>>, std::map<size_t, size_t>> votes_;  // as Rails::meant
  std::map<int, size_t> family_size_;
  std::map<std::pair<int, size_t>, std::vector<size_t>> whole_units_;  // hosts by unit and the place of the slot that all lack
  std::map<std::pair<int, std::pair<int, std::string>>, size_t> hosts_having_;  // as votes_, whatever the leaf
  std::map<std::pair<int, int>, size_t> hosts_of_unit_;  // of a family
  std::map<std::pair<int, std::string>, size_t> slot_count_;
  std::set<std::string> planned_;
};

}  // namespace

void rule_rails(Case& with) {
  RailRule(with).run();
}

}  // namespace railwitness::fabric
