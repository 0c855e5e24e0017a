// ncclNet_v5_t (NCCL 2.12 to 2.25): the symbol ncclNetPlugin_v5. v6 without reg_mr_dma_buf.
#ifndef RAILWITNESS_NCCL_NET_V5_H_
#define RAILWITNESS_NCCL_NET_V5_H_

#include "railwitness/nccl/net_v6.h"

#include <cstddef>

namespace railwitness::nccl {

using NetPropertiesV5 = NetPropertiesV6;

struct NetV5 {
  const char* name;
  Result (*init)(Logger log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, NetPropertiesV5* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm);
  Result (*accept)(void* listen_comm, void** recv_comm);
  Result (*reg_mr)(void* comm, void* data, int bytes, int type, void** mr);
  Result (*dereg_mr)(void* comm, void* mr);
  Result (*isend)(void* comm, void* data, int bytes, int tag, void* mr, void** request);
  Result (*irecv)(void* comm, int n, void** data, int* bytes, int* tags, void** mrs, void** request);
  Result (*iflush)(void* comm, int n, void** data, int* bytes, void** mrs, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_send)(void* comm);
  Result (*close_recv)(void* comm);
  Result (*close_listen)(void* comm);
};

static_assert(sizeof(NetV5) == 128);
static_assert(offsetof(NetV5, name) == 0 && offsetof(NetV5, init) == 8 && offsetof(NetV5, reg_mr) == 56);
static_assert(offsetof(NetV5, dereg_mr) == 64 && offsetof(NetV5, isend) == 72 && offsetof(NetV5, irecv) == 80);
static_assert(offsetof(NetV5, iflush) == 88 && offsetof(NetV5, test) == 96 && offsetof(NetV5, close_send) == 104);
static_assert(offsetof(NetV5, close_recv) == 112 && offsetof(NetV5, close_listen) == 120);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_NET_V5_H_
