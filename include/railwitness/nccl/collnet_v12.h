// ncclCollNet_v12_t (NCCL 2.30.3 to today): the symbol ncclCollNetPlugin_v12.
#ifndef RAILWITNESS_NCCL_COLLNET_V12_H_
#define RAILWITNESS_NCCL_COLLNET_V12_H_

#include "railwitness/nccl/collnet_v9.h"
#include "railwitness/nccl/net_v12.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

using NetSgeV12 = NetSgeV9;

struct CollNetV12 {
  const char* name;
  Result (*init)(void** context, uint64_t comm_id, Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV12* properties);
  Result (*listen)(void* context, int device, void* handle, void** listen_comm);
  Result (*connect)(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm);
  Result (*reduce_support)(int data_type, int operation, int* supported);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*iallreduce)(void* comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                       void* send_mr, void* recv_mr, void** request);
  Result (*iallgather)(void* comm, void* send_data, int n, NetSgeV12* parts, size_t bytes_per_rank,
                       size_t window_offset, size_t window_bytes, void* send_mr, void** request);
  Result (*ireducescatter)(void* comm, int n, NetSgeV12* parts, void* recv_data, size_t bytes_per_rank,
                           size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                           void** request);
  Result (*iflush)(void* comm, void* data, int bytes, void* mr, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_coll)(void* comm);
  Result (*close_listen)(void* comm);
  Result (*make_v_device)(int* device, NetVDevicePropsV12* properties);
  Result (*finalize)(void* context);
};

static_assert(sizeof(CollNetV12) == 152);
static_assert(offsetof(CollNetV12, name) == 0 && offsetof(CollNetV12, init) == 8);
static_assert(offsetof(CollNetV12, devices) == 16 && offsetof(CollNetV12, get_properties) == 24);
static_assert(offsetof(CollNetV12, listen) == 32 && offsetof(CollNetV12, connect) == 40);
static_assert(offsetof(CollNetV12, reduce_support) == 48 && offsetof(CollNetV12, reg_mr) == 56);
static_assert(offsetof(CollNetV12, reg_mr_dma_buf) == 64 && offsetof(CollNetV12, dereg_mr) == 72);
static_assert(offsetof(CollNetV12, iallreduce) == 80 && offsetof(CollNetV12, iallgather) == 88);
static_assert(offsetof(CollNetV12, ireducescatter) == 96 && offsetof(CollNetV12, iflush) == 104);
static_assert(offsetof(CollNetV12, test) == 112 && offsetof(CollNetV12, close_coll) == 120);
static_assert(offsetof(CollNetV12, close_listen) == 128 && offsetof(CollNetV12, make_v_device) == 136);
static_assert(offsetof(CollNetV12, finalize) == 144);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COLLNET_V12_H_
