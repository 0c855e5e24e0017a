#include "probes/sidecar/node_facts.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "fmt/format.h"

namespace railwitness::sidecar {
namespace {

constexpr int64_t kToldForNs = 300'000'000'000;
constexpr size_t kMaxCoverageNotes = 64;

std::string seconds_text(int64_t span_ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(span_ns) / 1e9);
  return text;
}

void settle_device(const std::vector<model::Rail>& rails, model::Flow& flow) {
  if (flow.device.empty()) return;
  const auto is_its = [&flow](const model::Rail& rail) { return rail.device == flow.device; };
  auto over = std::find_if(rails.begin(), rails.end(), is_its);
  if (over != rails.end() && over->kind == model::RailKind::kVerbs) return;
  if (over == rails.end()) {
    over = std::find_if(rails.begin(), rails.end(), [&](const model::Rail& rail) { return rail.netdev == flow.device; });
  }
  if (over == rails.end()) {
    flow.device.clear();
    return;
  }
  flow.device = over->device;
  flow.port = over->port;  // an interface has one, whatever the job calls it
}

}  // namespace

std::string wall_text(int64_t wall_ns) {
  const time_t seconds = wall_ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void settle_devices(const std::vector<model::Rail>& rails, std::vector<model::Process>& processes) {
  if (rails.empty()) return;  // nothing to compare with
  for (model::Process& process : processes) {
    for (model::Flow& flow : process.flows) settle_device(rails, flow);
  }
}

FlowCount count_flows(const model::Process& process) {
  const auto destroyed =
      std::count_if(process.flows.begin(), process.flows.end(), [](const model::Flow& flow) { return flow.destroyed; });
  return {process.flows.size(), static_cast<size_t>(destroyed), process.state == model::ProcessState::kGone};
}

std::vector<FlowChoice> choose_flows(size_t limit, std::vector<FlowCount> counts) {
  std::vector<FlowChoice> choices(counts.size());
  size_t count = 0;
  for (const FlowCount& process : counts) count += process.all;
  for (size_t i = 0; i < counts.size() && count > limit; ++i) {
    choices[i].without_destroyed = true;
    counts[i].all -= counts[i].destroyed;
    count -= counts[i].destroyed;
  }
  // Then from the largest of the dead, then from the largest of the living: a process that has few keeps them.
  for (const bool gone : {true, false}) {
    while (count > limit) {
      const auto weight = [gone](const FlowCount& process) { return process.gone == gone ? process.all : 0; };
      const auto largest = std::max_element(counts.begin(), counts.end(), [&](const FlowCount& a, const FlowCount& b) {
        return weight(a) < weight(b);
      });
      if (largest == counts.end() || weight(*largest) == 0) break;
      const size_t cut = std::min(count - limit, (largest->all + 1) / 2);
      largest->all -= cut;
      count -= cut;
      choices[static_cast<size_t>(largest - counts.begin())].most = largest->all;
    }
  }
  return choices;
}

namespace {

bool goes(const FlowChoice& choice, const model::Flow& flow) { return choice.without_destroyed && flow.destroyed; }

bool is_outstanding(const model::Flow& flow) {
  return flow.oldest_post_mono_ns || flow.receive_wait_mono_ns || flow.first_error;
}

}  // namespace

void keep_flows(const FlowChoice& choice, std::vector<model::Flow>& flows) {
  std::erase_if(flows, [&choice](const model::Flow& flow) { return goes(choice, flow); });
  if (flows.size() <= choice.most) return;
  std::stable_partition(flows.begin(), flows.end(), is_outstanding);
  flows.resize(choice.most);
}

model::Process copy_with(const FlowChoice& choice, model::Process& process) {
  if (!choice.without_destroyed && process.flows.size() <= choice.most) return process;
  std::vector<model::Flow> flows;
  flows.swap(process.flows);  // out of the way while the rest is copied
  model::Process copy = process;
  flows.swap(process.flows);
  for (const bool outstanding : {true, false}) {
    for (const model::Flow& flow : process.flows) {
      if (copy.flows.size() >= choice.most) return copy;
      if (!goes(choice, flow) && is_outstanding(flow) == outstanding) copy.flows.push_back(flow);
    }
  }
  return copy;
}

size_t bound_flows(size_t limit, std::vector<model::Process>& processes) {
  std::vector<FlowCount> counts;
  for (const model::Process& process : processes) counts.push_back(count_flows(process));
  const std::vector<FlowChoice> choices = choose_flows(limit, counts);
  size_t left_out = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    keep_flows(choices[i], processes[i].flows);
    left_out += counts[i].all - processes[i].flows.size();
  }
  return left_out;
}

