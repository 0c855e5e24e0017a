#include "railwitness/nccl/collnet_v6.h"

#include "plugin/shim/collnet_calls.h"

namespace railwitness::shim {

extern "C" {
__attribute__((visibility("default"))) constinit nccl::CollNetV6 ncclCollNetPlugin_v6{
    .name = "railwitness",
    .init = coll_init_shared,
    .devices = coll_devices,
    .get_properties = coll_properties,
    .listen = coll_listen_shared,
    .connect = coll_connect,
    .reduce_support = coll_reduce_support,
    .reg_mr = coll_reg_mr_small,
    .reg_mr_dma_buf = coll_reg_mr_dma_buf,
    .dereg_mr = coll_dereg_mr,
    .iallreduce = coll_iallreduce_small,
    .iflush = coll_iflush,
    .test = coll_test,
    .close_coll = coll_close,
    .close_listen = coll_close_listen,
};
}

}  // namespace railwitness::shim
