// v8: int sizes of transfers.
#include "railwitness/nccl/net_v8.h"

#include "plugin/shim/net_calls.h"

namespace railwitness::shim {

extern "C" {
__attribute__((visibility("default"))) constinit nccl::NetV8 ncclNetPlugin_v8{
    .name = "railwitness",
    .init = init_plain,
    .devices = engine::devices,
    .get_properties = get_properties,
    .listen = listen_shared,
    .connect = connect_plain,
    .accept = engine::accept,
    .reg_mr = engine::register_memory,
    .reg_mr_dma_buf = engine::register_dmabuf,
    .dereg_mr = engine::deregister,
    .isend = isend_small,
    .irecv = irecv_small,
    .iflush = engine::iflush,
    .test = engine::test,
    .close_send = engine::close_send,
    .close_recv = engine::close_recv,
    .close_listen = engine::close_listen,
    .get_device_mr = engine::get_device_mr,
    .irecv_consumed = engine::irecv_consumed,
};
}

}  // namespace railwitness::shim
