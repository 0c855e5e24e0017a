// A net plugin of v11 that moves data by verbs, as vendors' plugins do. VERBS_LIBRARY: the name by which it opens verbs; not
// defined: it is linked to libibverbs.so.1. VERBS_ON_HEAP: its context is known to no variable of the library.
#include "railwitness/nccl/net_v11.h"

#include <infiniband/verbs.h>

#include <dlfcn.h>

namespace {

using namespace railwitness::nccl;

struct Device {
  ibv_context* context;
  ibv_qp* qp;
  ibv_pd pd;
  ibv_cq cq;
};

#ifdef VERBS_ON_HEAP
struct Owner {  // two steps away from any variable
  Device* device;
};
Owner* owner = new Owner{new Device{}};
Device& device() { return *owner->device; }
#else
ibv_context* all_contexts[4];
Device the_device;
Device& device() { return the_device; }
#endif

#ifdef VERBS_LIBRARY
template <typename Function>
Function* find(const char* name, Function*) {
  static void* library = dlopen(VERBS_LIBRARY, RTLD_NOW);
  return library ? reinterpret_cast<Function*>(dlvsym(library, name, "IBVERBS_1.1")) : nullptr;
}
#define VERBS(name) find(#name, name)
#else
#define VERBS(name) name
#endif

Result init(void** context, uint64_t, NetCommConfigV11*, Logger, ProfilerCallback) {
  *context = &device();
  if (device().context) return kSuccess;
  int count = 0;
  ibv_device** list = VERBS(ibv_get_device_list)(&count);
  if (!list || !count) return kSystemError;
  device().context = VERBS(ibv_open_device)(list[0]);
  VERBS(ibv_free_device_list)(list);
#ifndef VERBS_ON_HEAP
  all_contexts[1] = device().context;
#endif
  return device().context ? kSuccess : kSystemError;
}

Result devices(int* count) {
  *count = 1;
  return kSuccess;
}

Result get_properties(int, NetPropertiesV11* p) {
  static char name[] = "fake_0";
  *p = {};
  p->name = name;
  p->ptr_support = kPtrHost;
  p->max_comms = p->max_recvs = 1;
  p->vprops = {1, {0}};
  p->max_p2p_bytes = p->max_coll_bytes = 1 << 30;
  p->max_multi_request_size = 1;
  return kSuccess;
}

Result listen(void*, int, void*, void** listen_comm) {
  *listen_comm = &device();
  return kSuccess;
}

Result connect(void*, int, void*, void** send_comm, void**) {
  Device& d = device();
  d.pd.context = d.cq.context = d.context;
  ibv_qp_init_attr init{};
  d.qp = VERBS(ibv_create_qp)(&d.pd, &init);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.dest_qp_num = 4242;
  a.ah_attr.port_num = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.sgid_index = 3;
  if (VERBS(ibv_modify_qp)(d.qp, &a, IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_AV)) return kSystemError;
  *send_comm = &d;
  return kSuccess;
}

Result accept(void*, void** recv_comm, void**) {
  *recv_comm = &device();
  return kSuccess;
}

Result reg_mr(void*, void*, size_t, int, void** mr) {
  *mr = &device();
  return kSuccess;
}

Result isend(void*, void* data, size_t bytes, int, void*, void*, void** request) {
  ibv_sge piece{reinterpret_cast<uintptr_t>(data), static_cast<uint32_t>(bytes), 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &piece;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  *request = &device();
  return ibv_post_send(device().qp, &wr, &bad) ? kSystemError : kSuccess;
}

Result irecv(void*, int, void**, size_t*, int*, void**, void**, void** request) {
  *request = nullptr;
  return kSuccess;
}

Result test(void*, int* done, int* bytes) {
  ibv_wc wc;
  *done = ibv_poll_cq(&device().cq, 1, &wc) == 1;
  if (*done && bytes) bytes[0] = 1000;
  return kSuccess;
}

Result close(void*) { return kSuccess; }
Result forget(void*, void*) { return kSuccess; }
Result finalize(void*) { return kSuccess; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const NetV11 ncclNetPlugin_v11{
    .name = "verbs",
    .init = init,
    .devices = devices,
    .get_properties = get_properties,
    .listen = listen,
    .connect = connect,
    .accept = accept,
    .reg_mr = reg_mr,
    .reg_mr_dma_buf = nullptr,
    .dereg_mr = forget,
    .isend = isend,
    .irecv = irecv,
    .iflush = nullptr,
    .test = test,
    .close_send = close,
    .close_recv = close,
    .close_listen = close,
    .get_device_mr = nullptr,
    .irecv_consumed = nullptr,
    .make_v_device = nullptr,
    .finalize = finalize,
    .set_net_attr = nullptr,
};
