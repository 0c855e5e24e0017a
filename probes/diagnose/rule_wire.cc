// What was posted and never acknowledged, and what was waited for over a path on which probes fail: which edge or
// switch loses it?
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "probes/diagnose/names.h"
#include "probes/diagnose/rules.h"
#include "probes/diagnose/tomography.h"

namespace railwitness::diagnose {
namespace {

// A transport error is a fact of the past: it speaks for the path for this long, and longer while somebody waits at
// either end and no probe has been answered since.
constexpr int64_t kErrorSpeaksNs = 60'000'000'000;

class Wire {
 public:
  Wire(const View& view, const WaitGraph& waits, Conclusions& out) : view_(view), waits_(waits), out_(out) {}

  void run() {
    for (size_t i = 0; i < view_.flows.size(); ++i) judge(static_cast<int>(i));
    for (const Wait& wait : waits_.waits()) judge_wait(wait);
    take_lost_nodes();
    std::vector<BadPair> bad;
    for (auto& [pair, at] : bad_) bad.push_back(std::move(at));
    for (const Localisation& found : localise(view_, bad)) {
      if (found.explained.empty() || (!found.proven && has_only_waits(found))) continue;
      out_.findings.push_back(finding_of(found));
    }
  }

 private:
  // Both ends alive, running, and no other reason known: what is left is the path.
  bool only_the_path_is_left(int index) const {
    const FlowView& flow = view_.flows[index];
    const ProcessView& own = view_.processes[flow.process];
    if (!flow.usable || own.stopped || flow.flow->role == model::Role::kFlush) return false;
    if (!between_ports_that_are_up(flow)) return false;
    const int peer = view_.peer_process(index);
    return peer == kNone || (!view_.processes[peer].ended && !view_.processes[peer].stopped);
  }

  bool between_ports_that_are_up(const FlowView& flow) const {
    if (flow.port == kNone || flow.port == flow.peer_port || view_.ports[flow.port].down) return false;
    return flow.peer_port == kNone || !view_.ports[flow.peer_port].down;
  }

  void add(int index, int64_t age) {
    const FlowView& flow = view_.flows[index];
    BadPair& pair = bad_[{std::min(flow.port, flow.peer_port), std::max(flow.port, flow.peer_port)}];
    pair.a = flow.port;
    pair.b = flow.peer_port;
    pair.onset_age = std::max(pair.onset_age, view_.age_now_of(flow.process, age));
    pair.flows.push_back(index);
  }

  void judge(int index) {
    const FlowView& flow = view_.flows[index];
    if (out_.fatal[index] && between_ports_that_are_up(flow)) add(index, *flow.error_age);
    if (!only_the_path_is_left(index)) return;
    // A queue pair that never finished anything may still be setting up (address resolution, first registration).
    const int64_t wire_ns = view_.thresholds.wire_ns * (flow.flow->completed == 0 ? 3 : 1);
    if (flow.oldest_post_age && *flow.oldest_post_age > wire_ns) {
      // If nobody asks for completions, a missing one means nothing; and what the other end did since is not known
      // before its node has spoken.
      const bool is_known = view_.peer_spoke_since(index, view_.age_now_of(flow.process, *flow.oldest_post_age));
      if (view_.processes[flow.process].polling && is_known) add(index, *flow.oldest_post_age);
    } else if (flow.error_age && (*flow.error_age < kErrorSpeaksNs || somebody_waits(index))) {
      if (!answers_since(flow, view_.age_now_of(flow.process, *flow.error_age))) add(index, *flow.error_age);
    }
  }

  bool somebody_waits(int index) const {
    const int peer = view_.peer_process(index);
    for (const int process : {view_.flows[index].process, peer}) {
      if (process != kNone && !(waits_.of_waiter(process).empty() && waits_.on_target(process).empty())) return true;
    }
    return false;
  }

  bool answers_since(const FlowView& flow, int64_t onset_age) const {
    return flow.peer_port != kNone && probed(view_, flow.port, flow.peer_port, onset_age) == ProbeWord::kAnswered;
  }

