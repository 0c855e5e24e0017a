// ncclNet_v6_t (NCCL 2.13 to today): the symbol ncclNetPlugin_v6.
#ifndef RAILWITNESS_NCCL_NET_V6_H_
#define RAILWITNESS_NCCL_NET_V6_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetPropertiesV6 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
};

struct NetV6 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV6* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm);
  Result (*accept)(void* listen_comm, void** recv_comm);
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
};

static_assert(sizeof(NetPropertiesV6) == 48);
static_assert(offsetof(NetPropertiesV6, name) == 0 && offsetof(NetPropertiesV6, pci_path) == 8);
static_assert(offsetof(NetPropertiesV6, guid) == 16 && offsetof(NetPropertiesV6, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV6, speed_mbps) == 28 && offsetof(NetPropertiesV6, port) == 32);
static_assert(offsetof(NetPropertiesV6, latency_us) == 36 && offsetof(NetPropertiesV6, max_comms) == 40);
static_assert(offsetof(NetPropertiesV6, max_recvs) == 44);

static_assert(sizeof(NetV6) == 136);
static_assert(offsetof(NetV6, name) == 0 && offsetof(NetV6, init) == 8);
static_assert(offsetof(NetV6, devices) == 16 && offsetof(NetV6, get_properties) == 24);
static_assert(offsetof(NetV6, listen) == 32 && offsetof(NetV6, connect) == 40);
static_assert(offsetof(NetV6, accept) == 48 && offsetof(NetV6, reg_mr) == 56);
static_assert(offsetof(NetV6, reg_mr_dma_buf) == 64 && offsetof(NetV6, dereg_mr) == 72);
static_assert(offsetof(NetV6, isend) == 80 && offsetof(NetV6, irecv) == 88);
static_assert(offsetof(NetV6, iflush) == 96 && offsetof(NetV6, test) == 104);
static_assert(offsetof(NetV6, close_send) == 112 && offsetof(NetV6, close_recv) == 120);
static_assert(offsetof(NetV6, close_listen) == 128);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V6_H_
