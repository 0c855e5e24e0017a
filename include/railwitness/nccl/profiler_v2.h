// ncclProfiler_v2_t (NCCL 2.24 and 2.25): the symbol ncclProfiler_v2. Events are not asked for, so what they look like is not said.
#ifndef RAILWITNESS_NCCL_PROFILER_V2_H_
#define RAILWITNESS_NCCL_PROFILER_V2_H_

#include "railwitness/nccl/common.h"

#include <cstddef>

namespace railwitness::nccl {

struct ProfilerEventV2;
union ProfilerStateV2;

struct ProfilerV2 {
  const char* name;
  Result (*init)(void** context, int* activation_mask);
  Result (*start_event)(void* context, void** handle, ProfilerEventV2* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, ProfilerStateV2* arguments);
  Result (*finalize)(void* context);
};

static_assert(sizeof(ProfilerV2) == 48 && offsetof(ProfilerV2, name) == 0 && offsetof(ProfilerV2, init) == 8);
static_assert(offsetof(ProfilerV2, start_event) == 16 && offsetof(ProfilerV2, stop_event) == 24);
static_assert(offsetof(ProfilerV2, record_event_state) == 32 && offsetof(ProfilerV2, finalize) == 40);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_PROFILER_V2_H_