  // NCCL's clear-to-send writes are not signalled, so a path that loses them shows no unfinished post at all. A wait is
  // the path's fault where probes over the same pair of ports have gone unanswered since.
  void judge_wait(const Wait& wait) {
    const FlowView& flow = view_.flows[wait.flow];
    if (!wait.ripe || wait.arriving || flow.peer_port == kNone || !only_the_path_is_left(wait.flow)) return;
    if (!view_.peer_spoke_since(wait.flow, wait.age_now)) return;
    if (probed(view_, flow.port, flow.peer_port, wait.age_now) == ProbeWord::kUnanswered) add(wait.flow, wait.age);
  }

  // Waiting is what jobs do. Without a post that hangs, only probes that fail through one component and pass beside it
  // make hardware of it; what they do not tell apart stays a wait (rule_wait.cc).
  bool has_only_waits(const Localisation& found) const {
    return std::all_of(found.explained.begin(), found.explained.end(), [&](const BadPair& pair) {
      return std::all_of(pair.flows.begin(), pair.flows.end(), [&](int index) {
        const FlowView& flow = view_.flows[index];
        return !flow.error_age && flow.oldest_post_age.value_or(0) <= view_.thresholds.wire_ns;
      });
    });
  }

  // --- a silent node that does not acknowledge on any of several rails

  void take_lost_nodes() {
    for (size_t n = 0; n < view_.nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      if (!view_.nodes[n].silent || !lost(node)) continue;
      Localisation as_if;
      for (auto at = bad_.begin(); at != bad_.end();) {
        const bool hit = is_on(at->second.a, node) || is_on(at->second.b, node);
        if (hit) {
          as_if.onset_age = std::max(as_if.onset_age, at->second.onset_age);
          as_if.explained.push_back(std::move(at->second));
        }
        at = hit ? bad_.erase(at) : std::next(at);
      }
      out_.findings.push_back(lost_node(node, as_if));
    }
  }

  bool is_on(int port, int node) const { return port != kNone && view_.ports[port].node == node; }

  bool lost(int node) const {
    std::set<int> used, failing;
    for (const FlowView& flow : view_.flows) {
      if (flow.usable && is_on(flow.peer_port, node)) used.insert(flow.peer_port);
    }
    int64_t onset_age = 0;
    for (const auto& [pair, at] : bad_) {
      for (const int port : {at.a, at.b}) {
        if (!is_on(port, node)) continue;
        failing.insert(port);
        onset_age = std::max(onset_age, at.onset_age);
      }
    }
    const bool answers = std::any_of(view_.pings.begin(), view_.pings.end(), [&](const PingView& ping) {
      return ping.answered && ping.age_now <= onset_age && (is_on(ping.to, node) || is_on(ping.from, node));
    });
    return failing.size() >= 2 && failing == used && !answers;
  }

  model::Finding lost_node(int node, const Localisation& found) {
    model::Finding finding = base(found);
    finding.cls = model::Class::kRankDead;
    finding.subclass = "node_lost";
    finding.confidence = 0.8;
    finding.culprit = {node_component(view_, node)};
    finding.evidence_for.insert(finding.evidence_for.begin(),
                                {fmt::format("nothing heard from {} for {}, and none of its rails acknowledges",
                                             view_.node_name(node), seconds(view_.nodes[node].heard->age_ns)),
                                 "coverage", view_.node_name(node)});
    return finding;
  }

  // --- words

  model::Finding base(const Localisation& found) {
    model::Finding finding;
    std::set<int> ends;
    for (const BadPair& pair : found.explained) {
      say_pair(pair, finding);
      for (const int index : pair.flows) {
        ends.insert(view_.flows[index].process);
        if (const int peer = view_.peer_process(index); peer != kNone) ends.insert(peer);
      }
    }
    for (const int process : ends) out_.explained[process] = 1;
    std::vector<int> blocked = waits_.blocked_by(std::vector<int>(ends.begin(), ends.end()));
    blocked.insert(blocked.end(), ends.begin(), ends.end());
    set_blocked(view_, blocked, finding);
    finding.onset_wall_ns = view_.wall_ago(found.onset_age);
    return finding;
  }

