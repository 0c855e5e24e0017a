#include "plugin/shim/profiler_calls.h"

#include "plugin/shim/banner.h"
#include "plugin/shim/wiring.h"
#include "plugin/witness/recorder.h"

namespace railwitness::shim {
namespace {

constexpr uint64_t kNobody = ~0ull;  // as a context: without one NCCL would not call finalize

Started begin(nccl::Logger log) {
  const Started started = wiring.start();
  say_banner(log, started, started.is_off ? 0 : wiring.attach_late());
  return started;
}

Result done(void** context, int* activation_mask, uint64_t token) {
  if (context) *context = reinterpret_cast<void*>(token);
  if (activation_mask) *activation_mask = 0;
  return nccl::kSuccess;
}

}  // namespace

Result begin_profiler(void** context, int* activation_mask, const Comm& comm, nccl::Logger log) noexcept {
  const bool is_off = begin(log).is_off;
  return done(context, activation_mask,
              is_off ? kNobody : witness::open_comm(comm.hash, comm.rank, comm.ranks, comm.nodes, comm.name));
}

Result begin_nameless(void** context, int* activation_mask) noexcept {
  begin(nullptr);
  return done(context, activation_mask, kNobody);
}

Result end_profiler(void* context) noexcept {
  witness::close_comm(reinterpret_cast<uint64_t>(context));
  return nccl::kSuccess;
}

}  // namespace railwitness::shim
