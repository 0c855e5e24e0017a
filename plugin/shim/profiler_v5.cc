// The profiler slot, for two things: the communicator's identity, and a moment at which net_ib's devices are open (late
// attach). No event is asked for: with an activation mask of 0 NCCL does no work for us.
#include "plugin/shim/banner.h"
#include "plugin/shim/wiring.h"
#include "plugin/witness/recorder.h"
#include "railwitness/nccl/profiler_v5.h"

namespace railwitness::shim {
namespace {

using nccl::Result;

Result init(void** context, uint64_t comm_id, int* activation_mask, const char* comm_name, int nodes, int ranks, int rank,
            nccl::Logger log) noexcept {
  const Started started = wiring.start();
  const int late = started.is_off ? 0 : wiring.attach_late();
  say_banner(log, started, late);
  const uint64_t token = started.is_off ? ~0ull : witness::open_comm(comm_id, rank, ranks, nodes, comm_name);
  if (context) *context = reinterpret_cast<void*>(token);  // without a context NCCL would not call finalize
  if (activation_mask) *activation_mask = 0;
  return nccl::kSuccess;
}

Result start_event(void*, void** handle, nccl::ProfilerEventV5*) noexcept {
  if (handle) *handle = nullptr;
  return nccl::kSuccess;
}

Result stop_event(void*) noexcept { return nccl::kSuccess; }
Result record_event_state(void*, int, nccl::ProfilerStateV5*) noexcept { return nccl::kSuccess; }

Result finalize(void* context) noexcept {
  witness::close_comm(reinterpret_cast<uint64_t>(context));
  return nccl::kSuccess;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const nccl::ProfilerV5 ncclProfiler_v5{
    .name = "railwitness",
    .init = init,
    .start_event = start_event,
    .stop_event = stop_event,
    .record_event_state = record_event_state,
    .finalize = finalize,
};

}  // namespace railwitness::shim
