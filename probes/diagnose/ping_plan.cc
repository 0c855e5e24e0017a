// Which pairs of nodes to probe, so that the suspects of the findings can be told apart.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/names.h"
#include "probes/diagnose/view.h"
#include "probes/diagnose/wait_graph.h"

namespace railwitness::diagnose {
namespace {

constexpr size_t kMaxRequests = 64;
constexpr size_t kWitnesses = 3;

struct Answering {
  std::string node;
  const model::PingPort* port = nullptr;
};

using Directed = std::pair<int, int>;  // indices into the rail's answering nodes

class Planner {
 public:
  Planner(const View& view, uint64_t id) : id_(id) {
    for (const NodeView& node : view.nodes) {
      if (node.silent) continue;
      for (const model::PingPort& port : node.heard->facts.ping_ports) {
        for (const model::Rail& rail : node.heard->facts.rails) {
          if (rail.index >= 0 && rail.device == port.device && rail.port == port.port) {
            answering_[rail.index].push_back({node.heard->facts.node, &port});
          }
        }
      }
    }
  }

  void suspect(int32_t rail, const std::string& node) { suspects_[rail].insert(node); }
  // A pair that is worth a probe by itself: somebody waits over it.
  void pair(int32_t rail, const std::string& a, const std::string& b) { pairs_[rail].insert({a, b}); }

  std::vector<model::PingRequest> plan() {
    std::set<int32_t> rails;
    for (const auto& [rail, nodes] : suspects_) rails.insert(rail);
    size_t left = kMaxRequests, rails_left = rails.size();
    for (const int32_t rail : rails) {
      const size_t share = left / rails_left--;
      left -= plan_rail(rail, share);
    }
    for (const auto& [rail, pairs] : pairs_) {
      if (rails.count(rail) == 0) plan_pairs(rail, pairs);
    }
    return std::move(out_);
  }

 private:
  // The pairs in order of worth: each suspect with its first witness, then its second ..., then witnesses with each
  // other. A cut at any place leaves something that can be concluded from.
  std::vector<Directed> by_worth(const std::vector<Answering>& nodes, const std::set<std::string>& suspects) const {
    const int n = static_cast<int>(nodes.size());
    std::vector<Directed> out;
    const auto add = [&](int a, int b) {
      for (const Directed& pair : {Directed{a, b}, Directed{b, a}}) {
        if (a != b && std::find(out.begin(), out.end(), pair) == out.end()) out.push_back(pair);
      }
    };
    std::vector<int> suspected, witnesses;
    for (int i = 0; i < n; ++i) (suspects.count(nodes[i].node) != 0 ? suspected : witnesses).push_back(i);
    const std::vector<int>& asked = witnesses.size() < 2 ? suspected : witnesses;  // all suspected: each other
    for (size_t k = 0; k < kWitnesses && out.size() < kMaxRequests; ++k) {
      for (size_t s = 0; s < suspected.size() && !asked.empty(); ++s) {
        add(suspected[s], asked[(s + k + 1) % asked.size()]);
      }
      if (k == 0 && witnesses.size() >= 2) add(witnesses[0], witnesses[1]);
    }
    for (size_t a = 0; a < std::min(witnesses.size(), kWitnesses + 1); ++a) {
      add(witnesses[a], witnesses[(a + 1) % witnesses.size()]);
    }
    return out;
  }

  size_t plan_rail(int32_t rail, size_t share) {
    const std::vector<Answering>& nodes = answering_[rail];
    const int n = static_cast<int>(nodes.size());
    std::vector<Directed> pairs;
    if (n <= 8 && static_cast<size_t>(n) * static_cast<size_t>(std::max(n - 1, 0)) <= share) {
      for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) {
          if (a != b) pairs.emplace_back(a, b);
        }
      }
    } else {
      pairs = by_worth(nodes, suspects_[rail]);
      if (pairs.size() > share) pairs.resize(share);
    }
    for (const auto& [a, b] : pairs) request(nodes[a], nodes[b]);
    return pairs.size();
  }

