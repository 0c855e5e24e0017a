// Making a witness segment: a sealed memfd whose geometry the sidecar remembers itself, because what stands in the
// segment's header belongs to the job from the hand-over on. docs/segment-abi.md.
#ifndef RAILWITNESS_PROBES_RING_SEGMENT_H_
#define RAILWITNESS_PROBES_RING_SEGMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "probes/ring/unique_fd.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {

struct Capacities {
  uint32_t threads = RAILWITNESS_THREAD_CAPACITY, rails = RAILWITNESS_RAIL_CAPACITY, comms = RAILWITNESS_COMM_CAPACITY;
  uint32_t flows = RAILWITNESS_FLOW_CAPACITY, control = RAILWITNESS_CONTROL_CAPACITY;
};

// Where everything lies. Made by geometry(), never read from a segment.
struct Geometry {
  uint32_t thread_capacity = 0, rail_capacity = 0, comm_capacity = 0, flow_capacity = 0, control_capacity = 0;
  uint64_t writer_offset = 0, threads_offset = 0, rails_offset = 0, comms_offset = 0;
  uint64_t identities_offset = 0, states_offset = 0, histograms_offset = 0, records_offset = 0, control_offset = 0;
  uint64_t segment_bytes = 0;  // a multiple of the page size
};

Geometry geometry(const Capacities& capacities = {});

// Of part 0, the first segment of a process, or of a further one, which has flows only. Below RAILWITNESS_PARTS.
Capacities capacities_of(uint32_t part);

struct Segment {
  UniqueFd fd;
  Geometry geometry;
  uint32_t part = 0;
  uint32_t generation = 0;
  int64_t created_mono_ns = 0;
};

// `boot_id` as in /proc/sys/kernel/random/boot_id; anything else leaves the header's field zero.
absl::StatusOr<Segment> make_segment(uint32_t generation, const std::string& boot_id, uint32_t part = 0);

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_SEGMENT_H_
