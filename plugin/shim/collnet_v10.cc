#include "railwitness/nccl/collnet_v10.h"

#include "plugin/shim/collnet_calls.h"

namespace railwitness::shim {
namespace {

Result init(nccl::Logger log) noexcept;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::CollNetV10 ncclCollNetPlugin_v10{
    .name = "railwitness",
    .init = init,
    .devices = coll_devices,
    .get_properties = coll_properties,
    .listen = coll_listen_shared,
    .connect = coll_connect,
    .reduce_support = coll_reduce_support,
    .reg_mr = coll_reg_mr,
    .reg_mr_dma_buf = coll_reg_mr_dma_buf,
    .dereg_mr = coll_dereg_mr,
    .iallreduce = coll_iallreduce,
    .iallgather = nullptr,
    .ireducescatter = nullptr,
    .iflush = coll_iflush,
    .test = coll_test,
    .close_coll = coll_close,
    .close_listen = coll_close_listen,
    .make_v_device = nullptr,
};
}

namespace {

Result init(nccl::Logger log) noexcept {
  const Result result = coll_init_shared(log);
  offer_optional(ncclCollNetPlugin_v10);
  return result;
}

}  // namespace
}  // namespace railwitness::shim
