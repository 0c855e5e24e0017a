// ncclCollNet_v8_t (NCCL 2.20 to today): the symbol ncclCollNetPlugin_v8.
#ifndef RAILWITNESS_NCCL_COLLNET_V8_H_
#define RAILWITNESS_NCCL_COLLNET_V8_H_

#include "railwitness/nccl/net_v8.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetSgeV8 {
  void* mr;
  void* address;
  uint32_t bytes;
};

struct CollNetV8 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV8* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm);
  Result (*reduce_support)(int data_type, int operation, int* supported);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*iallreduce)(void* comm, void* send_data, void* recv_data, int count, int data_type, int operation,
                       void* send_mr, void* recv_mr, void** request);
  Result (*iallgather)(void* comm, void* send_data, int n, NetSgeV8* parts, size_t bytes_per_rank,
                       size_t window_offset, size_t window_bytes, void* send_mr, void** request);
  Result (*ireducescatter)(void* comm, int n, NetSgeV8* parts, void* recv_data, size_t bytes_per_rank,
                           size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                           void** request);
  Result (*iflush)(void* comm, void* data, int bytes, void* mr, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_coll)(void* comm);
  Result (*close_listen)(void* comm);
};

static_assert(sizeof(NetSgeV8) == 24 && offsetof(NetSgeV8, address) == 8 && offsetof(NetSgeV8, bytes) == 16);

static_assert(sizeof(CollNetV8) == 136);
static_assert(offsetof(CollNetV8, name) == 0 && offsetof(CollNetV8, init) == 8);
static_assert(offsetof(CollNetV8, devices) == 16 && offsetof(CollNetV8, get_properties) == 24);
static_assert(offsetof(CollNetV8, listen) == 32 && offsetof(CollNetV8, connect) == 40);
static_assert(offsetof(CollNetV8, reduce_support) == 48 && offsetof(CollNetV8, reg_mr) == 56);
static_assert(offsetof(CollNetV8, reg_mr_dma_buf) == 64 && offsetof(CollNetV8, dereg_mr) == 72);
static_assert(offsetof(CollNetV8, iallreduce) == 80 && offsetof(CollNetV8, iallgather) == 88);
static_assert(offsetof(CollNetV8, ireducescatter) == 96 && offsetof(CollNetV8, iflush) == 104);
static_assert(offsetof(CollNetV8, test) == 112 && offsetof(CollNetV8, close_coll) == 120);
static_assert(offsetof(CollNetV8, close_listen) == 128);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COLLNET_V8_H_