  void plan_pairs(int32_t rail, const std::set<std::pair<std::string, std::string>>& pairs) {
    const std::vector<Answering>& nodes = answering_[rail];
    const auto find = [&](const std::string& name) {
      return std::find_if(nodes.begin(), nodes.end(), [&](const Answering& at) { return at.node == name; });
    };
    for (const auto& [a, b] : pairs) {
      const auto from = find(a), to = find(b);
      if (from == nodes.end() || to == nodes.end()) continue;
      request(*from, *to);
      request(*to, *from);
    }
  }

  void request(const Answering& from, const Answering& to) {
    if (out_.size() < kMaxRequests && from.node != to.node) {
      out_.push_back({id_, from.node, from.port->device, to.node, *to.port});
    }
  }

  const uint64_t id_;
  std::map<int32_t, std::vector<Answering>> answering_;
  std::map<int32_t, std::set<std::string>> suspects_;
  std::map<int32_t, std::set<std::pair<std::string, std::string>>> pairs_;
  std::vector<model::PingRequest> out_;
};

bool to_be_told_apart(const model::Finding& finding) {
  switch (finding.cls) {
    case model::Class::kLink:
    case model::Class::kSwitch:
      return finding.subclass != "port_down" && finding.subclass != "down";
    case model::Class::kUnknown:
      return true;
    case model::Class::kWait:
      return finding.subclass == "cycle";
    default:
      return false;
  }
}

void suspect_component(const View& view, const model::Component& component, Planner& planner) {
  if (component.kind == model::ComponentKind::kEdge && component.rail) planner.suspect(*component.rail, component.node);
  if (component.kind != model::ComponentKind::kSwitch) return;
  for (size_t p = 0; p < view.ports.size(); ++p) {
    const PortView& port = view.ports[p];
    const auto rail = rail_of(view, static_cast<int>(p));
    if (!rail || port.switch_index == kNone) continue;
    const SwitchView& at = view.switches[port.switch_index];
    if (at.name == component.switch_name && (!at.name.empty() || at.rail == component.rail)) {
      planner.suspect(*rail, view.node_name(port.node));
    }
  }
}

// Waits for a rank that seems to have nothing to wait for itself: its clear-to-send may have been lost.
void probe_waits(const View& view, const std::vector<model::Finding>& findings, Planner& planner) {
  std::set<std::pair<std::string, int32_t>> waited_for;
  for (const model::Finding& finding : findings) {
    if (finding.cls != model::Class::kWait || finding.subclass == "cycle") continue;
    for (const model::Component& c : finding.culprit) {
      if (c.pid) waited_for.insert({c.node, *c.pid});
    }
  }
  if (waited_for.empty()) return;
  const WaitGraph graph(view);
  for (const Wait& wait : graph.waits()) {
    if (!wait.ripe || wait.arriving || wait.on == kNone) continue;
    const ProcessView& on = view.processes[wait.on];
    if (waited_for.count({view.node_name(on.node), on.process->pid}) == 0) continue;
    const FlowView& flow = view.flows[wait.flow];
    const auto rail = rail_of(view, flow.port);
    if (!rail || rail != rail_of(view, flow.peer_port)) continue;
    planner.pair(*rail, view.node_name(view.ports[flow.port].node), view.node_name(view.ports[flow.peer_port].node));
  }
}

}  // namespace

std::vector<model::PingRequest> plan_pings(const std::vector<model::Heard>& nodes,
                                           const std::vector<model::Finding>& findings, const Thresholds& thresholds,
                                           uint64_t id) {
  const View view = build_view(nodes, thresholds, 0);
  Planner planner(view, id);
  for (const model::Finding& finding : findings) {
    if (!to_be_told_apart(finding)) continue;
    for (const model::Component& component : finding.culprit) suspect_component(view, component, planner);
    // A stall without suspect: the rails that were cleared stay under watch.
    if (finding.cls != model::Class::kUnknown) continue;
    for (const model::Component& component : finding.exonerated) suspect_component(view, component, planner);
  }
  probe_waits(view, findings, planner);
  return planner.plan();
}

}  // namespace railwitness::diagnose
