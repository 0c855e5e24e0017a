// One mapped segment and where its tables lie. Made by the helper thread or at init, then never freed: threads of NCCL may
// hold a pointer to it at any time. A process has as many as it has met sidecars (100 bytes each); their pages are given
// back (empty), their addresses are not.
#ifndef RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_
#define RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_

#include "railwitness/abi/segment.h"
#include "railwitness/base/status.h"

#include <cstdint>

namespace railwitness::witness {

struct Memory {
  char* threads;  // first member: an empty poll reads it
  char* base;
  uint64_t bytes;
  uint32_t control_capacity;
  mutable bool is_empty;  // under the recorder's mutex
  railwitness_writer* writer;
  railwitness_rail* rails;
  railwitness_comm* comms;
  railwitness_identity* identities;
  railwitness_state* states;
  railwitness_histogram* histograms;
  railwitness_record* records;
  railwitness_control* control;
  const Memory* previous;  // what was written before this one
};

// Private memory, for as long as there is no sidecar. Null: no memory.
Memory* map_private();

// A new file, for tests and post-mortems.
Memory* map_file(const char* path, Status& status);

// A segment made by the sidecar. Takes a copy of the header, checks it and everything that could harm us: a descriptor
// whose fstat hangs (no seals), that can shrink under us (SIGBUS), that is too small. Does not close `fd`.
Memory* map_sidecar(int fd, uint64_t segment_bytes, Status& status);

// Gives the pages back but keeps the address: a thread that was stopped in the middle of a store finishes it harmlessly.
void empty(const Memory& memory);  // idempotent

// Only for memory that no thread can hold: never published, or at the end of a test.
void unmap(const Memory* memory);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_MEMORY_H_
