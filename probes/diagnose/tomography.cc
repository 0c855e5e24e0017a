#include "probes/diagnose/tomography.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace railwitness::diagnose {
namespace {

constexpr double kQ = 0.005;         // a path over healthy components fails by chance
constexpr double kProbeWeight = 6;   // log-odds of a round of probes
constexpr double kSwitchPrior = -3;  // an edge fails more often than a switch
constexpr double kTie = 1;           // log-likelihoods nearer than this are not told apart
constexpr size_t kMaxLocalisations = 16;

using Pair = std::pair<int, int>;  // ordered: first < second

Pair pair_of(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

// Per pair of ports, whether probes since `onset_age` are answered. A probe needs both ways, so of two directions in
// one round one answer is enough; an answer that is older than the silence after it by more than a round is outdated.
std::map<Pair, bool> probe_words(const View& view, int64_t onset_age) {
  constexpr int64_t kRoundNs = 2'000'000'000;
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  struct Latest {
    int64_t answered = kNever, unanswered = kNever;
  };
  std::map<Pair, Latest> latest;
  for (const PingView& ping : view.pings) {
    if (ping.age_now > onset_age) continue;
    Latest& at = latest[pair_of(ping.from, ping.to)];
    int64_t& age = ping.answered ? at.answered : at.unanswered;
    age = std::min(age, ping.age_now);
  }
  std::map<Pair, bool> out;
  for (const auto& [pair, at] : latest) {
    out[pair] = at.answered != kNever && (at.unanswered == kNever || at.answered - kRoundNs < at.unanswered);
  }
  return out;
}

// One connected set of failing pairs: one fault, or several that share a port.
class Cluster {
 public:
  Cluster(const View& view, std::vector<BadPair> bad) : view_(view), flows_bad_(std::move(bad)) {
    for (const BadPair& pair : flows_bad_) {
      onset_age_ = std::max(onset_age_, pair.onset_age);
      bad_.insert(pair_of(pair.a, pair.b));
    }
    collect_good_flows();
    collect_probes();
  }

  std::vector<Localisation> run() {
    std::vector<Localisation> out;
    take_proven(out);
    while (!flows_bad_.empty() && out.size() < kMaxLocalisations) {
      Localisation next = best();
      if (next.explained.empty()) break;
      out.push_back(std::move(next));
    }
    return out;
  }

 private:
  struct Probed {
    std::set<int> answered, unanswered;  // the ports at the other end
  };

  int switch_of(int port) const { return port == kNone ? kNone : view_.ports[port].switch_index; }

  bool crosses(const Suspect& suspect, const Pair& pair) const {
    if (!suspect.is_switch) return pair.first == suspect.index || pair.second == suspect.index;
    return switch_of(pair.first) == suspect.index || switch_of(pair.second) == suspect.index;
  }

  bool near(const Pair& pair) const {  // touches a port or a switch of the failing pairs
    for (const Pair& bad : bad_) {
      for (const int port : {bad.first, bad.second}) {
        if (port == kNone) continue;
        if (port == pair.first || port == pair.second) return true;
        const int at = switch_of(port);
        if (at != kNone && (switch_of(pair.first) == at || switch_of(pair.second) == at)) return true;
      }
    }
    return false;
  }

  // Work that was completed after the onset, on a queue pair that is not stuck itself.
  void collect_good_flows() {
    for (const FlowView& flow : view_.flows) {
      if (!flow.last_completion_age_now || flow.port == kNone || flow.peer_port == kNone) continue;
      if (flow.port == flow.peer_port || flow.flow->completed == 0 || flow.error_age) continue;
      if (*flow.last_completion_age_now + kOnsetSlackNs > onset_age_) continue;
      if (flow.oldest_post_age && *flow.oldest_post_age > view_.thresholds.wire_ns) continue;
      const Pair pair = pair_of(flow.port, flow.peer_port);
      if (near(pair)) good_.insert(pair);
    }
  }

  void collect_probes() {
    std::set<Pair> unanswered;
    for (const auto& [pair, answered] : probe_words(view_, onset_age_)) {
      if (!answered) {
        unanswered.insert(pair);
        continue;
      }
      probes_[pair.first].answered.insert(pair.second);
      probes_[pair.second].answered.insert(pair.first);
      if (near(pair)) good_.insert(pair);
    }
    for (const Pair& pair : unanswered) {
      probes_[pair.first].unanswered.insert(pair.second);
      probes_[pair.second].unanswered.insert(pair.first);
    }
    std::set<Pair> more;
    for (const Pair& pair : unanswered) {
      if (near(pair)) more.insert(pair);
    }
    bad_.insert(more.begin(), more.end());
  }

  const Probed& probed_at(int port) const {
    static const Probed kNothing;
    const auto found = probes_.find(port);
    return found == probes_.end() ? kNothing : found->second;
  }

  // Everything through it fails, and one of those that it fails with answers somebody else.
  bool proven(int port) const {
    const Probed& probed = probed_at(port);
    if (!probed.answered.empty()) return false;
    return std::any_of(probed.unanswered.begin(), probed.unanswered.end(),
                       [&](int other) { return !probed_at(other).answered.empty(); });
  }

  // The pairs with flows that `suspects` explain, moved out of what is left to explain.
  std::vector<BadPair> take(const std::vector<Suspect>& suspects) {
    const auto hit = [&](const Pair& pair) {
      return std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& s) { return crosses(s, pair); });
    };
    std::vector<BadPair> taken, left;
    for (BadPair& pair : flows_bad_) (hit(pair_of(pair.a, pair.b)) ? taken : left).push_back(std::move(pair));
    flows_bad_ = std::move(left);
    std::erase_if(bad_, hit);
    return taken;
  }

