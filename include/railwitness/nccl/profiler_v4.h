// ncclProfiler_v4_t (NCCL 2.27): the symbol ncclProfiler_v4. Events are not asked for, so what they look like is not said.
#ifndef RAILWITNESS_NCCL_PROFILER_V4_H_
#define RAILWITNESS_NCCL_PROFILER_V4_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct ProfilerEventV4;
union ProfilerStateV4;

struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* activation_mask, const char* comm_name, uint64_t comm_hash, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** handle, ProfilerEventV4* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, ProfilerStateV4* arguments);
  Result (*finalize)(void* context);
};

static_assert(sizeof(ProfilerV4) == 48 && offsetof(ProfilerV4, name) == 0 && offsetof(ProfilerV4, init) == 8);
static_assert(offsetof(ProfilerV4, start_event) == 16 && offsetof(ProfilerV4, stop_event) == 24);
static_assert(offsetof(ProfilerV4, record_event_state) == 32 && offsetof(ProfilerV4, finalize) == 40);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_PROFILER_V4_H_
