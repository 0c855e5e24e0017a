// A net without a network: NCCL calls init, is told of no devices, and goes on with its own net_ib, which the tap stands
// before by then. init never fails: NCCL 2.28 would call finalize with a context that was never set.
#include "plugin/shim/banner.h"
#include "plugin/shim/wiring.h"
#include "railwitness/nccl/net_v11.h"

namespace railwitness::shim {
namespace {

using nccl::Result;

char net_context;  // its address is all that NCCL gets

Result init(void** context, uint64_t, nccl::NetCommConfigV11*, nccl::Logger log, nccl::ProfilerCallback) noexcept {
  if (context) *context = &net_context;
  say_banner(log, wiring.start(), 0);
  return nccl::kSuccess;
}

Result devices(int* count) noexcept {
  if (count) *count = 0;
  return nccl::kSuccess;
}

Result finalize(void*) noexcept { return nccl::kSuccess; }
Result set_net_attr(void*, nccl::NetAttrV11*) noexcept { return nccl::kSuccess; }

// Never called by an NCCL that was told of no devices; must not be null all the same.
template <typename... Arguments>
Result refuse(Arguments...) noexcept {
  return nccl::kInternalError;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const nccl::NetV11 ncclNetPlugin_v11{
    .name = "railwitness",
    .init = init,
    .devices = devices,
    .get_properties = refuse,
    .listen = refuse,
    .connect = refuse,
    .accept = refuse,
    .reg_mr = refuse,
    .reg_mr_dma_buf = refuse,
    .dereg_mr = refuse,
    .isend = refuse,
    .irecv = refuse,
    .iflush = refuse,
    .test = refuse,
    .close_send = refuse,
    .close_recv = refuse,
    .close_listen = refuse,
    .get_device_mr = refuse,
    .irecv_consumed = refuse,
    .make_v_device = refuse,
    .finalize = finalize,
    .set_net_attr = set_net_attr,
};

}  // namespace railwitness::shim