  model::Finding finding_of(const Localisation& found) {
    model::Finding finding = base(found);
    const bool is_switch = found.suspects.size() == 1 && found.suspects[0].is_switch;
    finding.cls = is_switch ? model::Class::kSwitch : model::Class::kLink;
    finding.subclass = "silent_loss";
    finding.confidence = found.confidence;
    if (found.proven) finding.state = model::IncidentState::kConfirmed;
    if (found.contradicted) {
      finding.cls = model::Class::kUnknown;
      finding.subclass = "flow_stuck";
      finding.confidence = 0.3;
      finding.evidence_against.push_back({"probes over the same ports are answered", "probe", ""});
    }
    std::vector<int> ports;
    for (const Suspect& suspect : found.suspects) {
      finding.culprit.push_back(suspect.is_switch ? switch_component(view_, suspect.index)
                                                  : edge_component(view_, suspect.index));
      if (!suspect.is_switch) ports.push_back(suspect.index);
    }
    say_probes(found, finding);
    say_counts(found, finding);
    exonerate(found, ports, finding);
    return finding;
  }

  void say_pair(const BadPair& pair, model::Finding& finding) const {
    struct Sum {
      uint64_t posts = 0, waits = 0, errors = 0;
      int64_t oldest = 0;
    };
    std::map<std::pair<int, int>, Sum> sums;
    for (const int index : pair.flows) {
      const FlowView& flow = view_.flows[index];
      Sum& sum = sums[{flow.port, flow.peer_port}];
      if (flow.oldest_post_age)
        sum.posts += unfinished_posts(flow);
      else if (flow.error_age)
        sum.errors += 1;
      else
        sum.waits += 1;
      sum.oldest = std::max(sum.oldest, flow.oldest_post_age.value_or(flow.receive_wait_age.value_or(0)));
      if (flow.peer == kNone) coverage(flow, finding);
    }
    for (const auto& [ends, sum] : sums) {
      const std::string between =
          ends.second == kNone ? port_text(view_, ends.first) : pair_text(view_, ends.first, ends.second);
      const std::string& node = view_.node_name(view_.ports[ends.first].node);
      if (sum.posts > 0) {
        finding.evidence_for.push_back(
            {fmt::format("{} posts from {} unfinished, oldest {}", sum.posts, between, seconds(sum.oldest)), "flow",
             node});
      }
      if (sum.errors > 0) {
        finding.evidence_for.push_back(
            {fmt::format("{}: {} queue pairs gave up after their retries", between, sum.errors), "flow", node});
      }
      if (sum.waits > 0) {
        finding.evidence_for.push_back({fmt::format("{}: {} receives outstanding for {} with nothing arriving", between,
                                                    sum.waits, seconds(sum.oldest)),
                                        "wait", node});
      }
    }
  }

  void coverage(const FlowView& flow, model::Finding& finding) const {
    const std::string text = flow.peer_port != kNone && view_.ports[flow.peer_port].node != kNone
                                 ? fmt::format("no facts of the process at the other end on {}",
                                               view_.node_name(view_.ports[flow.peer_port].node))
                                 : "nothing is known of the other end's node";
    const auto same = [&](const model::Evidence& e) { return e.text == text; };
    if (std::none_of(finding.evidence_against.begin(), finding.evidence_against.end(), same)) {
      finding.evidence_against.push_back({text, "coverage", view_.node_name(view_.processes[flow.process].node)});
    }
  }

  bool touches(const Suspect& suspect, int port) const {
    return suspect.is_switch ? view_.ports[port].switch_index == suspect.index : port == suspect.index;
  }

