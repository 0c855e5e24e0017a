// What a process writes into: its first segment and the further ones of flows alone ("parts"), mapped, and where their
// tables lie. Made by the helper thread or at init, then never freed: threads of NCCL may hold a pointer to it at any time.
// A process has as many as it has met sidecars (2.3 KiB each); their pages are given back (empty), their addresses are not.
#ifndef RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_
#define RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_

#include "railwitness/abi/segment.h"
#include "railwitness/base/status.h"

#include <cstdint>

namespace railwitness::witness {

inline constexpr uint32_t kParts = RAILWITNESS_PARTS;
inline constexpr uint32_t kMostFlows = RAILWITNESS_MOST_FLOWS;

constexpr uint32_t first_flow_of(uint32_t part) { return RAILWITNESS_PART_FIRST_FLOW(part); }

constexpr uint32_t part_of(uint32_t flow) {
  uint32_t part = 0;
  while (part + 1 < kParts && flow >= first_flow_of(part + 1)) part++;
  return part;
}

// One mapped segment.
struct Part {
  char* base;
  uint64_t bytes;
  uint32_t number;
  bool is_read;  // somebody has its descriptor or file
  railwitness_writer* writer;
  railwitness_identity* identities;
  railwitness_state* states;
  railwitness_histogram* histograms;
  railwitness_record* records;
};

// How calls are recorded at the moment. A memory has a name for each: the hot path compares one pointer, finds another
// name than the one its flow has entered, and leaves for the rare path, which looks what is asked for. So a change costs
// the frequent calls nothing. cost.h.
enum class Detail : uint8_t {
  kFull,
  kTimed,     // in full, and each call is timed
  kCounters,  // the clock is not read: stamps are of the helper thread's last tick; no histograms
};

struct Memory {
  char* threads;  // first member: an empty poll reads it
  uint32_t control_capacity;
  mutable bool is_empty;  // under the recorder's mutex
  railwitness_rail* rails;
  railwitness_comm* comms;
  railwitness_control* control;
  // Of part 0.
  railwitness_writer* writer;
  railwitness_identity* identities;
  railwitness_state* states;
  railwitness_histogram* histograms;
  railwitness_record* records;
  const Memory* previous;  // what was written before this one
  const Memory* base;      // this one itself, or what it is another name of; of all names only the base has parts
  Detail detail;
  // Under the recorder's mutex, once published: parts are added, never taken away.
  mutable uint32_t part_count;
  mutable Part parts[kParts];
};

// The lines of one flow, in the part it belongs to. That part must be there.
struct Lines {
  railwitness_identity* identity;
  railwitness_state* state;
  railwitness_histogram* histogram;
  railwitness_record* records;
};

inline Lines lines_of(const Memory& memory, uint32_t flow) {
  const Part& part = memory.parts[part_of(flow)];
  const uint32_t line = flow - first_flow_of(part.number);
  return {&part.identities[line], &part.states[line], &part.histograms[line],
          &part.records[uint64_t{line} * RAILWITNESS_RECORDS_PER_FLOW]};
}

// The name of `base` for this way of recording; the base itself is the one for kFull.
inline const Memory* name_of(const Memory& base, Detail detail) { return &base + static_cast<int>(detail); }

// Private memory, for as long as there is no sidecar. Null: no memory.
Memory* map_private();
bool map_private_part(uint32_t number, Part& part);

// A new file, for tests and post-mortems; further parts have `.NUMBER` behind the name.
Memory* map_file(const char* path, Status& status);
Status map_file_part(const char* path, uint32_t number, Part& part);

// A segment made by the sidecar. Takes a copy of the header, checks it and everything that could harm us: a descriptor
// whose fstat hangs (no seals), that can shrink under us (SIGBUS), that is too small. Does not close `fd`.
Memory* map_sidecar(int fd, uint64_t segment_bytes, Status& status);
Status map_sidecar_part(int fd, uint64_t segment_bytes, uint32_t number, Part& part);

// Gives the pages back but keeps the address: a thread that was stopped in the middle of a store finishes it harmlessly.
void empty(const Memory& memory);  // idempotent

// In a forked child: what it goes on writing is its own from now on, and stays out of what others read. A system call a part.
void leave_to_parent(const Memory& memory);

// Only for memory that no thread can hold: never published, or at the end of a test.
void unmap(const Memory* memory);
void unmap_part(const Part& part);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_
