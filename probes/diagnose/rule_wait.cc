// Waits that no other rule explains: for a rank that is busy or idle (no incident), for a node nothing is heard from,
// or round in a circle.
#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "probes/diagnose/names.h"
#include "probes/diagnose/rules.h"
#include "probes/diagnose/tomography.h"

namespace railwitness::diagnose {
namespace {

// A circle of waits is what a path looks like that loses clear-to-send writes, and also what a job looks like whose
// host has queued the next collective behind a long computation. Probes tell; until they have had time to, and for as
// long as they say that the rails are healthy, it is a wait.
constexpr int64_t kCycleUnanswered = 3;  // times the threshold of a wait, with probes unanswered: a suspicion
constexpr int64_t kCycleTooLong = 15;    // none unanswered, all or some answered: a stall without known cause

class Waits {
 public:
  Waits(const View& view, const WaitGraph& graph, Conclusions& out) : view_(view), graph_(graph), out_(out) {}

  void run() {
    mark_explained();
    std::vector<int> ends;
    for (size_t p = 0; p < view_.processes.size(); ++p) {
      const int process = static_cast<int>(p);
      if (settled_[p] || !waited_for(process)) continue;
      if (!graph_.of_waiter(process).empty() || view_.processes[p].ended) continue;
      if (view_.nodes[view_.processes[p].node].silent)
        blind(process);
      else if (!view_.processes[p].stopped)
        idle_or_busy(process);
      ends.push_back(process);
    }
    settle(ends);
    find_cycles();
  }

 private:
  // A process whose stall is explained, and everybody behind it. Who waits for somebody that no facts name waits for a
  // reason that is not seen here: nothing is said about it.
  void mark_explained() {
    settled_.assign(view_.processes.size(), 0);
    std::vector<int> roots;
    for (size_t p = 0; p < view_.processes.size(); ++p) {
      bool waits_on_unknown = false;
      for (const int w : graph_.of_waiter(static_cast<int>(p))) waits_on_unknown |= graph_.waits()[w].on == kNone;
      if (out_.explained[p] || view_.processes[p].stopped || waits_on_unknown) roots.push_back(static_cast<int>(p));
    }
    settle(roots);
  }

  void settle(const std::vector<int>& roots) {
    for (const int root : roots) settled_[root] = 1;
    for (const int process : graph_.blocked_by(roots)) settled_[process] = 1;
  }

  bool counts(const Wait& wait) const { return wait.ripe && !wait.arriving && !settled_[wait.waiter]; }

  bool waited_for(int process) const {
    const std::vector<int>& on = graph_.on_target(process);
    return std::any_of(on.begin(), on.end(), [&](int w) { return counts(graph_.waits()[w]); });
  }

  model::Finding waiting_for(int process) const {
    model::Finding finding;
    finding.cls = model::Class::kWait;
    finding.culprit = {rank_component(view_, process)};
    finding.job = view_.processes[process].process->job;
    int64_t oldest = 0;
    for (const int w : graph_.on_target(process)) {
      const Wait& wait = graph_.waits()[w];
      if (!counts(wait)) continue;
      oldest = std::max(oldest, wait.age_now);
      if (finding.evidence_for.size() == 4) continue;
      const bool sends = view_.flows[wait.flow].flow->direction == model::Direction::kSend;
      const std::string waiter = process_text(view_, wait.waiter), age = seconds(wait.age);
      finding.evidence_for.push_back(
          {sends ? fmt::format("{} has data to send, and has been given no clear-to-send for {}", waiter, age)
                 : fmt::format("{} has a receive outstanding for {}, and nothing is under way to it", waiter, age),
           "wait", view_.node_name(view_.processes[wait.waiter].node)});
    }
    finding.onset_wall_ns = view_.wall_ago(oldest);
    set_blocked(view_, graph_.blocked_by({process}), finding);
    return finding;
  }

  void idle_or_busy(int process) {
    model::Finding finding = waiting_for(process);
    const std::optional<double> share = view_.processes[process].process->cpu_share;
    const bool busy = share.value_or(0) >= 0.5;
    finding.subclass = busy ? "rank_busy" : "rank_idle";
    finding.confidence = 0.9;
    finding.evidence_for.insert(finding.evidence_for.begin(),
                                {share ? fmt::format("{}, {:.2f} of a core", busy ? "busy" : "idle", *share) : "alive",
                                 "process", view_.node_name(view_.processes[process].node)});
    out_.findings.push_back(std::move(finding));
  }

  void blind(int process) {
    model::Finding finding = waiting_for(process);
    const int node = view_.processes[process].node;
    finding.cls = model::Class::kUnknown;
    finding.subclass = "blind";
    finding.confidence = 0.3;
    finding.culprit = {node_component(view_, node)};
    finding.evidence_against.push_back(
        {fmt::format("nothing heard from {} for {}", view_.node_name(node), seconds(view_.nodes[node].heard->age_ns)),
         "coverage", view_.node_name(node)});
    out_.findings.push_back(std::move(finding));
  }

  // --- circles