  void say_probes(const Localisation& found, model::Finding& finding) const {
    std::vector<std::string> lost, beside;
    for (const PingView& ping : view_.pings) {
      if (ping.age_now > found.onset_age) continue;
      const bool through = std::any_of(found.suspects.begin(), found.suspects.end(),
                                       [&](const Suspect& s) { return touches(s, ping.from) || touches(s, ping.to); });
      if (through && !ping.answered) lost.push_back(pair_text(view_, ping.from, ping.to));
      if (!through && ping.answered) beside.push_back(pair_text(view_, ping.from, ping.to));
    }
    if (!lost.empty()) {
      finding.evidence_for.push_back({fmt::format("probes through it get no answer: {}", listed(lost)), "probe", ""});
    }
    if (!lost.empty() && !beside.empty()) {
      finding.evidence_for.push_back({fmt::format("probes beside it are answered: {}", listed(beside)), "probe", ""});
    }
  }

  void say_counts(const Localisation& found, model::Finding& finding) const {
    if (found.suspects.size() == 1) {
      const Suspect& only = found.suspects[0];
      std::set<int> others;
      for (const BadPair& pair : found.explained) {
        for (const int port : {pair.a, pair.b}) {
          if (port != kNone && !(only == Suspect{false, port})) others.insert(port);
        }
      }
      if (!only.is_switch && others.size() >= 2) {
        std::vector<std::string> names;
        for (const int port : others) names.push_back(port_text(view_, port));
        finding.evidence_for.push_back({fmt::format("it fails with {} others: {}", others.size(), listed(names)),
                                        "flow", view_.node_name(view_.ports[only.index].node)});
      }
      return;
    }
    finding.evidence_against.push_back({"the facts do not tell these components apart", "coverage", ""});
  }

  // Ends that work with somebody else, other rails of the suspected nodes, the ranks at both ends, and the switch where
  // other pairs get across it.
  void exonerate(const Localisation& found, const std::vector<int>& culprits, model::Finding& finding) const {
    const auto suspected = [&](int port) {
      return std::find(culprits.begin(), culprits.end(), port) != culprits.end();
    };
    std::set<int> edges, ranks, switches;
    for (const BadPair& pair : found.explained) {
      for (const int port : {pair.a, pair.b}) {
        if (port != kNone && !suspected(port) && (found.proven || works_with_others(port, found.onset_age)))
          edges.insert(port);
        if (port == kNone || view_.ports[port].node == kNone || !suspected(port)) continue;
        for (const int other : healthy_ports(view_, view_.ports[port].node, culprits)) edges.insert(other);
      }
      for (const int index : pair.flows) ranks.insert(view_.flows[index].process);
    }
    for (const PingView& ping : view_.pings) {
      const int at = view_.ports[ping.from].switch_index;
      if (ping.answered && ping.age_now <= found.onset_age && at != kNone && at == view_.ports[ping.to].switch_index) {
        switches.insert(at);
      }
    }
    for (const int port : edges) finding.exonerated.push_back(edge_component(view_, port));
    for (const int port : culprits) {
      const int at = view_.ports[port].switch_index;
      if (at == kNone || switches.erase(at) == 0) continue;
      finding.exonerated.push_back(switch_component(view_, at));
    }
    if (found.suspects.size() != 1 || found.suspects[0].is_switch) return;
    for (const int process : ranks) {
      if (view_.processes[process].node == view_.ports[culprits[0]].node) {
        finding.exonerated.push_back(rank_component(view_, process));
      }
    }
  }

  bool works_with_others(int port, int64_t onset_age) const {
    return std::any_of(view_.pings.begin(), view_.pings.end(),
                       [&](const PingView& ping) {
                         return ping.answered && ping.age_now <= onset_age && (ping.from == port || ping.to == port);
                       }) ||
           std::any_of(view_.flows.begin(), view_.flows.end(), [&](const FlowView& flow) {
             return (flow.port == port || flow.peer_port == port) && flow.last_completion_age_now &&
                    *flow.last_completion_age_now < onset_age - kOnsetSlackNs && !flow.error_age &&
                    flow.oldest_post_age.value_or(0) <= view_.thresholds.wire_ns;
           });
  }

  const View& view_;
  const WaitGraph& waits_;
  Conclusions& out_;
  std::map<std::pair<int, int>, BadPair> bad_;
};

}  // namespace

void find_wire(const View& view, const WaitGraph& waits, Conclusions& out) {
  Wire(view, waits, out).run();
}

}  // namespace railwitness::diagnose
