// A net plugin without its hardware: says so, and then fails init (REFUSING_RESULT) or has no devices.
#include "railwitness/nccl/net_v8.h"

#include <cstdlib>

namespace {

using namespace railwitness::nccl;

Result init(Logger log) {
  log(kLogInfo, kLogInit | kLogNet, "refusing", 0, "refusing: there is no such hardware");
  const char* result = getenv("REFUSING_RESULT");
  return result ? static_cast<Result>(atoi(result)) : kSuccess;
}

Result devices(int* count) {
  *count = 0;
  return kSuccess;
}

template <typename... Arguments>
Result never(Arguments...) {
  abort();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const NetV8 ncclNetPlugin_v8{
    .name = "refusing", .init = init, .devices = devices, .get_properties = never, .listen = never, .connect = never,
    .accept = never, .reg_mr = never, .reg_mr_dma_buf = never, .dereg_mr = never, .isend = never, .irecv = never,
    .iflush = never, .test = never, .close_send = never, .close_recv = never, .close_listen = never,
    .get_device_mr = never, .irecv_consumed = never};
