// Two switches with fewer cables between them than their twins have. Both must say so: most pairs of the one have more, and
// most pairs of the other; so trees whose levels are wired differently stay silent.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "probes/fabric/rules.h"

namespace railwitness::fabric {
namespace {

class PairRule {
 public:
  explicit PairRule(Case& with) : with_(with), map_(with.map) {}

  void run() {
    gather();
    fewer();
    none();
  }

 private:
  static constexpr size_t kMostSteps = 20'000'000;  // the second look compares every two that share a peer

  void gather() {
    for (const MapLink& link : map_.links) {
      if (!with_.is_cable(link) || !with_.is_switch(link.a) || !with_.is_switch(link.b)) continue;
      const size_t a = map_.ports[link.a].device, b = map_.ports[link.b].device;
      peers_[a][b].push_back(link.a);
      peers_[b][a].push_back(link.b);
    }
    for (const auto& [a, pairs] : peers_) {
      for (const auto& [b, ports] : pairs) ++counts_[{a, has_hosts(b)}][ports.size()];
    }
  }

  // What most of a's pairs with switches of b's level have; the levels are those that carry hosts and those that do not.
  std::optional<uint64_t> usual_count(size_t a, size_t b) const {
    const auto pair = peers_.at(a).find(b);
    const uint64_t own = pair == peers_.at(a).end() ? 0 : pair->second.size();
    const auto counts = counts_.find({a, has_hosts(b)});
    if (counts == counts_.end()) return {};
    size_t all = 0;
    for (const auto& [count, n] : counts->second) all += n;
    if (own > 0) --all;  // the pair itself has no vote
    for (const auto& [count, n] : counts->second) {
      const size_t others = count == own ? n - 1 : n;
      if (others * 2 > all && others >= 2) return count;
    }
    return {};
  }

  bool has_hosts(size_t device) const { return with_.rails.of_device[device].unit >= 0; }

  bool is_planned(size_t a, size_t b) const {
    for (const size_t port : map_.devices[a].ports) {
      if (map_.ports[port].plan_link == kNone) continue;
      if (map_.ports[map_.plan_peer(port)].device == b) return true;
    }
    return false;
  }

  void fewer() {
    for (const auto& [a, pairs] : peers_) {
      for (const auto& [b, ports] : pairs) {
        if (b <= a) continue;
        const auto of_a = usual_count(a, b), of_b = usual_count(b, a);
        if (!of_a || !of_b || *of_a != *of_b || ports.size() >= *of_a || is_planned(a, b)) continue;
        tell(a, b, ports.size(), *of_a);
      }
    }
  }

  // Switches with nearly the peers of `a`: at most a quarter differs; of few peers only those that have one more.
  std::vector<size_t> twins_of(size_t a) const {
    std::map<size_t, size_t> shared;
    const auto& own = peers_.at(a);
    for (const auto& [b, ports] : own) {
      for (const auto& [twin, theirs] : peers_.at(b)) {
        if (twin != a) ++shared[twin];
      }
    }
    std::vector<size_t> out;
    for (const auto& [twin, count] : shared) {
      const size_t most = std::max(own.size(), peers_.at(twin).size());
      const bool is_near = most >= 4 ? count >= most - most / 4 : count == own.size() && most == count + 1;
      if (is_near && !own.contains(twin) && has_hosts(twin) == has_hosts(a)) out.push_back(twin);
    }
    return out;
  }

  // Peers that three quarters of the twins have and `a` has not.
  std::vector<size_t> lacking(size_t a) const {
    const std::vector<size_t> twins = twins_of(a);
    if (twins.size() < 2) return {};
    std::map<size_t, size_t> votes;
    for (const size_t twin : twins) {
      for (const auto& [b, ports] : peers_.at(twin)) {
        if (b != a && !peers_.at(a).contains(b)) ++votes[b];
      }
    }
    std::vector<size_t> out;
    for (const auto& [b, count] : votes) {
      if (count * 4 >= twins.size() * 3) out.push_back(b);
    }
    return out;
  }

  // What tells switches of one make-up: whether they carry hosts, and their peers.
  std::vector<size_t> make_up(size_t a) const {
    std::vector<size_t> out{has_hosts(a) ? size_t{1} : size_t{0}};
    for (const auto& [b, ports] : peers_.at(a)) out.push_back(b);
    return out;
  }

  // Switches that may lack a peer, and what it takes to look: not those of which so many have one make-up that no peer beyond it
  // can be one of three quarters of the twins. A twin shares three quarters of the peers, so there are few of them.
  std::vector<size_t> odd_ones(size_t* steps) const {
    std::map<std::vector<size_t>, size_t> alike;
    for (const auto& [a, pairs] : peers_) ++alike[make_up(a)];
    std::vector<size_t> out;
    for (const auto& [a, pairs] : peers_) {
      size_t ends = 0;
      for (const auto& [b, ports] : pairs) ends += peers_.at(b).size() - 1;
      const size_t most_twins = ends * 4 / (3 * pairs.size());
      if (pairs.size() >= 4 && (alike[make_up(a)] - 1) * 4 > most_twins) continue;
      out.push_back(a);
      *steps += ends;
    }
    return out;
  }

