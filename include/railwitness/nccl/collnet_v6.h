// ncclCollNet_v6_t (NCCL 2.13 to today): the symbol ncclCollNetPlugin_v6.
#ifndef RAILWITNESS_NCCL_COLLNET_V6_H_
#define RAILWITNESS_NCCL_COLLNET_V6_H_

#include "railwitness/nccl/net_v6.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct CollNetV6 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV6* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm);
  Result (*reduce_support)(int data_type, int operation, int* supported);
  Result (*reg_mr)(void* comm, void* data, int bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*iallreduce)(void* comm, void* send_data, void* recv_data, int count, int data_type, int operation,
                       void* send_mr, void* recv_mr, void** request);
  Result (*iflush)(void* comm, void* data, int bytes, void* mr, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_coll)(void* comm);
  Result (*close_listen)(void* comm);
};

static_assert(sizeof(CollNetV6) == 120);
static_assert(offsetof(CollNetV6, name) == 0 && offsetof(CollNetV6, init) == 8);
static_assert(offsetof(CollNetV6, devices) == 16 && offsetof(CollNetV6, get_properties) == 24);
static_assert(offsetof(CollNetV6, listen) == 32 && offsetof(CollNetV6, connect) == 40);
static_assert(offsetof(CollNetV6, reduce_support) == 48 && offsetof(CollNetV6, reg_mr) == 56);
static_assert(offsetof(CollNetV6, reg_mr_dma_buf) == 64 && offsetof(CollNetV6, dereg_mr) == 72);
static_assert(offsetof(CollNetV6, iallreduce) == 80 && offsetof(CollNetV6, iflush) == 88);
static_assert(offsetof(CollNetV6, test) == 96 && offsetof(CollNetV6, close_coll) == 104);
static_assert(offsetof(CollNetV6, close_listen) == 112);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COLLNET_V6_H_