  static int64_t onset_of(const std::vector<BadPair>& pairs) {
    int64_t onset = 0;
    for (const BadPair& pair : pairs) onset = std::max(onset, pair.onset_age);
    return onset;
  }

  void take_proven(std::vector<Localisation>& out) {
    std::set<int> ports;
    for (const BadPair& pair : flows_bad_) {
      for (const int port : {pair.a, pair.b}) {
        if (port != kNone && proven(port)) ports.insert(port);
      }
    }
    std::vector<Suspect> all;
    for (const int port : ports) {
      Localisation found;
      found.suspects = {Suspect{false, port}};
      for (const BadPair& pair : flows_bad_) {
        if (pair.a == port || pair.b == port) found.explained.push_back(pair);
      }
      found.onset_age = onset_of(found.explained);
      found.proven = true;
      found.confidence = probed_at(port).unanswered.size() > 1 ? 0.97 : 0.94;
      if (out.size() < kMaxLocalisations) out.push_back(std::move(found));
      all.push_back({false, port});
    }
    take(all);
  }

  // ln P(observations | suspect is broken), DIAGNOSIS 4.4.
  double score(const Suspect& suspect) const {
    double bad = 0, good = 0;
    for (const Pair& pair : bad_) bad += crosses(suspect, pair);
    for (const Pair& pair : good_) good += crosses(suspect, pair);
    const double p = std::clamp(bad / std::max(bad + good, 1.0), 0.01, 0.999);
    const double other_bad = static_cast<double>(bad_.size()) - bad;
    const double other_good = static_cast<double>(good_.size()) - good;
    return bad * std::log(p) + good * std::log(1 - p) + other_bad * std::log(kQ) + other_good * std::log(1 - kQ) +
           (suspect.is_switch ? kSwitchPrior + probe_weight_of_switch(suspect.index)
                              : probe_weight_of_edge(suspect.index));
  }

  double probe_weight_of_edge(int port) const {
    const Probed& probed = probed_at(port);
    if (!probed.answered.empty()) return -kProbeWeight;
    return probed.unanswered.empty() ? 0 : kProbeWeight;
  }

  // Only probes with both ends on it speak about the switch itself.
  double probe_weight_of_switch(int index) const {
    std::set<int> failing_nodes;
    for (const auto& [port, probed] : probes_) {
      if (switch_of(port) != index) continue;
      for (const int other : probed.answered) {
        if (switch_of(other) == index) return -kProbeWeight;
      }
      for (const int other : probed.unanswered) {
        if (switch_of(other) == index) failing_nodes.insert(view_.ports[port].node);
      }
    }
    return failing_nodes.size() >= 3 ? kProbeWeight : 0;
  }

  std::vector<Suspect> candidates() const {
    std::set<int> ports;
    std::map<int, std::set<int>> nodes_of_switch;
    for (const BadPair& pair : flows_bad_) {
      for (const int port : {pair.a, pair.b}) {
        if (port != kNone) ports.insert(port);
      }
    }
    for (const Pair& pair : bad_) {
      for (const int port : {pair.first, pair.second}) {
        if (switch_of(port) != kNone) nodes_of_switch[switch_of(port)].insert(view_.ports[port].node);
      }
    }
    std::vector<Suspect> out;
    for (const int port : ports) out.push_back({false, port});
    for (const auto& [index, nodes] : nodes_of_switch) {
      if (nodes.size() >= 3) out.push_back({true, index});  // two ends fail together: two edges say as much
    }
    return out;
  }

