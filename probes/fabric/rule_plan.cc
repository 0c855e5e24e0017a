// What is, against what is planned. A planned cable is missed only where somebody looked: at the host, or at the whole fabric.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/fabric/rules.h"
#include "probes/fabric/same_port.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;

class PlanRule {
 public:
  explicit PlanRule(Case& with) : with_(with), map_(with.map) {}

  void run() {
    if (!map_.has_plan) return;
    gather();
    std::map<std::string, std::vector<size_t>> by_host;  // plan links with a NIC, by host
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> by_pair;
    for (size_t l = 0; l < map_.plan_links.size(); ++l) {
      const size_t nic = nic_end(l);
      if (nic != kNone) {
        const MapDevice& device = map_.devices[map_.ports[nic].device];
        by_host[device.host.empty() ? device.label : device.host].push_back(l);
      } else {
        const std::string &a = device_of(map_.plan_links[l].a).label, &b = device_of(map_.plan_links[l].b).label;
        by_pair[{std::min(a, b), std::max(a, b)}].push_back(l);
      }
    }
    tell_strangers();
    for (const auto& [host, links] : by_host) judge_host(host, links);
    for (const auto& [pair, links] : by_pair) judge_pair(pair.first, pair.second, links);
  }

 private:
  const MapDevice& device_of(size_t port) const { return map_.devices[map_.ports[port].device]; }

  void gather() {
    for (const MapSource& source : map_.sources) {
      const bool is_scan = source.source.kind == "ibnetdiscover" || source.source.kind == "iblinkinfo" || source.source.kind == "ibdiagnet";
      has_scan_ = has_scan_ || (is_scan && !source.is_plan && !source.is_remembered);
    }
    for (const MapDevice& device : map_.devices) {
      if (device.is_seen && !device.host.empty()) seen_hosts_.insert(device.host);
    }
  }

  // A plan whose names are none of the fabric's compares with nothing, which must not look like a fabric as planned.
  void tell_strangers() {
    std::vector<std::string> names;
    size_t all = 0;
    for (const MapDevice& device : map_.devices) {
      const bool is_planned = std::any_of(device.ports.begin(), device.ports.end(), [this](size_t port) { return map_.ports[port].plan_link != kNone; });
      all += is_planned ? 1 : 0;
      if (is_planned && !device.is_seen && !seen_hosts_.contains(device.host)) names.push_back(device.label);
    }
    if (names.empty()) return;
    const size_t count = names.size();
    if (names.size() > 3) names.resize(3);
    with_.out.notes.push_back(fmt::format("{} of the plan's {} devices are in no source: {}{}; hosts are named \"node-05 mlx5_4\", port 1, or node-05, "
                                          "port mlx5_4", count, all, fmt::join(names, ", "), count > names.size() ? ", ..." : ""));
  }

  size_t nic_end(size_t plan_link) const {
    const MapLink& link = map_.plan_links[plan_link];
    if (device_of(link.a).kind == DeviceKind::kNic) return link.a;
    return device_of(link.b).kind == DeviceKind::kNic ? link.b : kNone;
  }

  // The port at the other end as it is, for a port as planned: the switch may spell its ports otherwise than the plan.
  size_t there(size_t port) const {
    const size_t peer = map_.peer(port);
    if (peer != kNone) return map_.links[map_.ports[port].link].state == LinkState::kGone ? kNone : peer;
    const MapPort& planned = map_.ports[port];
    if (!planned.guid.empty() || device_of(port).kind != DeviceKind::kSwitch) return kNone;
    for (const size_t other : device_of(port).ports) {
      if (other == port || map_.ports[other].plan_link != kNone) continue;
      const size_t at = map_.peer(other);
      if (at != kNone && is_same(other, port)) return at;
    }
    return kNone;
  }

  std::string label_of(size_t port) const {
    const MapPort& at = map_.ports[port];
    return at.number > 0 ? std::to_string(at.number) : at.label;
  }

  bool is_same(size_t a, size_t b) const {
    if (a == b) return true;
    if (map_.ports[a].device != map_.ports[b].device) return false;
    if (device_of(a).kind == DeviceKind::kNic) return false;
    return can_be_same_port(label_of(a), label_of(b)) || (!map_.ports[a].label.empty() && can_be_same_port(map_.ports[a].label, label_of(b)));
  }

  std::string said(size_t port) const { return "said by " + with_.said_by(map_.links[map_.ports[port].link].sources); }
  std::string planned(size_t plan_link) const { return "the plan says " + map_.cable_name(map_.plan_links[plan_link]); }

  void judge_host(const std::string& host, const std::vector<size_t>& links) {
    if (!seen_hosts_.contains(host)) {
      unseen(host, links);
      return;
    }
    std::vector<size_t> astray;
    for (const size_t l : links) {
      const size_t nic = nic_end(l), want = map_.plan_peer(nic), is = there(nic);
      with_.placed.insert(nic);
      if (is == kNone) {
        missing(l, nic, want);
      } else if (map_.ports[is].device != map_.ports[want].device) {
        astray.push_back(l);
      } else if (!is_same(is, want)) {
        with_.add(FindingKind::kWrongPort, {map_.port_name(nic), map_.port_name(is)}, {map_.port_name(want)},
                  fmt::format("{} is in {}, planned is {}", map_.port_name(nic), map_.port_name(is), map_.port_name(want)),
                  {planned(l), said(nic)}, {nic, is});
      }
    }
    for (size_t i = 0; i < astray.size(); ++i) {
      if (astray[i] == kNone) continue;
      for (size_t j = i + 1; j < astray.size() && astray[i] != kNone; ++j) {
        if (astray[j] == kNone || !are_swapped(astray[i], astray[j])) continue;
        swapped(astray[i], astray[j]);
        astray[i] = astray[j] = kNone;
      }
      if (astray[i] != kNone) wrong_leaf(astray[i]);
    }
  }

