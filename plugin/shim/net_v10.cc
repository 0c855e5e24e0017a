// v10: the traffic class comes with each connect.
#include "railwitness/nccl/net_v10.h"

#include "plugin/shim/net_calls.h"

namespace railwitness::shim {
namespace {

Result connect(int device, nccl::NetCommConfigV10* config, void* handle, void** send_comm,
               void** device_handle) noexcept {
  void* context = nullptr;
  const Result result = engine::shared_context({config ? config->traffic_class : nccl::kUndefined}, &context);
  return result == nccl::kSuccess ? engine::connect(context, device, handle, send_comm, device_handle) : result;
}

Result init(nccl::Logger log, nccl::ProfilerCallback profiler) noexcept;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::NetV10 ncclNetPlugin_v10{
    .name = "railwitness",
    .init = init,
    .devices = engine::devices,
    .get_properties = get_properties,
    .listen = listen_shared,
    .connect = connect,
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
};
}

namespace {

Result init(nccl::Logger log, nccl::ProfilerCallback profiler) noexcept {
  start(log);
  const Result result = engine::init_shared(log, profiler);
  offer_virtual_devices(ncclNetPlugin_v10);
  return result;
}

}  // namespace
}  // namespace railwitness::shim
