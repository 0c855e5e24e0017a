// Processes that ended or were stopped while others depend on them. Local facts, so these are confirmed at once; the
// fabric is exonerated, because a stopped process' NIC acknowledges and an ended one's queue pairs are gone.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "probes/diagnose/names.h"
#include "probes/diagnose/rules.h"
#include "probes/diagnose/tomography.h"

namespace railwitness::diagnose {
namespace {

struct Victims {
  std::vector<int> flows;   // of others, that hang on the process
  std::set<int> processes;  // whose these flows are
  int64_t oldest_age_now = 0;
};

Victims victims_of(const View& view, int process) {
  Victims out;
  for (const int own : view.processes[process].flows) {
    const int other = view.flows[own].peer;
    if (other == kNone) continue;
    const FlowView& flow = view.flows[other];
    if (!flow.usable || view.processes[flow.process].stopped || !hangs_on_peer(view, flow)) continue;
    out.flows.push_back(other);
    out.processes.insert(flow.process);
    const int64_t age = std::max({flow.oldest_post_age.value_or(0), flow.receive_wait_age.value_or(0)});
    out.oldest_age_now = std::max(out.oldest_age_now, view.age_now_of(flow.process, age));
  }
  return out;
}

std::string what_hangs(const View& view, int process, const Victims& victims) {
  uint64_t posts = 0;
  int64_t post_age = 0, wait_age = 0;
  for (const int index : victims.flows) {
    const FlowView& flow = view.flows[index];
    if (flow.process != process) continue;
    if (flow.oldest_post_age) {
      posts += unfinished_posts(flow);
      post_age = std::max(post_age, *flow.oldest_post_age);
    }
    wait_age = std::max(wait_age, flow.receive_wait_age.value_or(0));
  }
  std::string out;
  if (post_age > 0) out = fmt::format("{} posts unfinished, oldest {}", posts, seconds(post_age));
  if (wait_age > 0) out += fmt::format("{}nothing received for {}", out.empty() ? "" : ", ", seconds(wait_age));
  return out.empty() ? "its transfers failed" : out;
}

// The edges that the process used: what is beside it, and not the cause.
void exonerate_fabric(const View& view, int process, model::Finding& finding) {
  std::set<int> ports;
  for (const int index : view.processes[process].flows) {
    const int port = view.flows[index].port;
    if (port != kNone && !view.ports[port].down && view.flows[index].flow->role != model::Role::kFlush) {
      ports.insert(port);
    }
  }
  for (const int port : ports) finding.exonerated.push_back(edge_component(view, port));
}

model::Finding about(const View& view, const WaitGraph& waits, int process, const Victims& victims) {
  model::Finding finding;
  finding.state = model::IncidentState::kConfirmed;
  finding.culprit = {rank_component(view, process)};
  finding.job = view.processes[process].process->job;
  for (const int victim : victims.processes) {
    finding.evidence_for.push_back(
        {fmt::format("{} depends on it: {}", process_text(view, victim), what_hangs(view, victim, victims)), "flow",
         view.node_name(view.processes[victim].node)});
    if (finding.evidence_for.size() == 8) break;
  }
  std::vector<int> roots = {process};
  std::vector<int> blocked = waits.blocked_by(roots);
  for (const int victim : victims.processes) {
    if (std::find(blocked.begin(), blocked.end(), victim) == blocked.end()) blocked.push_back(victim);
  }
  set_blocked(view, blocked, finding);
  exonerate_fabric(view, process, finding);
  return finding;
}

std::optional<int64_t> state_age_now(const View& view, int process) {
  const auto& since = view.processes[process].process->state_since_mono_ns;
  if (!since) return std::nullopt;
  return age_now(*view.nodes[view.processes[process].node].heard, *since);
}

void say_state(const View& view, int process, std::string_view verb, model::Finding& finding) {
  const auto age = state_age_now(view, process);
  const model::Process& of = *view.processes[process].process;
  finding.evidence_for.insert(finding.evidence_for.begin(),
                              {fmt::format("{} (pid {}) {}{}", process_text(view, process), of.pid, verb,
                                           age ? fmt::format(", seen for {}", seconds(*age)) : std::string()),
                               "process", view.node_name(view.processes[process].node)});
}

// A process that gave up because retries over a path were exhausted is a victim of the path, unless whom it talked to
// had ended before: then that one is the cause, and this one its echo.
std::vector<int> fatal_flows(const View& view, int process) {
  std::vector<int> out;
  const int64_t ended_age = state_age_now(view, process).value_or(0);
  for (const int index : view.processes[process].flows) {
    const FlowView& flow = view.flows[index];
    if (!flow.error_age || flow.port == kNone || flow.peer_port == kNone) continue;
    const int64_t error_age = view.age_now_of(process, *flow.error_age);
    if (error_age < ended_age) continue;
    const int peer = view.peer_process(index);
    const bool peer_first =
        peer != kNone && view.processes[peer].ended && state_age_now(view, peer).value_or(error_age) >= error_age;
    if (peer_first || probed(view, flow.port, flow.peer_port, error_age) == ProbeWord::kAnswered) continue;
    out.push_back(index);
  }
  return out;
}

// Nobody's facts name an end of its queue pairs: one node alone, that cannot see who depends on the process.
bool sees_no_peer(const View& view, int process) {
  const ProcessView& at = view.processes[process];
  return std::none_of(at.flows.begin(), at.flows.end(), [&](int f) { return view.flows[f].peer != kNone; });
}

std::optional<int64_t> own_unfinished_work(const View& view, int process) {
  std::optional<int64_t> oldest;
  for (const int index : view.processes[process].flows) {
    const FlowView& flow = view.flows[index];
    if (!flow.usable) continue;
    for (const auto& age : {flow.oldest_post_age, flow.receive_wait_age}) {
      if (age && *age > view.thresholds.stopped_ns && age > oldest) oldest = age;
    }
  }
  return oldest;
}

bool any_blocked_ripe(const View& view, const WaitGraph& waits, const std::vector<int>& blocked) {
  return std::any_of(blocked.begin(), blocked.end(), [&](int process) {
    const std::vector<int>& of = waits.of_waiter(process);
    return std::any_of(of.begin(), of.end(), [&](int w) {
      return waits.waits()[w].age >= std::min(view.thresholds.wire_ns, view.thresholds.receive_wait_ns);
    });
  });
}

void add_stopped(const View& view, const WaitGraph& waits, int process, Conclusions& out) {
  const Victims victims = victims_of(view, process);
  const bool waited_for = !victims.flows.empty() || any_blocked_ripe(view, waits, waits.blocked_by({process}));
  const std::optional<int64_t> own = own_unfinished_work(view, process);
  const bool alone = !waited_for && sees_no_peer(view, process) && own;
  if (!waited_for && !alone) return;  // stopped, but idle: not a stall
  model::Finding finding = about(view, waits, process, victims);
  finding.cls = model::Class::kRankHung;
  finding.subclass = "stopped";
  finding.confidence = alone ? 0.6 : 0.95;
  if (alone) {
    finding.state = model::IncidentState::kSuspected;
    finding.evidence_for.push_back(
        {fmt::format("its own work is unfinished for {}; who depends on it is not seen from here", seconds(*own)),
         "coverage", view.node_name(view.processes[process].node)});
  }
  say_state(view, process, "is stopped (state T)", finding);
  finding.onset_wall_ns = view.wall_ago(state_age_now(view, process).value_or(victims.oldest_age_now));
  out.explained[process] = 1;
  for (const int victim : victims.processes) out.explained[victim] = 1;
  out.findings.push_back(std::move(finding));
}

// Alive, with posts unfinished, and no thread asks for completions: whether these arrived cannot be known, and nobody
// would act on them. NCCL's progress thread polls without pause while anything is outstanding. Where the sidecar did not
// get to run in time the process did not either, and that it polls no more is no news.
void add_not_polling(const View& view, const WaitGraph& waits, int process, Conclusions& out) {
  if (view.nodes[view.processes[process].node].late) return;
  std::optional<int64_t> oldest;
  for (const int index : view.processes[process].flows) {
    const FlowView& flow = view.flows[index];
    if (flow.usable && flow.oldest_post_age > oldest) oldest = flow.oldest_post_age;
  }
  if (!oldest || *oldest <= view.thresholds.receive_wait_ns) return;
  const Victims victims = victims_of(view, process);
  model::Finding finding = about(view, waits, process, victims);
  finding.cls = model::Class::kRankHung;
  finding.subclass = "not_polling";
  finding.state = model::IncidentState::kSuspected;
  finding.confidence = 0.6;
  finding.onset_wall_ns = view.wall_ago(view.age_now_of(process, *oldest));
  finding.evidence_for.insert(finding.evidence_for.begin(),
                              {fmt::format("no thread of {} asks for completions, oldest post {}",
                                           process_text(view, process), seconds(*oldest)),
                               "process", view.node_name(view.processes[process].node)});
  out.explained[process] = 1;
  for (const int victim : victims.processes) out.explained[victim] = 1;
  out.findings.push_back(std::move(finding));
}

}  // namespace

bool hangs_on_peer(const View& view, const FlowView& flow) {
  const int64_t patience = std::min(view.thresholds.wire_ns, view.thresholds.receive_wait_ns);
  if (flow.flow->role == model::Role::kFlush) return false;
  return flow.error_age || flow.oldest_post_age.value_or(0) >= patience ||
         flow.receive_wait_age.value_or(0) >= patience;
}

void find_ended(const View& view, const WaitGraph& waits, Conclusions& out) {
  std::map<int, Victims> ended;
  std::set<int> stuck_jobs;
  for (size_t p = 0; p < view.processes.size(); ++p) {
    const ProcessView& at = view.processes[p];
    if (!at.ended || view.nodes[at.node].silent) continue;
    Victims& victims = ended[static_cast<int>(p)] = victims_of(view, static_cast<int>(p));
    if (!victims.flows.empty()) stuck_jobs.insert(at.group);
  }
  for (const auto& [process, victims] : ended) {
    if (stuck_jobs.count(view.processes[process].group) == 0) continue;  // the job is over
    const std::vector<int> fatal = fatal_flows(view, process);
    for (const int index : fatal) out.fatal[index] = 1;  // the rules of ports and wires speak
    if (victims.flows.empty() || !fatal.empty()) continue;
    model::Finding finding = about(view, waits, process, victims);
    finding.cls = model::Class::kRankDead;
    finding.subclass = "exited";
    finding.confidence = 0.97;
    say_state(view, process, "has exited", finding);
    finding.onset_wall_ns = view.wall_ago(state_age_now(view, process).value_or(victims.oldest_age_now));
    out.explained[process] = 1;
    for (const int victim : victims.processes) out.explained[victim] = 1;
    out.findings.push_back(std::move(finding));
  }
}

void find_stopped(const View& view, const WaitGraph& waits, Conclusions& out) {
  for (size_t p = 0; p < view.processes.size(); ++p) {
    const ProcessView& at = view.processes[p];
    if (view.nodes[at.node].silent || at.ended) continue;
    if (at.stopped)
      add_stopped(view, waits, static_cast<int>(p), out);
    else if (!at.polling && !out.explained[p])
      add_not_polling(view, waits, static_cast<int>(p), out);
  }
}

}  // namespace railwitness::diagnose