  // Nobody saw any NIC of this host: one finding, if somebody looked at the whole fabric.
  void unseen(const std::string& host, const std::vector<size_t>& links) {
    if (!has_scan_) return;
    std::vector<std::string> wanted, evidence;
    for (const size_t l : links) {
      const size_t nic = nic_end(l);
      if (!device_of(map_.plan_peer(nic)).is_seen) continue;
      wanted.push_back(map_.port_name(map_.plan_peer(nic)));
      evidence.push_back(planned(l));
    }
    if (wanted.empty()) return;
    const size_t count = wanted.size();
    with_.add(FindingKind::kMissingLink, {host}, std::move(wanted), fmt::format("{} is not seen: none of its {} planned cables is there", host, count),
              std::move(evidence), {});
  }

  void missing(size_t l, size_t nic, size_t want) {
    if (!has_scan_ && device_of(nic).ports.empty()) return;
    with_.add(FindingKind::kMissingLink, {map_.port_name(nic)}, {map_.port_name(want)},
              fmt::format("{} is not there, it belongs in {}", map_.port_name(nic), map_.port_name(want)), {planned(l)}, {nic, want});
  }

  bool are_swapped(size_t x, size_t y) const {
    const size_t a = nic_end(x), b = nic_end(y);
    return is_same(there(a), map_.plan_peer(b)) && is_same(there(b), map_.plan_peer(a));
  }

  std::string slot(size_t nic) const { return device_of(nic).nic.empty() ? map_.port_name(nic) : device_of(nic).nic; }

  void swapped(size_t x, size_t y) {
    const size_t a = nic_end(x), b = nic_end(y);
    const std::string in_a = map_.port_name(there(a)), in_b = map_.port_name(there(b));
    with_.add(FindingKind::kSwapped, {map_.port_name(a), map_.port_name(b)}, {in_b, in_a},
              fmt::format("{} and {} are swapped: {} is in {} and belongs in {}, {} is in {} and belongs in {}", map_.port_name(a), map_.port_name(b),
                          slot(a), in_a, in_b, slot(b), in_b, in_a),
              {planned(x), planned(y), said(a)}, {a, b, there(a), there(b)});
  }

  void wrong_leaf(size_t l) {
    const size_t nic = nic_end(l), want = map_.plan_peer(nic), is = there(nic);
    const int unit = with_.rails.of_device[map_.ports[is].device].unit, meant = with_.rails.of_device[map_.ports[want].device].unit;
    const bool is_other_unit = unit != meant && unit >= 0 && meant >= 0;
    with_.add(is_other_unit ? FindingKind::kOtherUnit : FindingKind::kWrongLeaf, {map_.port_name(nic), map_.port_name(is)}, {map_.port_name(want)},
              fmt::format("{} is in {}{} and belongs in {}", map_.port_name(nic), map_.port_name(is), is_other_unit ? ", a leaf of another unit," : "",
                          map_.port_name(want)),
              {planned(l), said(nic)}, {nic, is});
  }

  // Cables between two switches: those that are not there, as one finding; those that lead elsewhere, each.
  void judge_pair(const std::string& a_label, const std::string& b_label, const std::vector<size_t>& links) {
    if (!has_scan_) return;
    std::vector<std::string> wanted, evidence;
    std::vector<size_t> ports;
    for (const size_t l : links) {
      size_t a = map_.plan_links[l].a, b = map_.plan_links[l].b;
      if (device_of(a).label != a_label) std::swap(a, b);
      if (!device_of(a).is_seen || !device_of(b).is_seen) continue;
      with_.placed.insert(a);
      with_.placed.insert(b);
      const size_t at_a = there(a), at_b = there(b);
      if (at_a == kNone && at_b == kNone) {
        wanted.push_back(map_.port_name(a));
        wanted.push_back(map_.port_name(b));
        evidence.push_back(planned(l));
        ports.insert(ports.end(), {a, b});
        continue;
      }
      const size_t from = at_a != kNone ? a : b, want = at_a != kNone ? b : a, is = at_a != kNone ? at_a : at_b;
      if (is_same(is, want)) continue;
      const bool is_same_device = map_.ports[is].device == map_.ports[want].device;
      with_.add(is_same_device ? FindingKind::kWrongPort : FindingKind::kWrongLeaf, {map_.port_name(from), map_.port_name(is)}, {map_.port_name(want)},
                fmt::format("{} leads to {}, planned is {}", map_.port_name(from), map_.port_name(is), map_.port_name(want)), {planned(l)}, {from, is});
    }
    if (wanted.empty()) return;
    with_.add(FindingKind::kMissingSwitchLink, {a_label, b_label}, wanted,
              fmt::format("{} and {} have {} of {} planned cables; missing: {}", a_label, b_label, links.size() - wanted.size() / 2, links.size(),
                          pairs(wanted)),
              std::move(evidence), std::move(ports));
  }

  static std::string pairs(const std::vector<std::string>& ports) {
    std::string out;
    for (size_t i = 0; i + 1 < ports.size(); i += 2) out += fmt::format("{}{} - {}", i > 0 ? ", " : "", ports[i], ports[i + 1]);
    return out;
  }

  Case& with_;
  const FabricMap& map_;
  bool has_scan_ = false;
  std::set<std::string> seen_hosts_;
};

}  // namespace

void rule_plan(Case& with) {
  PlanRule(with).run();
}

}  // namespace railwitness::fabric