  Localisation best() {
    const std::vector<Suspect> all = candidates();
    std::vector<double> scores;
    for (const Suspect& suspect : all) scores.push_back(score(suspect));
    const size_t top = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    Localisation out;
    double weight = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool shares = std::any_of(bad_.begin(), bad_.end(),
                                      [&](const Pair& p) { return crosses(all[i], p) && crosses(all[top], p); });
      if (!shares) continue;
      weight += std::exp(scores[i] - scores[top]);
      if (scores[i] > scores[top] - kTie) out.suspects.push_back(all[i]);
    }
    out.contradicted = std::all_of(out.suspects.begin(), out.suspects.end(), [&](const Suspect& s) {
      return s.is_switch ? probe_weight_of_switch(s.index) < 0 : probe_weight_of_edge(s.index) < 0;
    });
    const bool alone = out.suspects.size() == 1;
    out.proven = alone && all[top].is_switch && switch_proven(all[top].index);
    out.confidence = out.proven ? 0.94 : std::min(0.85, 1 / weight) * (alone ? 1 : 0.9);
    out.explained = take(out.suspects);
    out.onset_age = onset_of(out.explained);
    return out;
  }

  // Nobody answers across it, and one of those who do not answer there answers elsewhere.
  bool switch_proven(int index) const {
    if (probe_weight_of_switch(index) <= 0) return false;
    std::set<int> nodes_on, nodes_beside;
    for (const auto& [port, probed] : probes_) {
      const int node = view_.ports[port].node;
      if (switch_of(port) == index)
        nodes_on.insert(node);
      else if (!probed.answered.empty())
        nodes_beside.insert(node);
    }
    return std::any_of(nodes_on.begin(), nodes_on.end(), [&](int node) { return nodes_beside.count(node) != 0; });
  }

  const View& view_;
  std::vector<BadPair> flows_bad_;  // left to explain
  std::set<Pair> bad_, good_;       // with and without flows; bad_: left to explain
  std::map<int, Probed> probes_;    // by port
  int64_t onset_age_ = 0;
};

}  // namespace

std::vector<Localisation> localise(const View& view, const std::vector<BadPair>& bad) {
  // Pairs that share a port belong together, and so do pairs whose ports an unanswered probe joins.
  std::map<int, int> cluster_of_port;
  std::vector<std::vector<int>> ports_of;
  const auto join = [&](int a, int b) {
    for (const int port : {a, b}) {
      if (port == kNone || cluster_of_port.count(port) != 0) continue;
      cluster_of_port[port] = static_cast<int>(ports_of.size());
      ports_of.push_back({port});
    }
    if (a == kNone || b == kNone || cluster_of_port[a] == cluster_of_port[b]) return;
    const int into = cluster_of_port[a], from = cluster_of_port[b];
    for (const int port : ports_of[from]) {
      cluster_of_port[port] = into;
      ports_of[into].push_back(port);
    }
    ports_of[from].clear();
  };
  for (const BadPair& pair : bad) join(pair.a, pair.b);
  for (const PingView& ping : view.pings) {
    if (!ping.answered && cluster_of_port.count(ping.from) != 0 && cluster_of_port.count(ping.to) != 0) {
      join(ping.from, ping.to);
    }
  }
  std::map<int, std::vector<BadPair>> clusters;
  for (const BadPair& pair : bad) {
    const int port = pair.a != kNone ? pair.a : pair.b;
    if (port != kNone && !pair.flows.empty()) clusters[cluster_of_port[port]].push_back(pair);
  }
  std::vector<Localisation> out;
  for (auto& [index, pairs] : clusters) {
    std::vector<Localisation> found = Cluster(view, std::move(pairs)).run();
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return out;
}

ProbeWord probed(const View& view, int a, int b, int64_t onset_age) {
  const std::map<Pair, bool> words = probe_words(view, onset_age);
  const auto found = words.find(pair_of(a, b));
  if (found == words.end()) return ProbeWord::kNotProbed;
  return found->second ? ProbeWord::kAnswered : ProbeWord::kUnanswered;
}

}  // namespace railwitness::diagnose
