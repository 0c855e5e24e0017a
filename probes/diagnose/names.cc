#include "probes/diagnose/names.h"

#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "probes/model/words.h"

namespace railwitness::diagnose {

std::optional<int32_t> rail_of(const View& view, int port) {
  if (port == kNone || view.ports[port].rail == nullptr || view.ports[port].rail->index < 0) return std::nullopt;
  return view.ports[port].rail->index;
}

model::Component edge_component(const View& view, int port) {
  const PortView& at = view.ports[port];
  model::Component out;
  out.kind = model::ComponentKind::kEdge;
  out.node = view.node_name(at.node);
  out.rail = rail_of(view, port);
  out.device = at.device;
  if (at.port != 0) out.port = at.port;
  if (at.rail != nullptr) out.netdev = at.rail->netdev;
  if (at.node == kNone) out.gid = at.gid;
  if (at.edge != nullptr) {
    out.cable = at.edge->cable;
    out.switch_name = at.edge->switch_name;
    out.switch_port = at.edge->switch_port;
    out.edge_source = at.edge->source;
    out.edge_age_ns = age_now(*view.nodes[at.node].heard, at.edge->seen_mono_ns);
    out.edge_present = at.edge->present;
  }
  return out;
}

model::Component switch_component(const View& view, int switch_index) {
  model::Component out;
  out.kind = model::ComponentKind::kSwitch;
  out.switch_name = view.switches[switch_index].name;
  out.rail = view.switches[switch_index].rail;
  return out;
}

model::Component rank_component(const View& view, int process) {
  model::Component out;
  out.kind = model::ComponentKind::kRank;
  out.node = view.node_name(view.processes[process].node);
  out.rank = view.rank_of(process);
  out.pid = view.processes[process].process->pid;
  return out;
}

model::Component node_component(const View& view, int node) {
  model::Component out;
  out.kind = model::ComponentKind::kNode;
  out.node = view.node_name(node);
  return out;
}

std::string seconds(int64_t ns) {
  return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

std::string port_text(const View& view, int port) {
  if (port == kNone) return "a port that nobody names";
  const PortView& at = view.ports[port];
  if (at.node == kNone) return model::address_text(at.gid);
  if (const auto rail = rail_of(view, port)) return fmt::format("{} rail {}", view.node_name(at.node), *rail);
  return fmt::format("{} {}/{}", view.node_name(at.node), at.device, at.port);
}

std::string switch_text(const View& view, int switch_index) {
  const SwitchView& at = view.switches[switch_index];
  return at.name.empty() && at.rail ? fmt::format("the switch of rail {}", *at.rail) : at.name;
}

std::string process_text(const View& view, int process) {
  const std::string& node = view.node_name(view.processes[process].node);
  if (const auto rank = view.rank_of(process)) return fmt::format("rank {} on {}", *rank, node);
  return fmt::format("process {} on {}", view.processes[process].process->pid, node);
}

std::string pair_text(const View& view, int from, int to) {
  const auto rail = rail_of(view, from);
  if (rail && rail == rail_of(view, to)) {
    return fmt::format("{} to {} on rail {}", view.node_name(view.ports[from].node),
                       view.node_name(view.ports[to].node), *rail);
  }
  return fmt::format("{} to {}", port_text(view, from), port_text(view, to));
}

uint64_t unfinished_posts(const FlowView& flow) {
  const model::Flow& of = *flow.flow;
  return of.posted > of.completed ? of.posted - of.completed : 1;
}

std::string listed(const std::vector<std::string>& names, size_t most) {
  const size_t shown = names.size() > most ? most - 1 : names.size();
  std::string out;
  for (size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

void set_blocked(const View& view, const std::vector<int>& blocked, model::Finding& finding) {
  std::map<int, std::set<int>> by_group;
  for (const int process : blocked) by_group[view.processes[process].group].insert(process);
  if (by_group.empty()) return;
  const auto most = std::max_element(by_group.begin(), by_group.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::set<int32_t> ranks;
  for (const int process : most->second) {
    if (const auto rank = view.rank_of(process)) ranks.insert(*rank);
    const model::Comm* comm = view.processes[process].comm;
    if (comm != nullptr && !finding.comm_hash) finding.comm_hash = comm->hash;
    if (finding.job.empty()) finding.job = view.processes[process].process->job;
  }
  finding.ranks_blocked.assign(ranks.begin(), ranks.end());
  for (const auto& [group, processes] : by_group) {
    if (group == most->first) continue;
    const std::string& job = view.processes[*processes.begin()].process->job;
    finding.evidence_for.push_back(
        {fmt::format("job {} is blocked as well, {} processes", job.empty() ? "without name" : job, processes.size()),
         "wait", view.node_name(view.processes[*processes.begin()].node)});
  }
}

}  // namespace railwitness::diagnose
