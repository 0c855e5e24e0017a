// Putting one node's facts together: what the watches know, kept within the bounds of the bus. Pure, except that it
// asks the watches.
#ifndef RAILWITNESS_PROBES_SIDECAR_NODE_FACTS_H_
#define RAILWITNESS_PROBES_SIDECAR_NODE_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probes/model/facts.h"
#include "probes/sidecar/note.h"

namespace railwitness::sidecar {

// Facts stay below one megabyte of JSON, which is what a NATS server takes unless told otherwise, whatever jobs claim:
// a flow is at most about 800 bytes, a process without its flows at most about 1600.
constexpr size_t kMaxFlows = 800;
constexpr size_t kMaxProcesses = 128;
constexpr size_t kFewProcesses = 64;  // then each may show more of its communicators and threads

// A job may name any device; one that this node does not have is not a device but a claim. A flow on the interface of an
// RDMA device runs over that device's rail.
void settle_devices(const std::vector<model::Rail>& rails, std::vector<model::Process>& processes);

// At most `limit` flows in all: destroyed ones go first, then those of dead processes, then those of the processes that
// have most; of a process, those go first on which nothing is outstanding. Returns how many went.
size_t bound_flows(size_t limit, std::vector<model::Process>& processes);

// The same in steps, for who does not want to copy what goes.
struct FlowCount {
  size_t all = 0, destroyed = 0;
  bool gone = false;  // the process
};
struct FlowChoice {
  bool without_destroyed = false;
  size_t most = SIZE_MAX;
};
FlowCount count_flows(const model::Process& process);
std::vector<FlowChoice> choose_flows(size_t limit, std::vector<FlowCount> counts);
void keep_flows(const FlowChoice& choice, std::vector<model::Flow>& flows);
// `process` is as before afterwards.
model::Process copy_with(const FlowChoice& choice, model::Process& process);

// At most kMaxProcesses, the living first, each with a few communicators and threads. Returns how many processes went.
size_t bound_processes(std::vector<model::Process>& processes);

// "sidecar started at ...: what happened before was not seen", and a sentence for each process about the last span that
// nobody saw, for some minutes.
std::vector<Note> coverage_notes(const model::NodeFacts& facts, int64_t start_wall_ns);

// A sentence for each process whose plugin keeps counters only: what full recording would cost, and since when.
std::vector<std::string> cost_notes(const model::NodeFacts& facts);

std::string wall_text(int64_t wall_ns);  // RFC 3339, UTC, seconds

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_NODE_FACTS_H_
