// Ports that are not ACTIVE while work hangs on them. The port's state names the component, so it is confirmed.
#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "probes/diagnose/names.h"
#include "probes/diagnose/rules.h"

namespace railwitness::diagnose {
namespace {

struct Affected {
  std::vector<int> flows;
  std::set<int> processes, far_ports;
  int64_t oldest_age_now = 0;
};

// A port that is down needs less patience than a suspicion: a quarter of it for a post.
bool hangs(const View& view, const FlowView& flow) {
  return hangs_on_peer(view, flow) ||
         (flow.flow->role != model::Role::kFlush && flow.oldest_post_age.value_or(0) >= view.thresholds.wire_ns / 4);
}

Affected affected_by(const View& view, const Conclusions& known, int port) {
  Affected out;
  for (size_t i = 0; i < view.flows.size(); ++i) {
    const FlowView& flow = view.flows[i];
    if (flow.port != port && flow.peer_port != port) continue;
    if ((!flow.usable && !known.fatal[i]) || !hangs(view, flow)) continue;
    const int peer = view.peer_process(static_cast<int>(i));
    if (peer != kNone && view.processes[peer].ended && !known.fatal[i]) continue;  // hangs for that reason
    out.flows.push_back(static_cast<int>(i));
    out.processes.insert(flow.process);
    if (peer != kNone) out.processes.insert(peer);
    const int far = flow.port == port ? flow.peer_port : flow.port;
    if (far != kNone && far != port && !view.ports[far].down) out.far_ports.insert(far);
    const int64_t age =
        std::max({flow.oldest_post_age.value_or(0), flow.receive_wait_age.value_or(0), flow.error_age.value_or(0)});
    out.oldest_age_now = std::max(out.oldest_age_now, view.age_now_of(flow.process, age));
  }
  return out;
}

int64_t down_for(const View& view, int port, int64_t otherwise) {
  const PortView& at = view.ports[port];
  if (at.rail == nullptr || !at.rail->state_since_mono_ns) return otherwise;
  return age_now(*view.nodes[at.node].heard, *at.rail->state_since_mono_ns);
}

void say_flows(const View& view, const Affected& affected, model::Finding& finding) {
  for (const int index : affected.flows) {
    const FlowView& flow = view.flows[index];
    const std::string between =
        flow.peer_port == kNone ? port_text(view, flow.port) : pair_text(view, flow.port, flow.peer_port);
    std::string text;
    if (flow.oldest_post_age) {
      text = fmt::format("{} posts from {} unfinished, oldest {}", unfinished_posts(flow), between,
                         seconds(*flow.oldest_post_age));
    } else {
      const bool sends = flow.flow->direction == model::Direction::kSend;
      text = fmt::format("{}: {} for {}", between, sends ? "no clear-to-send" : "a receive outstanding",
                         seconds(flow.receive_wait_age.value_or(0)));
    }
    finding.evidence_for.push_back({text, "flow", view.node_name(view.processes[flow.process].node)});
    if (finding.evidence_for.size() == 6) return;
  }
}

void exonerate(const View& view, int port, const Affected& affected, model::Finding& finding) {
  for (const int far : affected.far_ports) finding.exonerated.push_back(edge_component(view, far));
  for (const int other : healthy_ports(view, view.ports[port].node, {port})) {
    finding.exonerated.push_back(edge_component(view, other));
  }
  for (const int process : affected.processes) {
    if (view.processes[process].node == view.ports[port].node) {
      finding.exonerated.push_back(rank_component(view, process));
    }
  }
}

model::Finding one_port(const View& view, const WaitGraph& waits, int port, const Affected& affected) {
  const PortView& at = view.ports[port];
  model::Finding finding;
  finding.cls = model::Class::kLink;
  finding.subclass = "port_down";
  finding.state = model::IncidentState::kConfirmed;
  finding.confidence = 0.97;
  finding.culprit = {edge_component(view, port)};
  const int64_t age = down_for(view, port, affected.oldest_age_now);
  finding.onset_wall_ns = view.wall_ago(age);
  finding.evidence_for.push_back(
      {fmt::format("port {}/{} of {} is {}{} for {}", at.device, at.port, view.node_name(at.node), at.rail->state,
                   at.rail->phys_state.empty() ? "" : fmt::format(" ({})", at.rail->phys_state), seconds(age)),
       "port", view.node_name(at.node)});
  say_flows(view, affected, finding);
  const std::vector<int> ends(affected.processes.begin(), affected.processes.end());
  std::vector<int> blocked = waits.blocked_by(ends);
  blocked.insert(blocked.end(), ends.begin(), ends.end());
  set_blocked(view, blocked, finding);
  exonerate(view, port, affected, finding);
  return finding;
}

// All ports of a switch that anybody sees are down, three nodes at least: the switch.
std::map<int, std::vector<int>> dead_switches(const View& view, const std::map<int, Affected>& down) {
  std::map<int, std::vector<int>> out;
  for (size_t s = 0; s < view.switches.size(); ++s) {
    std::vector<int> ports;
    std::set<int> nodes;
    bool any_up = false, any_hangs = false;
    for (size_t p = 0; p < view.ports.size(); ++p) {
      const PortView& port = view.ports[p];
      if (port.switch_index != static_cast<int>(s) || view.nodes[port.node].silent) continue;
      any_up |= !port.down;
      if (!port.down) continue;
      ports.push_back(static_cast<int>(p));
      nodes.insert(port.node);
      any_hangs |= down.count(static_cast<int>(p)) != 0;
    }
    if (!any_up && any_hangs && nodes.size() >= 3) out[static_cast<int>(s)] = ports;
  }
  return out;
}

model::Finding whole_switch(const View& view, const WaitGraph& waits, int index, const std::vector<int>& ports,
                            const std::map<int, Affected>& down) {
  Affected all;
  int64_t age = 0;
  for (const int port : ports) {
    age = std::max(age, down_for(view, port, 0));
    const auto found = down.find(port);
    if (found == down.end()) continue;
    all.flows.insert(all.flows.end(), found->second.flows.begin(), found->second.flows.end());
    all.processes.insert(found->second.processes.begin(), found->second.processes.end());
    all.oldest_age_now = std::max(all.oldest_age_now, found->second.oldest_age_now);
  }
  model::Finding finding;
  finding.cls = model::Class::kSwitch;
  finding.subclass = "down";
  finding.state = model::IncidentState::kConfirmed;
  finding.confidence = 0.93;
  finding.culprit = {switch_component(view, index)};
  finding.onset_wall_ns = view.wall_ago(age > 0 ? age : all.oldest_age_now);
  finding.evidence_for.push_back(
      {fmt::format("all {} ports on {} that are seen are down", ports.size(), switch_text(view, index)), "port",
       view.node_name(view.ports[ports[0]].node)});
  say_flows(view, all, finding);
  const std::vector<int> ends(all.processes.begin(), all.processes.end());
  std::vector<int> blocked = waits.blocked_by(ends);
  blocked.insert(blocked.end(), ends.begin(), ends.end());
  set_blocked(view, blocked, finding);
  for (const int process : ends) finding.exonerated.push_back(rank_component(view, process));
  return finding;
}

}  // namespace

std::vector<int> healthy_ports(const View& view, int node, const std::vector<int>& culprits) {
  std::set<int> working, hanging;
  for (const FlowView& flow : view.flows) {
    if (!flow.usable || flow.port == kNone || view.ports[flow.port].node != node) continue;
    if (hangs_on_peer(view, flow))
      hanging.insert(flow.port);
    else if (flow.flow->completed > 0)
      working.insert(flow.port);
  }
  std::vector<int> out;
  for (const int port : working) {
    const bool culprit = std::find(culprits.begin(), culprits.end(), port) != culprits.end();
    if (!culprit && hanging.count(port) == 0 && !view.ports[port].down) out.push_back(port);
  }
  return out;
}

void find_ports_down(const View& view, const WaitGraph& waits, Conclusions& out) {
  std::map<int, Affected> down;
  for (size_t p = 0; p < view.ports.size(); ++p) {
    if (!view.ports[p].down) continue;
    Affected affected = affected_by(view, out, static_cast<int>(p));
    if (!affected.flows.empty()) down.emplace(static_cast<int>(p), std::move(affected));
  }
  std::set<int> told;
  for (const auto& [index, ports] : dead_switches(view, down)) {
    out.findings.push_back(whole_switch(view, waits, index, ports, down));
    told.insert(ports.begin(), ports.end());
  }
  for (const auto& [port, affected] : down) {
    for (const int process : affected.processes) out.explained[process] = 1;
    if (told.count(port) == 0) out.findings.push_back(one_port(view, waits, port, affected));
  }
}

}  // namespace railwitness::diagnose
