// v5: the communicator's hash comes first. NCCL 2.29 and later take it too, as they take every older one.
#include "railwitness/nccl/profiler_v5.h"

#include "plugin/shim/profiler_calls.h"

namespace railwitness::shim {
namespace {

Result init(void** context, uint64_t comm_id, int* activation_mask, const char* comm_name, int nodes, int ranks, int rank,
            nccl::Logger log) noexcept {
  return begin_profiler(context, activation_mask, {comm_id, rank, ranks, nodes, comm_name}, log);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const nccl::ProfilerV5 ncclProfiler_v5{
    .name = "railwitness",
    .init = init,
    .start_event = start_event,
    .stop_event = stop_event,
    .record_event_state = record_event_state,
    .finalize = end_profiler,
};

}  // namespace railwitness::shim