  // What is left waits for one another. Who merely waits for a circle is peeled off.
  void find_cycles() {
    std::vector<int> in_degree(view_.processes.size(), 0);
    std::vector<char> left(view_.processes.size(), 0);
    for (const Wait& wait : graph_.waits()) {
      if (!settled_[wait.waiter] && wait.on != kNone) left[wait.waiter] = 1;
    }
    for (const Wait& wait : graph_.waits()) {
      if (wait.on != kNone && left[wait.waiter]) ++in_degree[wait.on];
    }
    std::vector<int> queue;
    for (size_t p = 0; p < left.size(); ++p) {
      if (left[p] && in_degree[p] == 0) queue.push_back(static_cast<int>(p));
    }
    for (size_t next = 0; next < queue.size(); ++next) {
      left[queue[next]] = 0;
      for (const int w : graph_.of_waiter(queue[next])) {
        const int on = graph_.waits()[w].on;
        if (on != kNone && --in_degree[on] == 0 && left[on]) queue.push_back(on);
      }
    }
    std::map<int, std::vector<int>> by_group;  // of a job; its waits, not its processes
    for (size_t w = 0; w < graph_.waits().size(); ++w) {
      const Wait& wait = graph_.waits()[w];
      if (wait.on == kNone || !left[wait.waiter] || !left[wait.on] || wait.arriving || !wait.ripe) continue;
      by_group[view_.processes[wait.waiter].group].push_back(static_cast<int>(w));
    }
    for (const auto& [group, waits] : by_group) cycle(waits);
  }

  struct Circle {
    std::set<int> processes, ports, unanswered_ports, unproven_ports;
    int64_t oldest = 0, oldest_now = 0;
    bool all_answered = true;
  };

  Circle circle_of(const std::vector<int>& waits) const {
    Circle out;
    for (const int w : waits) {
      const Wait& wait = graph_.waits()[w];
      const FlowView& flow = view_.flows[wait.flow];
      out.processes.insert(wait.waiter);
      out.processes.insert(wait.on);
      out.oldest = std::max(out.oldest, wait.age);
      out.oldest_now = std::max(out.oldest_now, wait.age_now);
      const bool known = flow.port != kNone && flow.peer_port != kNone;
      const ProbeWord word = known ? probed(view_, flow.port, flow.peer_port, wait.age_now) : ProbeWord::kNotProbed;
      const bool answered = word == ProbeWord::kAnswered;
      out.all_answered &= answered;
      for (const int port : {flow.port, flow.peer_port}) {
        if (port != kNone) out.ports.insert(port);
        if (port != kNone && !answered) out.unproven_ports.insert(port);
        if (port != kNone && word == ProbeWord::kUnanswered) out.unanswered_ports.insert(port);
      }
    }
    return out;
  }

  void cycle(const std::vector<int>& waits) {
    const Circle circle = circle_of(waits);
    model::Finding finding;
    finding.onset_wall_ns = view_.wall_ago(circle.oldest_now);
    std::vector<std::string> names;
    for (const int process : circle.processes) names.push_back(process_text(view_, process));
    finding.evidence_for.push_back({fmt::format("{} wait for one another for {}, and nothing is under way between them",
                                                listed(names, 8), seconds(circle.oldest)),
                                    "wait", ""});
    const std::vector<int> members(circle.processes.begin(), circle.processes.end());
    std::vector<int> blocked = graph_.blocked_by(members);
    blocked.insert(blocked.end(), members.begin(), members.end());
    set_blocked(view_, blocked, finding);
    judge_cycle(circle, finding);
    out_.findings.push_back(std::move(finding));
  }

  void judge_cycle(const Circle& circle, model::Finding& finding) const {
    const std::set<int>* suspects = &circle.ports;
    const int64_t patience = view_.thresholds.receive_wait_ns;
    finding.cls = model::Class::kWait;
    finding.subclass = "cycle";
    finding.confidence = 0.3;
    if (circle.all_answered) {
      finding.evidence_against.push_back({"probes on all rails between them are answered", "probe", ""});
    }
    if (!circle.unanswered_ports.empty() && circle.oldest > patience * kCycleUnanswered) {
      finding.cls = model::Class::kLink;
      finding.subclass = "silent_loss";
      finding.confidence = 0.2;
      finding.evidence_against.push_back({"the probes that fail do not tell these ports apart", "coverage", ""});
      suspects = &circle.unanswered_ports;
    } else if (circle.oldest > patience * kCycleTooLong) {
      finding.cls = model::Class::kUnknown;
      suspects = circle.all_answered ? nullptr : &circle.unproven_ports;  // null: the rails are exonerated
      if (!circle.all_answered) {
        finding.evidence_against.push_back({"not every pair of ports has been probed", "coverage", ""});
      }
    }
    for (const int port : circle.ports) {
      auto& into = suspects != nullptr && suspects->count(port) != 0 ? finding.culprit : finding.exonerated;
      into.push_back(edge_component(view_, port));
    }
  }

  const View& view_;
  const WaitGraph& graph_;
  Conclusions& out_;
  std::vector<char> settled_;
};

}  // namespace

void find_waits(const View& view, const WaitGraph& waits, Conclusions& out) {
  Waits(view, waits, out).run();
}

}  // namespace railwitness::diagnose
