// ncclNet_v9_t (NCCL 2.24 to today): the symbol ncclNetPlugin_v9.
#ifndef RAILWITNESS_NCCL_NET_V9_H_
#define RAILWITNESS_NCCL_NET_V9_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetVDevicePropsV9 {
  int ndevs;
  int devs[4];
};

struct NetPropertiesV9 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
  int force_flush;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
  NetVDevicePropsV9 vprops;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
};

struct NetV9 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV9* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, void** device_handle);
  Result (*accept)(void* listen_comm, void** recv_comm, void** device_handle);
  Result (*reg_mr)(void* comm, void* data, size_t bytes, int type, void** mr);
  Result (*reg_mr_dma_buf)(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*isend)(void* comm, void* data, size_t bytes, int tag, void* mr, void** request);
  Result (*irecv)(void* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** request);
  Result (*iflush)(void* comm, int n, void** data, int* bytes, void** mrs, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_send)(void* comm);
  Result (*close_recv)(void* comm);
  Result (*close_listen)(void* comm);
  Result (*get_device_mr)(void* comm, void* mr, void** device_pointer);
  Result (*irecv_consumed)(void* comm, int n, void* request);
  Result (*make_v_device)(int* device, NetVDevicePropsV9* properties);
};

static_assert(sizeof(NetVDevicePropsV9) == 20 && offsetof(NetVDevicePropsV9, devs) == 4);

static_assert(sizeof(NetPropertiesV9) == 104);
static_assert(offsetof(NetPropertiesV9, name) == 0 && offsetof(NetPropertiesV9, pci_path) == 8);
static_assert(offsetof(NetPropertiesV9, guid) == 16 && offsetof(NetPropertiesV9, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV9, reg_is_global) == 28 && offsetof(NetPropertiesV9, force_flush) == 32);
static_assert(offsetof(NetPropertiesV9, speed_mbps) == 36 && offsetof(NetPropertiesV9, port) == 40);
static_assert(offsetof(NetPropertiesV9, latency_us) == 44 && offsetof(NetPropertiesV9, max_comms) == 48);
static_assert(offsetof(NetPropertiesV9, max_recvs) == 52 && offsetof(NetPropertiesV9, net_device_type) == 56);
static_assert(offsetof(NetPropertiesV9, net_device_version) == 60 && offsetof(NetPropertiesV9, vprops) == 64);
static_assert(offsetof(NetPropertiesV9, max_p2p_bytes) == 88 && offsetof(NetPropertiesV9, max_coll_bytes) == 96);

static_assert(sizeof(NetV9) == 160);
static_assert(offsetof(NetV9, name) == 0 && offsetof(NetV9, init) == 8);
static_assert(offsetof(NetV9, devices) == 16 && offsetof(NetV9, get_properties) == 24);
static_assert(offsetof(NetV9, listen) == 32 && offsetof(NetV9, connect) == 40);
static_assert(offsetof(NetV9, accept) == 48 && offsetof(NetV9, reg_mr) == 56);
static_assert(offsetof(NetV9, reg_mr_dma_buf) == 64 && offsetof(NetV9, dereg_mr) == 72);
static_assert(offsetof(NetV9, isend) == 80 && offsetof(NetV9, irecv) == 88);
static_assert(offsetof(NetV9, iflush) == 96 && offsetof(NetV9, test) == 104);
static_assert(offsetof(NetV9, close_send) == 112 && offsetof(NetV9, close_recv) == 120);
static_assert(offsetof(NetV9, close_listen) == 128 && offsetof(NetV9, get_device_mr) == 136);
static_assert(offsetof(NetV9, irecv_consumed) == 144 && offsetof(NetV9, make_v_device) == 152);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V9_H_
