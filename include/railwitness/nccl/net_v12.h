// ncclNet_v12_t (NCCL 2.30.3 to today): the symbol ncclNetPlugin_v12.
#ifndef RAILWITNESS_NCCL_NET_V12_H_
#define RAILWITNESS_NCCL_NET_V12_H_

#include "railwitness/nccl/net_v11.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

struct NetVDevicePropsV12 {
  int ndevs;
  int devs[8];
};

struct NetPropertiesV12 {
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
  NetVDevicePropsV12 vprops;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
  int16_t rail_id;
  int16_t plane_id;
};

using NetCommConfigV12 = NetCommConfigV11;
using NetAttrV12 = NetAttrV11;

struct NetV12 {
  const char* name;
  Result (*init)(void** context, uint64_t comm_id, NetCommConfigV12* config, Logger log, ProfilerCallback profiler);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV12* properties);
  Result (*listen)(void* context, int device, void* handle, void** listen_comm);
  Result (*connect)(void* context, int device, void* handle, void** send_comm, void** device_handle);
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
  Result (*make_v_device)(int* device, NetVDevicePropsV12* properties);
  Result (*finalize)(void* context);
  Result (*set_net_attr)(void* context, NetAttrV12* attributes);
};

static_assert(sizeof(NetVDevicePropsV12) == 36 && offsetof(NetVDevicePropsV12, devs) == 4);

static_assert(sizeof(NetPropertiesV12) == 128);
static_assert(offsetof(NetPropertiesV12, name) == 0 && offsetof(NetPropertiesV12, pci_path) == 8);
static_assert(offsetof(NetPropertiesV12, guid) == 16 && offsetof(NetPropertiesV12, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV12, reg_is_global) == 28 && offsetof(NetPropertiesV12, force_flush) == 32);
static_assert(offsetof(NetPropertiesV12, speed_mbps) == 36 && offsetof(NetPropertiesV12, port) == 40);
static_assert(offsetof(NetPropertiesV12, latency_us) == 44 && offsetof(NetPropertiesV12, max_comms) == 48);
static_assert(offsetof(NetPropertiesV12, max_recvs) == 52 && offsetof(NetPropertiesV12, net_device_type) == 56);
static_assert(offsetof(NetPropertiesV12, net_device_version) == 60 && offsetof(NetPropertiesV12, vprops) == 64);
static_assert(offsetof(NetPropertiesV12, max_p2p_bytes) == 104 && offsetof(NetPropertiesV12, max_coll_bytes) == 112);
static_assert(offsetof(NetPropertiesV12, max_multi_request_size) == 120 && offsetof(NetPropertiesV12, rail_id) == 124);
static_assert(offsetof(NetPropertiesV12, plane_id) == 126);

static_assert(sizeof(NetV12) == 176);
static_assert(offsetof(NetV12, name) == 0 && offsetof(NetV12, init) == 8);
static_assert(offsetof(NetV12, devices) == 16 && offsetof(NetV12, get_properties) == 24);
static_assert(offsetof(NetV12, listen) == 32 && offsetof(NetV12, connect) == 40);
static_assert(offsetof(NetV12, accept) == 48 && offsetof(NetV12, reg_mr) == 56);
static_assert(offsetof(NetV12, reg_mr_dma_buf) == 64 && offsetof(NetV12, dereg_mr) == 72);
static_assert(offsetof(NetV12, isend) == 80 && offsetof(NetV12, irecv) == 88);
static_assert(offsetof(NetV12, iflush) == 96 && offsetof(NetV12, test) == 104);
static_assert(offsetof(NetV12, close_send) == 112 && offsetof(NetV12, close_recv) == 120);
static_assert(offsetof(NetV12, close_listen) == 128 && offsetof(NetV12, get_device_mr) == 136);
static_assert(offsetof(NetV12, irecv_consumed) == 144 && offsetof(NetV12, make_v_device) == 152);
static_assert(offsetof(NetV12, finalize) == 160 && offsetof(NetV12, set_net_attr) == 168);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V12_H_
