// v4: the communicator's hash comes behind its name.
#include "railwitness/nccl/profiler_v4.h"

#include "plugin/shim/profiler_calls.h"

namespace railwitness::shim {
namespace {

Result init(void** context, int* activation_mask, const char* comm_name, uint64_t comm_hash, int nodes, int ranks, int rank,
            nccl::Logger log) noexcept {
  return begin_profiler(context, activation_mask, {comm_hash, rank, ranks, nodes, comm_name}, log);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const nccl::ProfilerV4 ncclProfiler_v4{
    .name = "railwitness",
    .init = init,
    .start_event = start_event,
    .stop_event = stop_event,
    .record_event_state = record_event_state,
    .finalize = end_profiler,
};

}  // namespace railwitness::shim
