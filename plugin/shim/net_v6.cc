// v6: no device handles, int sizes.
#include "railwitness/nccl/net_v6.h"

#include "plugin/shim/net_calls.h"

namespace railwitness::shim {
namespace {

Result connect(int device, void* handle, void** send_comm) noexcept {
  return connect_plain(device, handle, send_comm, nullptr);
}

Result accept(void* listen_comm, void** recv_comm) noexcept { return engine::accept(listen_comm, recv_comm, nullptr); }

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::NetV6 ncclNetPlugin_v6{
    .name = "railwitness",
    .init = init_plain,
    .devices = engine::devices,
    .get_properties = get_properties,
    .listen = listen_shared,
    .connect = connect,
    .accept = accept,
    .reg_mr = reg_mr_small,
    .reg_mr_dma_buf = engine::register_dmabuf,
    .dereg_mr = engine::deregister,
    .isend = isend_small,
    .irecv = irecv_small,
    .iflush = engine::iflush,
    .test = engine::test,
    .close_send = engine::close_send,
    .close_recv = engine::close_recv,
    .close_listen = engine::close_listen,
};
}

}  // namespace railwitness::shim
