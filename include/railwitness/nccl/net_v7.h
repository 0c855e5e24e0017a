// ncclNet_v7_t (NCCL 2.19 to today): the symbol ncclNetPlugin_v7.
#ifndef RAILWITNESS_NCCL_NET_V7_H_
#define RAILWITNESS_NCCL_NET_V7_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetPropertiesV7 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
};

struct NetV7 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV7* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, void** device_handle);
  Result (*accept)(void* listen_comm, void** recv_comm, void** device_handle);
  Result (*reg_mr)(void* comm, void* data, int bytes, int type, void** mr);
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

static_assert(sizeof(NetPropertiesV7) == 56);
static_assert(offsetof(NetPropertiesV7, name) == 0 && offsetof(NetPropertiesV7, pci_path) == 8);
static_assert(offsetof(NetPropertiesV7, guid) == 16 && offsetof(NetPropertiesV7, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV7, speed_mbps) == 28 && offsetof(NetPropertiesV7, port) == 32);
static_assert(offsetof(NetPropertiesV7, latency_us) == 36 && offsetof(NetPropertiesV7, max_comms) == 40);
static_assert(offsetof(NetPropertiesV7, max_recvs) == 44 && offsetof(NetPropertiesV7, net_device_type) == 48);
static_assert(offsetof(NetPropertiesV7, net_device_version) == 52);

static_assert(sizeof(NetV7) == 152);
static_assert(offsetof(NetV7, name) == 0 && offsetof(NetV7, init) == 8);
static_assert(offsetof(NetV7, devices) == 16 && offsetof(NetV7, get_properties) == 24);
static_assert(offsetof(NetV7, listen) == 32 && offsetof(NetV7, connect) == 40);
static_assert(offsetof(NetV7, accept) == 48 && offsetof(NetV7, reg_mr) == 56);
static_assert(offsetof(NetV7, reg_mr_dma_buf) == 64 && offsetof(NetV7, dereg_mr) == 72);
static_assert(offsetof(NetV7, isend) == 80 && offsetof(NetV7, irecv) == 88);
static_assert(offsetof(NetV7, iflush) == 96 && offsetof(NetV7, test) == 104);
static_assert(offsetof(NetV7, close_send) == 112 && offsetof(NetV7, close_recv) == 120);
static_assert(offsetof(NetV7, close_listen) == 128 && offsetof(NetV7, get_device_mr) == 136);
static_assert(offsetof(NetV7, irecv_consumed) == 144);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V7_H_
