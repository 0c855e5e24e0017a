// ncclNet_v11_t (NCCL 2.28.3 to today): the symbol ncclNetPlugin_v11.
#ifndef RAILWITNESS_NCCL_NET_V11_H_
#define RAILWITNESS_NCCL_NET_V11_H_

#include "railwitness/nccl/net_v10.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::nccl {

using NetVDevicePropsV11 = NetVDevicePropsV9;

struct NetPropertiesV11 {
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
  NetVDevicePropsV11 vprops;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
};

using NetCommConfigV11 = NetCommConfigV10;

struct NetCommAttrV11 {
  int32_t max_concurrent_peers;
  int32_t min_concurrent_peers;
  int32_t max_flows_per_peer;
  int32_t min_flows_per_peer;
};

struct NetAttrV11 {
  NetCommAttrV11 send_comm;
  NetCommAttrV11 recv_comm;
  uint32_t op;     // a bit per ncclFunc_t; the numbers above 7 differ on RCCL
  uint32_t algo;   // a bit per algorithm
  uint32_t proto;  // a bit per protocol
};

struct NetV11 {
  const char* name;
  Result (*init)(void** context, uint64_t comm_id, NetCommConfigV11* config, Logger log, ProfilerCallback profiler);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV11* properties);
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
  Result (*make_v_device)(int* device, NetVDevicePropsV11* properties);
  Result (*finalize)(void* context);
  Result (*set_net_attr)(void* context, NetAttrV11* attributes);
};

static_assert(sizeof(NetPropertiesV11) == 112);
static_assert(offsetof(NetPropertiesV11, name) == 0 && offsetof(NetPropertiesV11, pci_path) == 8);
static_assert(offsetof(NetPropertiesV11, guid) == 16 && offsetof(NetPropertiesV11, ptr_support) == 24);
static_assert(offsetof(NetPropertiesV11, reg_is_global) == 28 && offsetof(NetPropertiesV11, force_flush) == 32);
static_assert(offsetof(NetPropertiesV11, speed_mbps) == 36 && offsetof(NetPropertiesV11, port) == 40);
static_assert(offsetof(NetPropertiesV11, latency_us) == 44 && offsetof(NetPropertiesV11, max_comms) == 48);
static_assert(offsetof(NetPropertiesV11, max_recvs) == 52 && offsetof(NetPropertiesV11, net_device_type) == 56);
static_assert(offsetof(NetPropertiesV11, net_device_version) == 60 && offsetof(NetPropertiesV11, vprops) == 64);
static_assert(offsetof(NetPropertiesV11, max_p2p_bytes) == 88 && offsetof(NetPropertiesV11, max_coll_bytes) == 96);
static_assert(offsetof(NetPropertiesV11, max_multi_request_size) == 104);

static_assert(sizeof(NetCommAttrV11) == 16);
static_assert(sizeof(NetAttrV11) == 44);
static_assert(offsetof(NetAttrV11, send_comm) == 0 && offsetof(NetAttrV11, recv_comm) == 16);
static_assert(offsetof(NetAttrV11, op) == 32 && offsetof(NetAttrV11, algo) == 36);
static_assert(offsetof(NetAttrV11, proto) == 40);

static_assert(sizeof(NetV11) == 176);
static_assert(offsetof(NetV11, name) == 0 && offsetof(NetV11, init) == 8);
static_assert(offsetof(NetV11, devices) == 16 && offsetof(NetV11, get_properties) == 24);
static_assert(offsetof(NetV11, listen) == 32 && offsetof(NetV11, connect) == 40);
static_assert(offsetof(NetV11, accept) == 48 && offsetof(NetV11, reg_mr) == 56);
static_assert(offsetof(NetV11, reg_mr_dma_buf) == 64 && offsetof(NetV11, dereg_mr) == 72);
static_assert(offsetof(NetV11, isend) == 80 && offsetof(NetV11, irecv) == 88);
static_assert(offsetof(NetV11, iflush) == 96 && offsetof(NetV11, test) == 104);
static_assert(offsetof(NetV11, close_send) == 112 && offsetof(NetV11, close_recv) == 120);
static_assert(offsetof(NetV11, close_listen) == 128 && offsetof(NetV11, get_device_mr) == 136);
static_assert(offsetof(NetV11, irecv_consumed) == 144 && offsetof(NetV11, make_v_device) == 152);
static_assert(offsetof(NetV11, finalize) == 160 && offsetof(NetV11, set_net_attr) == 168);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V11_H_