size_t bound_processes(std::vector<model::Process>& processes) {
  const size_t before = processes.size();
  if (before > kMaxProcesses) {
    std::stable_partition(processes.begin(), processes.end(), [](const model::Process& process) {
      return process.state != model::ProcessState::kGone;
    });
    processes.resize(kMaxProcesses);
  }
  const size_t each = processes.size() <= kFewProcesses ? 16 : 4;
  for (model::Process& process : processes) {
    if (process.comms.size() > each) {  // lines are taken in turn: those of before may come first
      std::stable_partition(process.comms.begin(), process.comms.end(), [](const model::Comm& comm) { return comm.open; });
      process.comms.resize(each);
    }
    if (process.threads.size() > each) process.threads.resize(each);
  }
  return before - processes.size();
}

std::vector<Note> coverage_notes(const model::NodeFacts& facts, int64_t start_wall_ns) {
  std::vector<Note> notes;
  if (facts.taken_mono_ns - facts.sidecar_start_mono_ns < kToldForNs) {
    notes.emplace_back("sidecar started at " + wall_text(start_wall_ns) + ": what happened before was not seen",
                       Note::Kind::kExpected);
  }
  const bool hidden = std::any_of(facts.processes.begin(), facts.processes.end(), [](const model::Process& process) {
    return process.state == model::ProcessState::kUnknown;
  });
  if (hidden) {
    notes.emplace_back("the state of some processes is not known: another pid namespace has them, or /proc hides them",
                       Note::Kind::kOfAJob);
  }
  for (const model::Process& process : facts.processes) {
    if (!process.alone_begin_mono_ns || !process.alone_end_mono_ns || notes.size() >= kMaxCoverageNotes) continue;
    if (facts.taken_mono_ns - *process.alone_end_mono_ns >= kToldForNs) continue;
    notes.emplace_back("process " + std::to_string(process.pid) + " was unwitnessed for " +
                           seconds_text(*process.alone_end_mono_ns - *process.alone_begin_mono_ns),
                       Note::Kind::kOfAJob);
  }
  return notes;
}

std::vector<std::string> cost_notes(const model::NodeFacts& facts) {
  std::vector<std::string> notes;
  for (const model::Process& process : facts.processes) {
    if (!process.witness_cost || !process.witness_cost->counters_only || process.state == model::ProcessState::kGone) continue;
    if (notes.size() >= kMaxCoverageNotes) break;
    const model::WitnessCost& cost = *process.witness_cost;
    const int64_t since_mono_ns = cost.since_mono_ns.value_or(facts.taken_mono_ns);
    // Nothing that changes from second to second: a note that does would be logged again each time.
    notes.push_back(fmt::format(
        "{}, process {}: witness costs {:.1f} permille of the time of the threads that call it, "
        "RAILWITNESS_COST_MAX_PERMILLE allows {}: counters only since {}",
        process.job.empty() ? "job without a name" : "job " + process.job, process.pid,
        static_cast<double>(cost.since_ppm) / 1000, cost.max_permille,
        wall_text(facts.taken_wall_ns - (facts.taken_mono_ns - since_mono_ns))));
  }
  return notes;
}

}  // namespace railwitness::sidecar
