// ncclNet_v10_t (NCCL 2.26 to today): the symbol ncclNetPlugin_v10.
#ifndef RAILWITNESS_NCCL_NET_V10_H_
#define RAILWITNESS_NCCL_NET_V10_H_

#include "railwitness/nccl/common.h"
#include "railwitness/nccl/net_v9.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

using NetVDevicePropsV10 = NetVDevicePropsV9;

using NetPropertiesV10 = NetPropertiesV9;

struct NetCommConfigV10 {
  int traffic_class;
};

struct NetV10 {
  const char* name;
  Result (*init)(Logger log, ProfilerCallback profiler);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV10* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, NetCommConfigV10* config, void* handle, void** send_comm, void** device_handle);
  Result (*accept)(void* listen_comm, void** recv_comm, void** device_handle);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*isend)(void* comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request);
  Result (*irecv)(void* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                  void** request);
  Result (*iflush)(void* comm, int n, void** data, int* bytes, void** mrs, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_send)(void* comm);
  Result (*close_recv)(void* comm);
  Result (*close_listen)(void* comm);
  Result (*get_device_mr)(void* comm, void* mr, void** device_pointer);
  Result (*irecv_consumed)(void* comm, int n, void* request);
  Result (*make_v_device)(int* device, NetVDevicePropsV10* properties);
};

static_assert(sizeof(NetCommConfigV10) == 4);

static_assert(sizeof(NetV10) == 160);
static_assert(offsetof(NetV10, name) == 0 && offsetof(NetV10, init) == 8);
static_assert(offsetof(NetV10, devices) == 16 && offsetof(NetV10, get_properties) == 24);
static_assert(offsetof(NetV10, listen) == 32 && offsetof(NetV10, connect) == 40);
static_assert(offsetof(NetV10, accept) == 48 && offsetof(NetV10, reg_mr) == 56);
static_assert(offsetof(NetV10, reg_mr_dma_buf) == 64 && offsetof(NetV10, dereg_mr) == 72);
static_assert(offsetof(NetV10, isend) == 80 && offsetof(NetV10, irecv) == 88);
static_assert(offsetof(NetV10, iflush) == 96 && offsetof(NetV10, test) == 104);
static_assert(offsetof(NetV10, close_send) == 112 && offsetof(NetV10, close_recv) == 120);
static_assert(offsetof(NetV10, close_listen) == 128 && offsetof(NetV10, get_device_mr) == 136);
static_assert(offsetof(NetV10, irecv_consumed) == 144 && offsetof(NetV10, make_v_device) == 152);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V10_H_
