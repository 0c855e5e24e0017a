// The profiler slot, for two things: the communicator's identity (v4 and later), and a moment at which net_ib's devices are
// open (late attach). No event is asked for: with an activation mask of 0 NCCL does no work for us.
#ifndef RAILWITNESS_PLUGIN_SHIM_PROFILER_CALLS_H_
#define RAILWITNESS_PLUGIN_SHIM_PROFILER_CALLS_H_

#include "railwitness/nccl/common.h"

#include <cstdint>

namespace railwitness::shim {

using nccl::Result;

struct Comm {
  uint64_t hash;
  int rank, ranks, nodes;
  const char* name;
};

Result begin_profiler(void** context, int* activation_mask, const Comm& comm, nccl::Logger log) noexcept;
Result begin_nameless(void** context, int* activation_mask) noexcept;  // v1 to v3
Result end_profiler(void* context) noexcept;

template <typename Event>
Result start_event(void*, void** handle, Event*) noexcept {
  if (handle) *handle = nullptr;
  return nccl::kSuccess;
}
inline Result stop_event(void*) noexcept { return nccl::kSuccess; }
template <typename State>
Result record_event_state(void*, int, State*) noexcept {
  return nccl::kSuccess;
}

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_PROFILER_CALLS_H_
