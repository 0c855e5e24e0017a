// ncclProfiler_v1_t (NCCL 2.23): the symbol ncclProfiler_v1. Events are not asked for, so what they look like is not said.
#ifndef RAILWITNESS_NCCL_PROFILER_V1_H_
#define RAILWITNESS_NCCL_PROFILER_V1_H_

#include "railwitness/nccl/common.h"

#include <cstddef>

namespace railwitness::nccl {

struct ProfilerEventV1;
union ProfilerStateV1;

struct ProfilerV1 {
  const char* name;
  Result (*init)(void** context, int* activation_mask);
  Result (*start_event)(void* context, void** handle, ProfilerEventV1* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, ProfilerStateV1* arguments);
  Result (*finalize)(void* context);
};

static_assert(sizeof(ProfilerV1) == 48 && offsetof(ProfilerV1, name) == 0 && offsetof(ProfilerV1, init) == 8);
static_assert(offsetof(ProfilerV1, start_event) == 16 && offsetof(ProfilerV1, stop_event) == 24);
static_assert(offsetof(ProfilerV1, record_event_state) == 32 && offsetof(ProfilerV1, finalize) == 40);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_PROFILER_V1_H_
