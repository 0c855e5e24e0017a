// ncclCollNet_v10_t (NCCL 2.26 to today): the symbol ncclCollNetPlugin_v10.
#ifndef RAILWITNESS_NCCL_COLLNET_V10_H_
#define RAILWITNESS_NCCL_COLLNET_V10_H_

#include "railwitness/nccl/collnet_v9.h"
#include "railwitness/nccl/net_v10.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

using NetSgeV10 = NetSgeV9;

struct CollNetV10 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV10* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm);
  Result (*reduce_support)(int data_type, int operation, int* supported);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*iallreduce)(void* comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                       void* send_mr, void* recv_mr, void** request);
  Result (*iallgather)(void* comm, void* send_data, int n, NetSgeV10* parts, size_t bytes_per_rank,
                       size_t window_offset, size_t window_bytes, void* send_mr, void** request);
  Result (*ireducescatter)(void* comm, int n, NetSgeV10* parts, void* recv_data, size_t bytes_per_rank,
                           size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                           void** request);
  Result (*iflush)(void* comm, void* data, int bytes, void* mr, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_coll)(void* comm);
  Result (*close_listen)(void* comm);
  Result (*make_v_device)(int* device, NetVDevicePropsV10* properties);
};

static_assert(sizeof(CollNetV10) == 144);
static_assert(offsetof(CollNetV10, name) == 0 && offsetof(CollNetV10, init) == 8);
static_assert(offsetof(CollNetV10, devices) == 16 && offsetof(CollNetV10, get_properties) == 24);
static_assert(offsetof(CollNetV10, listen) == 32 && offsetof(CollNetV10, connect) == 40);
static_assert(offsetof(CollNetV10, reduce_support) == 48 && offsetof(CollNetV10, reg_mr) == 56);
static_assert(offsetof(CollNetV10, reg_mr_dma_buf) == 64 && offsetof(CollNetV10, dereg_mr) == 72);
static_assert(offsetof(CollNetV10, iallreduce) == 80 && offsetof(CollNetV10, iallgather) == 88);
static_assert(offsetof(CollNetV10, ireducescatter) == 96 && offsetof(CollNetV10, iflush) == 104);
static_assert(offsetof(CollNetV10, test) == 112 && offsetof(CollNetV10, close_coll) == 120);
static_assert(offsetof(CollNetV10, close_listen) == 128 && offsetof(CollNetV10, make_v_device) == 136);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COLLNET_V10_H_
