#include "railwitness/nccl/collnet_v11.h"

#include "plugin/shim/collnet_calls.h"

namespace railwitness::shim {
namespace {

Result init(void** context, uint64_t comm_id, nccl::Logger log) noexcept;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) constinit nccl::CollNetV11 ncclCollNetPlugin_v11{
    .name = "railwitness",
    .init = init,
    .devices = coll_devices,
    .get_properties = coll_properties,
    .listen = coll_listen,
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
    .finalize = coll_finalize,
};
}

namespace {

Result init(void** context, uint64_t comm_id, nccl::Logger log) noexcept {
  const Result result = coll_init(context, comm_id, log);
  offer_optional(ncclCollNetPlugin_v11);
  return result;
}

}  // namespace
}  // namespace railwitness::shim