  // Two switches without any cable between them though the twins of each have one.
  void none() {
    size_t steps = 0;
    const std::vector<size_t> odd = odd_ones(&steps);
    if (steps > kMostSteps) {
      with_.out.notes.push_back(fmt::format("{} switches are wired in so many ways that pairs without any cable were not looked for", peers_.size()));
      return;
    }
    std::set<std::pair<size_t, size_t>> found;
    for (const size_t a : odd) {
      for (const size_t b : lacking(a)) found.insert({a, b});
    }
    for (const auto& [a, b] : found) {
      if (a > b || !found.contains({b, a}) || is_planned(a, b)) continue;
      const auto of_a = usual_count(a, b), of_b = usual_count(b, a);
      tell(a, b, 0, of_a && of_b ? std::min(*of_a, *of_b) : 1);
    }
  }

  // The ports that twins of `a` use for `b` and `a` does not.
  std::vector<uint32_t> free_ports(size_t a, size_t b) const {
    std::map<uint32_t, size_t> votes;
    size_t twins = 0;
    for (const auto& [twin, ports] : peers_.at(b)) {
      if (twin == a || has_hosts(twin) != has_hosts(a)) continue;
      ++twins;
      const auto at = peers_.at(twin).find(b);
      for (const size_t port : at->second) ++votes[map_.ports[port].number];
    }
    std::set<uint32_t> used;
    for (const size_t port : map_.devices[a].ports) {
      if (map_.ports[port].link != kNone) used.insert(map_.ports[port].number);
    }
    std::vector<uint32_t> out;
    for (const auto& [number, count] : votes) {
      if (number > 0 && count * 2 > twins && !used.contains(number)) out.push_back(number);
    }
    return out;
  }

  // As above; where the twins use other ports each (a spine has a pair of them for every leaf), the ones that stand beside
  // those in use, in the rhythm of the others.
  std::vector<uint32_t> missing_ports(size_t a, size_t b, size_t have, uint64_t usual) const {
    std::vector<uint32_t> out = free_ports(a, b);
    if (out.size() == usual - have) return out;
    out.clear();
    const auto pairs = peers_.at(a).find(b);
    if (pairs == peers_.at(a).end()) return out;
    std::set<uint32_t> used, free;
    for (const size_t port : map_.devices[a].ports) {
      if (map_.ports[port].link != kNone) used.insert(map_.ports[port].number);
    }
    for (const size_t port : pairs->second) {
      const uint32_t number = map_.ports[port].number;
      if (number == 0) continue;
      const uint32_t first = (number - 1) / static_cast<uint32_t>(usual) * static_cast<uint32_t>(usual) + 1;
      for (uint32_t at = first; at < first + usual; ++at) {
        if (!used.contains(at)) free.insert(at);
      }
    }
    if (free.size() == usual - have) out.assign(free.begin(), free.end());
    return out;
  }

  void tell(size_t a, size_t b, size_t have, uint64_t usual) {
    if (map_.devices[b].label < map_.devices[a].label) std::swap(a, b);
    const std::string &a_label = map_.devices[a].label, &b_label = map_.devices[b].label;
    const std::vector<uint32_t> at_a = missing_ports(a, b, have, usual), at_b = missing_ports(b, a, have, usual);
    std::vector<std::string> wanted;
    std::string where;
    for (size_t i = 0; i < usual - have && i < at_a.size() && at_a.size() == at_b.size(); ++i) {
      wanted.push_back(fmt::format("{}:{}", a_label, at_a[i]));
      wanted.push_back(fmt::format("{}:{}", b_label, at_b[i]));
      where += fmt::format("{}{} - {}", i > 0 ? ", " : "; by the ports of their twins: ", wanted[2 * i], wanted[2 * i + 1]);
    }
    std::vector<size_t> ports;
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      const auto found = peers_.at(from).find(to);
      if (found != peers_.at(from).end()) ports.insert(ports.end(), found->second.begin(), found->second.end());
    }
    std::vector<std::string> evidence{fmt::format("most pairs of {} and most pairs of {} have {}", a_label, b_label, usual)};
    for (const auto& [from, other] : {std::pair{a, b}, std::pair{b, a}}) {
      for (const auto& [peer, more] : peers_.at(from)) {
        if (peer == other || more.size() <= usual || has_hosts(peer) != has_hosts(other)) continue;
        evidence.push_back(fmt::format("{} and {} have {}: a cable may be in the wrong switch", map_.devices[from].label, map_.devices[peer].label, more.size()));
      }
    }
    with_.add(FindingKind::kMissingSwitchLink, {a_label, b_label}, std::move(wanted),
              fmt::format("{} and {} have {} of {} cables{}", a_label, b_label, have, usual, where), std::move(evidence), std::move(ports),
              {with_.rails.of_device[a].rail, with_.rails.of_device[b].rail});
  }

  Case& with_;
  const FabricMap& map_;
  std::map<size_t, std::map<size_t, std::vector<size_t>>> peers_;  // ports of the first device to the second
  std::map<std::pair<size_t, bool>, std::map<uint64_t, size_t>> counts_;  // by device and its peers' level, how many have how many cables
};

}  // namespace

void rule_switch_pairs(Case& with) {
  PairRule(with).run();
}

}  // namespace railwitness::fabric
