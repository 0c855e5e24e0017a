#include "probes/diagnose/wait_graph.h"

namespace railwitness::diagnose {
namespace {

// For data, or, where the transport tells, for the clear-to-send without which no data can be sent.
bool can_wait(const model::Flow& flow) {
  return (flow.direction != model::Direction::kSend || flow.connection) && flow.role != model::Role::kFlush;
}

// Facts of two nodes are of two moments. If the other end has sent something on this very connection since the waiter's
// node spoke, the wait that it told of may be over.
bool is_outdated(const View& view, const FlowView& flow) {
  if (flow.peer == kNone) return false;
  const FlowView& peer = view.flows[flow.peer];
  if (!peer.flow->last_post_mono_ns) return false;
  const model::Heard& waiter = *view.nodes[view.processes[flow.process].node].heard;
  const model::Heard& sender = *view.nodes[view.processes[peer.process].node].heard;
  return age_now(sender, *peer.flow->last_post_mono_ns) < waiter.age_ns;
}

}  // namespace

WaitGraph::WaitGraph(const View& view) : by_waiter_(view.processes.size()), by_target_(view.processes.size()) {
  const int64_t young_ns = view.thresholds.wire_ns / 4;
  for (size_t i = 0; i < view.flows.size(); ++i) {
    const FlowView& flow = view.flows[i];
    // A stopped process waits for nobody: it would not take what arrives.
    if (!flow.usable || view.processes[flow.process].stopped || !can_wait(*flow.flow)) continue;
    if (!flow.receive_wait_age || *flow.receive_wait_age < young_ns) continue;
    if (is_outdated(view, flow)) continue;
    Wait wait;
    wait.flow = static_cast<int>(i);
    wait.waiter = flow.process;
    wait.on = view.peer_process(wait.flow);
    wait.age = *flow.receive_wait_age;
    wait.age_now = age_now(*view.nodes[view.processes[flow.process].node].heard, *flow.flow->receive_wait_mono_ns);
    wait.ripe = wait.age > view.thresholds.receive_wait_ns;
    wait.arriving = flow.peer != kNone && view.flows[flow.peer].oldest_post_age.has_value();
    const int index = static_cast<int>(waits_.size());
    waits_.push_back(wait);
    by_waiter_[wait.waiter].push_back(index);
    if (wait.on != kNone) by_target_[wait.on].push_back(index);
  }
}

std::vector<int> WaitGraph::blocked_by(const std::vector<int>& roots) const {
  std::vector<char> seen(by_waiter_.size(), 0);
  std::vector<int> queue = roots;
  for (const int root : roots) seen[root] = 1;
  for (size_t next = 0; next < queue.size(); ++next) {
    for (const int index : by_target_[queue[next]]) {
      const int waiter = waits_[index].waiter;
      if (seen[waiter]) continue;
      seen[waiter] = 1;
      queue.push_back(waiter);
    }
  }
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(roots.size()));
  return queue;
}

}  // namespace railwitness::diagnose
