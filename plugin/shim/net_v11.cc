// v11: a context for each communicator.
#include "railwitness/nccl/net_v11.h"

#include "plugin/shim/net_calls.h"

namespace railwitness::shim {
namespace {

Result init(void** context, uint64_t comm_id, nccl::NetCommConfigV11* config, nccl::Logger log,
            nccl::ProfilerCallback profiler) noexcept;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::NetV11 ncclNetPlugin_v11{
    .name = "railwitness",
    .init = init,
    .devices = engine::devices,
    .get_properties = get_properties,
    .listen = engine::listen,
    .connect = engine::connect,
    .accept = engine::accept,
    .reg_mr = engine::register_memory,
    .reg_mr_dma_buf = engine::register_dmabuf,
    .dereg_mr = engine::deregister,
    .isend = engine::isend,
    .irecv = engine::irecv,
    .iflush = engine::iflush,
    .test = engine::test,
    .close_send = engine::close_send,
    .close_recv = engine::close_recv,
    .close_listen = engine::close_listen,
    .get_device_mr = engine::get_device_mr,
    .irecv_consumed = engine::irecv_consumed,
    .make_v_device = nullptr,
    .finalize = engine::finalize,
    .set_net_attr = set_net_attr,
};
}

namespace {

Result init(void** context, uint64_t comm_id, nccl::NetCommConfigV11* config, nccl::Logger log,
            nccl::ProfilerCallback profiler) noexcept {
  const Result result = init_in_context(context, comm_id, config, log, profiler);
  offer_virtual_devices(ncclNetPlugin_v11);
  return result;
}

}  // namespace
}  // namespace railwitness::shim
