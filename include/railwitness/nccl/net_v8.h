// ncclNet_v8_t (NCCL 2.20 to today): the symbol ncclNetPlugin_v8.
#ifndef RAILWITNESS_NCCL_NET_V8_H_
#define RAILWITNESS_NCCL_NET_V8_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetPropertiesV8 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
};

struct NetV8 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV8* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, void** device_handle);
  Result (*accept)(void* listen_comm, void** recv_comm, void** device_handle);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*isend)(void* comm, void* data, int bytes, int tag, void* mr, void** request);
  Result (*irecv)(void* comm, int n, void** data, int* bytes, int* tags, void** mrs, void** request);
  Result (*iflush)(void* comm, int n, void** data, int* bytes, void** mrs, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_send)(void* comm);
  Result (*close_recv)(void* comm);
  Result (*close_listen)(void* comm);
  Result (*get_device_mr)(void* comm, void* mr, void** device_pointer);
  Result (*irecv_consumed)(void* comm, int n, void* request);
};

static_assert(sizeof(NetPropertiesV8) == 64);
static_assert(offsetof(NetPropertiesV8, name) == 0 && offsetof(NetPropertiesV8, pci_path) == 8);
static_assert(offsetof(NetPropertiesV8, guid) == 16 && offsetof(NetPropertiesV8, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV8, reg_is_global) == 28 && offsetof(NetPropertiesV8, speed_mbps) == 32);
static_assert(offsetof(NetPropertiesV8, port) == 36 && offsetof(NetPropertiesV8, latency_us) == 40);
static_assert(offsetof(NetPropertiesV8, max_comms) == 44 && offsetof(NetPropertiesV8, max_recvs) == 48);
static_assert(offsetof(NetPropertiesV8, net_device_type) == 52 && offsetof(NetPropertiesV8, net_device_version) == 56);

static_assert(sizeof(NetV8) == 152);
static_assert(offsetof(NetV8, name) == 0 && offsetof(NetV8, init) == 8);
static_assert(offsetof(NetV8, devices) == 16 && offsetof(NetV8, get_properties) == 24);
static_assert(offsetof(NetV8, listen) == 32 && offsetof(NetV8, connect) == 40);
static_assert(offsetof(NetV8, accept) == 48 && offsetof(NetV8, reg_mr) == 56);
static_assert(offsetof(NetV8, reg_mr_dma_buf) == 64 && offsetof(NetV8, dereg_mr) == 72);
static_assert(offsetof(NetV8, isend) == 80 && offsetof(NetV8, irecv) == 88);
static_assert(offsetof(NetV8, iflush) == 96 && offsetof(NetV8, test) == 104);
static_assert(offsetof(NetV8, close_send) == 112 && offsetof(NetV8, close_recv) == 120);
static_assert(offsetof(NetV8, close_listen) == 128 && offsetof(NetV8, get_device_mr) == 136);
static_assert(offsetof(NetV8, irecv_consumed) == 144);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V8_H_
