// ncclProfiler_v3_t (NCCL 2.26): the symbol ncclProfiler_v3. Events are not asked for, so what they look like is not said.
#ifndef RAILWITNESS_NCCL_PROFILER_V3_H_
#define RAILWITNESS_NCCL_PROFILER_V3_H_

#include "railwitness/nccl/common.h"

#include <cstddef>

namespace railwitness::nccl {

struct ProfilerEventV3;
union ProfilerStateV3;

struct ProfilerV3 {
  const char* name;
  Result (*init)(void** context, int* activation_mask);
  Result (*start_event)(void* context, void** handle, ProfilerEventV3* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, ProfilerStateV3* arguments);
  Result (*finalize)(void* context);
};

static_assert(sizeof(ProfilerV3) == 48 && offsetof(ProfilerV3, name) == 0 && offsetof(ProfilerV3, init) == 8);
static_assert(offsetof(ProfilerV3, start_event) == 16 && offsetof(ProfilerV3, stop_event) == 24);
static_assert(offsetof(ProfilerV3, record_event_state) == 32 && offsetof(ProfilerV3, finalize) == 40);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_PROFILER_V3_H_
