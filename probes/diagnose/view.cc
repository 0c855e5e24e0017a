#include "probes/diagnose/view.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"

namespace railwitness::diagnose {
namespace {

// Ages end here, so that sums of several cannot overflow, whatever a clock says.
constexpr int64_t kMaxAgeNs = int64_t{10} * 365 * 86'400 * 1'000'000'000;

int64_t bounded_age(int64_t age) {
  return std::clamp<int64_t>(age, 0, kMaxAgeNs);
}

constexpr uint32_t kRetryExceeded = 12;  // IBV_WC_RETRY_EXC_ERR: the path or the other end did not answer

constexpr int64_t kProbeReadyNs = 1'000'000'000;
constexpr int64_t kLateNs = 500'000'000;         // half the time that a probe waits for its answer

// Honest facts have two flows of one name at most, an ended one and its successor; more would only cost time.
constexpr size_t kMaxNamesakes = 16;

// Lower case, and empty for the zero GID: that is how verbs says "none".
std::string normal_gid(const std::string& gid) {
  std::string out = gid;
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return out.find_first_not_of("0:") == std::string::npos ? std::string() : out;
}

// Groups that grow together; the smaller index represents.
class UnionFind {
 public:
  explicit UnionFind(size_t n) : parent_(n) {
    for (size_t i = 0; i < n; ++i) parent_[i] = static_cast<int>(i);
  }
  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(int a, int b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

class Builder {
 public:
  Builder(const std::vector<model::Heard>& nodes, const Thresholds& thresholds, int64_t now_wall_ns) {
    view_.thresholds = thresholds;
    view_.now_wall_ns = now_wall_ns;
    add_nodes(nodes);
    for (size_t n = 0; n < view_.nodes.size(); ++n) add_ports(static_cast<int>(n));
    name_switches();
    for (size_t n = 0; n < view_.nodes.size(); ++n) add_processes(static_cast<int>(n));
    join_flows();
    group_processes();
    for (size_t n = 0; n < view_.nodes.size(); ++n) add_pings(static_cast<int>(n));
    keep_latest_pings();
  }
  View take() && { return std::move(view_); }

 private:
  // A node heard twice is believed as it spoke last.
  void add_nodes(const std::vector<model::Heard>& nodes) {
    std::map<std::string, int> by_name;
    for (const model::Heard& heard : nodes) {
      const auto [at, is_new] = by_name.emplace(heard.facts.node, static_cast<int>(view_.nodes.size()));
      if (is_new)
        view_.nodes.push_back({&heard, false});
      else if (heard.age_ns < view_.nodes[at->second].heard->age_ns)
        view_.nodes[at->second].heard = &heard;
    }
    for (NodeView& node : view_.nodes) {
      node.silent = node.heard->age_ns > view_.thresholds.node_silent_ns;
      node.late = is_late(*node.heard);
      if (node.silent) view_.blind.push_back(node.heard->facts.node);
    }
  }

  int add_port(int node, const std::string& device, uint8_t port) {
    view_.ports.push_back({});
    PortView& out = view_.ports.back();
    out.node = node;
    out.device = device;
    out.port = port;
    const int index = static_cast<int>(view_.ports.size()) - 1;
    ports_.emplace(std::tuple(node, device, int{port}), index);
    return index;
  }

  int port_of(int node, const std::string& device, uint8_t port) {
    if (device.empty()) return kNone;
    const auto found = ports_.find(std::tuple(node, device, int{port}));
    return found != ports_.end() ? found->second : add_port(node, device, port);
  }

  void add_gid(const std::string& gid, int port) {
    std::vector<int>& ports = gids_[gid];
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
  }

  void add_ports(int node) {
    const model::NodeFacts& facts = view_.nodes[node].heard->facts;
    for (const model::Rail& rail : facts.rails) {
      const int index = port_of(node, rail.device, rail.port);
      if (index == kNone) continue;
      PortView& port = view_.ports[index];
      port.rail = &rail;
      // Silence ages: a port that was down when a node spoke last may be up.
      port.down = !view_.nodes[node].silent && !rail.state.empty() && rail.state.find("ACTIVE") == std::string::npos;
      for (const std::string& gid : rail.gids) {
        if (std::string g = normal_gid(gid); !g.empty()) add_gid(g, index);
      }
      for (const model::Edge& edge : facts.edges) {
        const bool by_device = edge.device == rail.device && edge.port == rail.port;
        if (by_device || (!edge.netdev.empty() && edge.netdev == rail.netdev)) port.edge = &edge;
      }
    }
    for (const model::PingPort& answering : facts.ping_ports) {
      const int index = port_of(node, answering.device, answering.port);
      if (std::string g = normal_gid(answering.gid); index != kNone && !g.empty()) add_gid(g, index);
    }
  }

  static std::string switch_key(const model::Edge& edge) {
    return edge.switch_id.empty() ? edge.switch_name : edge.switch_id;
  }

  // Ports whose switch nobody names belong to the one that the rail's other ports name, if these agree; else to "the
  // switch of this rail".
  void name_switches() {
    std::map<std::string, int> by_key;
    std::map<int32_t, std::vector<int>> named_of_rail;
    const auto intern = [&](const std::string& key, SwitchView value) {
      const auto [at, is_new] = by_key.emplace(key, static_cast<int>(view_.switches.size()));
      if (is_new) view_.switches.push_back(std::move(value));
      return at->second;
    };
    for (PortView& port : view_.ports) {
      if (port.edge == nullptr || switch_key(*port.edge).empty()) continue;
      const std::optional<int32_t> rail = rail_number(port);
      const std::string& name = port.edge->switch_name.empty() ? port.edge->switch_id : port.edge->switch_name;
      port.switch_index = intern("n" + switch_key(*port.edge), SwitchView{name, rail});
      if (!rail) continue;
      std::vector<int>& named = named_of_rail[*rail];
      if (std::find(named.begin(), named.end(), port.switch_index) == named.end()) named.push_back(port.switch_index);
    }
    for (PortView& port : view_.ports) {
      const std::optional<int32_t> rail = rail_number(port);
      if (port.switch_index != kNone || !rail) continue;
      const std::vector<int>& named = named_of_rail[*rail];
      port.switch_index = named.size() == 1 ? named[0] : intern(fmt::format("r{}", *rail), SwitchView{"", rail});
    }
  }

  static std::optional<int32_t> rail_number(const PortView& port) {
    if (port.rail == nullptr || port.rail->index < 0) return std::nullopt;
    return port.rail->index;
  }

  void add_processes(int node) {
    const NodeView& at = view_.nodes[node];
    for (const model::Process& process : at.heard->facts.processes) {
      ProcessView out;
      out.process = &process;
      out.node = node;
      out.ended = process.state == model::ProcessState::kGone || process.state == model::ProcessState::kZombie;
      out.stopped = process.state == model::ProcessState::kStopped && process.state_since_mono_ns &&
                    age_when_spoken(*at.heard, *process.state_since_mono_ns) > view_.thresholds.stopped_ns;
      for (const model::Comm& comm : process.comms) {
        if ((comm.open || out.ended) && (out.comm == nullptr || comm.nranks > out.comm->nranks)) out.comm = &comm;
      }
      out.polling = polls(*at.heard, process);
      view_.processes.push_back(std::move(out));
      add_flows(static_cast<int>(view_.processes.size()) - 1);
    }
  }

  bool polls(const model::Heard& heard, const model::Process& process) const {
    bool known = false;
    for (const model::CallThread& thread : process.threads) {
      if (thread.polls == 0 || !thread.last_change_mono_ns) continue;
      known = true;
      if (age_when_spoken(heard, *thread.last_change_mono_ns) < view_.thresholds.wire_ns) return true;
    }
    return !known;
  }

  void add_flows(int process) {
    const int node = view_.processes[process].node;
    const model::Heard& heard = *view_.nodes[node].heard;
    const auto spoken = [&](const std::optional<int64_t>& at) {
      return at ? std::optional(age_when_spoken(heard, *at)) : std::nullopt;
    };
    for (const model::Flow& flow : view_.processes[process].process->flows) {
      FlowView out;
      out.flow = &flow;
      out.process = process;
      out.port = port_of(node, flow.device, flow.port);
      if (out.port == kNone) out.port = port_of_gid(normal_gid(flow.local_gid), kNone);
      out.usable = !view_.nodes[node].silent && !view_.processes[process].ended && !flow.destroyed;
      out.oldest_post_age = spoken(flow.oldest_post_mono_ns);
      out.receive_wait_age = spoken(flow.receive_wait_mono_ns);
      if (flow.first_error && flow.first_error->status == kRetryExceeded) {
        out.error_age = age_when_spoken(heard, flow.first_error->mono_ns);
      }
      if (flow.last_completion_mono_ns) out.last_completion_age_now = age_now(heard, *flow.last_completion_mono_ns);
      view_.flows.push_back(out);
      view_.processes[process].flows.push_back(static_cast<int>(view_.flows.size()) - 1);
    }
  }

  // Link-local GIDs may repeat from rail to rail: the one on `near`'s rail is meant then.
  int port_of_gid(const std::string& gid, int near) {
    const auto found = gids_.find(gid);
    if (gid.empty() || found == gids_.end()) return kNone;
    if (found->second.size() == 1) return found->second[0];
    if (near == kNone) return kNone;
    int match = kNone;
    for (const int port : found->second) {
      if (rail_number(view_.ports[port]) != rail_number(view_.ports[near])) continue;
      if (match != kNone) return kNone;
      match = port;
    }
    return match;
  }

  // --- flow ends

  static std::string gid_key(const std::string& gid, uint32_t qpn) { return fmt::format("{}#{}", gid, qpn); }
  static std::string lid_key(uint16_t lid, uint32_t qpn) { return fmt::format("lid{}#{}", lid, qpn); }

  static std::string peer_key(const model::Flow& flow) {
    if (!flow.peer_qpn) return {};
    if (const std::string gid = normal_gid(flow.peer_gid); !gid.empty()) return gid_key(gid, *flow.peer_qpn);
    return flow.peer_lid != 0 ? lid_key(flow.peer_lid, *flow.peer_qpn) : std::string();
  }

  static bool is_at(const model::Flow& flow, const std::string& key) {
    if (const std::string gid = normal_gid(flow.local_gid); !gid.empty() && gid_key(gid, flow.qpn) == key) return true;
    return flow.lid != 0 && lid_key(flow.lid, flow.qpn) == key;
  }

  void join_flows() {
    std::unordered_map<std::string, std::vector<int>> at;
    for (size_t i = 0; i < view_.flows.size(); ++i) {
      const model::Flow& flow = *view_.flows[i].flow;
      if (const std::string gid = normal_gid(flow.local_gid); !gid.empty()) {
        at[gid_key(gid, flow.qpn)].push_back(static_cast<int>(i));
      }
      if (flow.lid != 0) at[lid_key(flow.lid, flow.qpn)].push_back(static_cast<int>(i));
    }
    std::vector<int> choice(view_.flows.size(), kNone);
    for (size_t i = 0; i < view_.flows.size(); ++i) {
      const std::string key = peer_key(*view_.flows[i].flow);
      const auto found = at.find(key);
      if (!key.empty() && found != at.end()) choice[i] = choose_end(static_cast<int>(i), found->second);
    }
    for (size_t i = 0; i < view_.flows.size(); ++i) {
      FlowView& flow = view_.flows[i];
      if (choice[i] != kNone && choice[choice[i]] == static_cast<int>(i)) flow.peer = choice[i];
      flow.peer_port =
          flow.peer != kNone ? view_.flows[flow.peer].port : peer_port_by_gid(normal_gid(flow.flow->peer_gid), flow);
    }
  }

  // Queue pair numbers are used again, so the same names may stand in the facts of a process that ended: the living one
  // is meant, then the one on the same rail. What is still ambiguous is not joined; a job can claim any number.
  int choose_end(int self, const std::vector<int>& candidates) const {
    if (candidates.size() > kMaxNamesakes) return kNone;
    int best = kNone, best_score = -1;
    bool unique = false;
    const FlowView& mine = view_.flows[self];
    for (const int other : candidates) {
      const FlowView& theirs = view_.flows[other];
      if (theirs.process == mine.process || !is_at(*mine.flow, peer_key(*theirs.flow))) continue;
      const bool ended = view_.processes[theirs.process].ended;
      if (theirs.flow->destroyed && !ended) continue;  // closed on purpose
      int score = ended ? 0 : 2;
      if (mine.port != kNone && theirs.port != kNone &&
          rail_number(view_.ports[mine.port]) == rail_number(view_.ports[theirs.port])) {
        ++score;
      }
      if (score < best_score) continue;
      unique = score > best_score;
      best = other;
      best_score = score;
    }
    return unique ? best : kNone;
  }

  int peer_port_by_gid(const std::string& gid, const FlowView& flow) {
    if (gid.empty()) return kNone;
    if (const int known = port_of_gid(gid, flow.port); known != kNone) return known;
    if (gids_.count(gid) != 0) return kNone;  // several, and nothing tells which
    const auto [at, is_new] = strangers_.emplace(gid, kNone);
    if (is_new) {
      view_.ports.push_back({});
      view_.ports.back().gid = gid;
      at->second = static_cast<int>(view_.ports.size()) - 1;
    }
    return at->second;
  }

  void group_processes() {
    UnionFind groups(view_.processes.size());
    for (const FlowView& flow : view_.flows) {
      if (flow.peer != kNone) groups.join(flow.process, view_.flows[flow.peer].process);
    }
    std::map<std::pair<uint64_t, int32_t>, int> by_comm;
    for (size_t p = 0; p < view_.processes.size(); ++p) {
      for (const model::Comm& comm : view_.processes[p].process->comms) {
        const auto [at, is_new] = by_comm.emplace(std::pair(comm.hash, comm.nranks), static_cast<int>(p));
        if (!is_new) groups.join(at->second, static_cast<int>(p));
      }
    }
    for (size_t p = 0; p < view_.processes.size(); ++p) view_.processes[p].group = groups.find(static_cast<int>(p));
  }

  // --- pings

  int ping_target(const model::Ping& ping, int from) {
    const int by_gid = port_of_gid(normal_gid(ping.to_gid), from);
    if (by_gid != kNone) return by_gid;
    for (size_t p = 0; p < view_.ports.size(); ++p) {  // InfiniBand without GID: the node's port on the same rail
      const PortView& port = view_.ports[p];
      if (port.node == kNone || view_.node_name(port.node) != ping.to_node) continue;
      if (rail_number(port) && rail_number(port) == rail_number(view_.ports[from])) return static_cast<int>(p);
    }
    return kNone;
  }

  void add_pings(int node) {
    const NodeView& at = view_.nodes[node];
    if (at.silent) return;
    for (const model::Ping& ping : at.heard->facts.pings) {
      PingView out;
      out.age_now = age_now(*at.heard, ping.mono_ns);
      if (!ping.problem.empty() || ping.sent == 0 || out.age_now > view_.thresholds.ping_fresh_ns) continue;
      // Half of them lost is neither healthy nor broken.
      if (ping.received != 0 && uint64_t{ping.received} * 2 < ping.sent) continue;
      out.answered = ping.received != 0;
      out.from = device_port(node, ping.device);
      if (out.from == kNone) continue;
      out.to = ping_target(ping, out.from);
      if (out.to == kNone || out.to == out.from) continue;
      // A sidecar that did not get to run neither answers nor notices an answer in time.
      if (!out.answered && is_late(*at.heard)) continue;
      if (out.answered || could_have_answered(out)) view_.pings.push_back(out);
    }
  }

  static bool is_late(const model::Heard& heard) { return heard.facts.late_ns > kLateNs; }

  // Silence speaks for the path only if the other end's sidecar was there to answer: it announces a queue pair for
  // probes on that port, had it for a second before the probe, and has spoken since.
  bool could_have_answered(const PingView& ping) const {
    const PortView& port = view_.ports[ping.to];
    if (port.node == kNone || view_.nodes[port.node].silent) return false;
    const model::Heard& other = *view_.nodes[port.node].heard;
    if (bounded_age(other.age_ns) > ping.age_now || is_late(other)) return false;
    if (age_now(other, other.facts.sidecar_start_mono_ns) < ping.age_now + kProbeReadyNs) return false;
    const auto& answering = other.facts.ping_ports;
    return std::any_of(answering.begin(), answering.end(),
                       [&](const model::PingPort& at) { return at.device == port.device && at.port == port.port; });
  }

  int device_port(int node, const std::string& device) const {
    for (const auto& [key, index] : ports_) {
      if (std::get<0>(key) == node && std::get<1>(key) == device) return index;
    }
    return kNone;
  }

  void keep_latest_pings() {
    std::map<std::pair<int, int>, PingView> latest;
    for (const PingView& ping : view_.pings) {
      const auto [at, is_new] = latest.emplace(std::pair(ping.from, ping.to), ping);
      if (!is_new && ping.age_now < at->second.age_now) at->second = ping;
    }
    view_.pings.clear();
    for (const auto& [pair, ping] : latest) view_.pings.push_back(ping);
  }

  View view_;
  std::map<std::tuple<int, std::string, int>, int> ports_;
  std::unordered_map<std::string, std::vector<int>> gids_;
  std::unordered_map<std::string, int> strangers_;
};

}  // namespace

int64_t age_when_spoken(const model::Heard& heard, int64_t mono_ns) {
  int64_t age = 0;
  if (__builtin_sub_overflow(heard.facts.taken_mono_ns, mono_ns, &age)) {
    return heard.facts.taken_mono_ns > mono_ns ? kMaxAgeNs : 0;
  }
  return bounded_age(age);
}

int64_t age_now(const model::Heard& heard, int64_t mono_ns) {
  return bounded_age(age_when_spoken(heard, mono_ns) + bounded_age(heard.age_ns));
}

std::optional<int32_t> View::rank_of(int process) const {
  if (process == kNone || processes[process].comm == nullptr) return std::nullopt;
  return processes[process].comm->rank;
}

const std::string& View::node_name(int node) const {
  static const std::string kEmpty;
  return node == kNone ? kEmpty : nodes[node].heard->facts.node;
}

int64_t View::age_now_of(int process, int64_t age_when_it_spoke) const {
  return bounded_age(age_when_it_spoke + bounded_age(nodes[processes[process].node].heard->age_ns));
}

int64_t View::wall_ago(int64_t age) const {
  int64_t at = 0;
  return __builtin_sub_overflow(now_wall_ns, age, &at) ? 0 : at;
}

bool View::peer_spoke_since(int flow, int64_t age_now) const {
  const int peer = peer_process(flow);
  if (peer == kNone) return true;
  const NodeView& node = nodes[processes[peer].node];
  return node.silent || bounded_age(node.heard->age_ns) + thresholds.stopped_ns < age_now;
}

View build_view(const std::vector<model::Heard>& nodes, const Thresholds& thresholds, int64_t now_wall_ns) {
  return Builder(nodes, thresholds, now_wall_ns).take();
}

int find_port(const View& view, int node, const std::string& device, int port) {
  for (size_t i = 0; i < view.ports.size(); ++i) {
    const PortView& at = view.ports[i];
    if (at.node == node && at.device == device && at.port == port) return static_cast<int>(i);
  }
  return kNone;
}

}  // namespace railwitness::diagnose
