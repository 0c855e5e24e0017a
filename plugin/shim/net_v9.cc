// v9: virtual devices; no profiler handles yet.
#include "railwitness/nccl/net_v9.h"

#include "plugin/shim/net_calls.h"

namespace railwitness::shim {
namespace {

Result isend(void* comm, void* data, size_t bytes, int tag, void* mr, void** request) noexcept {
  return engine::isend(comm, data, bytes, tag, mr, nullptr, request);
}

Result irecv(void* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** request) noexcept {
  return engine::irecv(comm, n, data, bytes, tags, mrs, nullptr, request);
}

Result init(nccl::Logger log) noexcept;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::NetV9 ncclNetPlugin_v9{
    .name = "railwitness",
    .init = init,
    .devices = engine::devices,
    .get_properties = get_properties,
    .listen = listen_shared,
    .connect = connect_plain,
    .accept = engine::accept,
    .reg_mr = engine::register_memory,
    .reg_mr_dma_buf = engine::register_dmabuf,
    .dereg_mr = engine::deregister,
    .isend = isend,
    .irecv = irecv,
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

Result init(nccl::Logger log) noexcept {
  const Result result = init_plain(log);
  offer_virtual_devices(ncclNetPlugin_v9);
  return result;
}

}  // namespace
}  // namespace railwitness::shim
