// The loop plugin's net tables, one a version, or with LOOP_ONLY that one.
#include "tests/plugin/net_host/loop/loop.h"

#include <cstring>

namespace railwitness::net_host::loop {
namespace {

void* shared_context;  // v6 to v10: one for all

template <int V>
struct Table {
  static Result init_old(abi::Logger log) { return loop::init(&shared_context, {0, abi::kUndefined, log, nullptr}); }
  static Result init_10(abi::Logger log, abi::ProfilerCallback profiler) {
    return loop::init(&shared_context, {0, abi::kUndefined, log, profiler});
  }
  static Result init(void** context, uint64_t comm_id, abi::CommConfig* config, abi::Logger log,
                     abi::ProfilerCallback profiler) {
    return loop::init(context, {comm_id, config->traffic_class, log, profiler});
  }

  static Result get_properties(int device, abi::Properties<V>* out) {
    abi::Properties<12> p;
    if (const Result result = loop::properties(device, &p); result) return result;
    out->name = p.name, out->pci_path = p.pci_path, out->guid = p.guid, out->ptr_support = p.ptr_support;
    out->speed = p.speed, out->port = p.port, out->latency = p.latency;
    out->max_comms = p.max_comms, out->max_recvs = p.max_recvs;
    if constexpr (V >= 7) out->net_device_type = p.net_device_type, out->net_device_version = p.net_device_version;
    if constexpr (V >= 8) out->reg_is_global = p.reg_is_global;
    if constexpr (V >= 9) {
      out->force_flush = p.force_flush, out->max_p2p_bytes = p.max_p2p_bytes, out->max_coll_bytes = p.max_coll_bytes;
      out->members.ndevs = p.members.ndevs;
      for (size_t i = 0; i < sizeof out->members.devs / sizeof(int); i++) out->members.devs[i] = p.members.devs[i];
    }
    if constexpr (V >= 11) out->max_multi_request_size = p.max_multi_request_size;
    if constexpr (V >= 12) out->rail_id = p.rail_id, out->plane_id = p.plane_id;
    return abi::kSuccess;
  }

  static Result listen_old(int device, void* handle, void** comm) { return loop::listen(shared_context, device, handle, comm); }
  static Result connect_6(int device, void* handle, void** comm) {
    return loop::connect(shared_context, device, abi::kUndefined, handle, comm, nullptr);
  }
  static Result connect_7(int device, void* handle, void** comm, void** device_handle) {
    return loop::connect(shared_context, device, abi::kUndefined, handle, comm, device_handle);
  }
  static Result connect_10(int device, abi::CommConfig* config, void* handle, void** comm, void** device_handle) {
    return loop::connect(shared_context, device, config->traffic_class, handle, comm, device_handle);
  }
  static Result connect(void* context, int device, void* handle, void** comm, void** device_handle) {
    int traffic_class;  // first in the context's second word
    memcpy(&traffic_class, static_cast<char*>(context) + sizeof(uint64_t), sizeof traffic_class);
    return loop::connect(context, device, traffic_class, handle, comm, device_handle);
  }
  static Result accept_6(void* listen_comm, void** comm) { return loop::accept(listen_comm, comm, nullptr); }

  static Result reg_mr(void* comm, void* data, abi::RegisteredBytes<V> bytes, int type, void** mr) {
    return loop::register_memory(comm, data, static_cast<size_t>(bytes), type, mr);
  }
  static Result isend_old(void* comm, void* data, abi::Bytes<V> bytes, int tag, void* mr, void** request) {
    return loop::isend(comm, data, static_cast<size_t>(bytes), tag, mr, nullptr, request);
  }
  static Result irecv_old(void* comm, int n, void** data, abi::Bytes<V>* bytes, int* tags, void** mrs, void** request) {
    size_t sizes[abi::kMaxChannels];
    for (int i = 0; i < n && i < abi::kMaxChannels; i++) sizes[i] = static_cast<size_t>(bytes[i]);
    return loop::irecv(comm, n, data, sizes, tags, mrs, nullptr, request);
  }
  static Result irecv(void* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** phandles, void** request) {
    return loop::irecv(comm, n, data, bytes, tags, mrs, phandles, request);
  }
  static Result get_device_mr(void*, void*, void**) { return abi::kInternalError; }
  static Result make_v_device(int* device, abi::VirtualDeviceOf<V>* members) {
    return loop::make_virtual_device(device, members->devs, members->ndevs, sizeof members->devs / sizeof(int));
  }
  static Result set_net_attr(void* context, abi::Attributes* attributes) { return loop::set_attributes(context, attributes); }

  static constexpr auto pick_init() {
    if constexpr (V >= 11) return init;
    else if constexpr (V == 10) return init_10;
    else return init_old;
  }
  static constexpr auto pick_listen() {
    if constexpr (V >= 11) return loop::listen;
    else return listen_old;
  }
  static constexpr auto pick_connect() {
    if constexpr (V >= 11) return connect;
    else if constexpr (V == 10) return connect_10;
    else if constexpr (V >= 7) return connect_7;
    else return connect_6;
  }
  static constexpr auto pick_accept() {
    if constexpr (V >= 7) return loop::accept;
    else return accept_6;
  }
  static constexpr auto pick_isend() {
    if constexpr (V >= 10) return loop::isend;
    else return isend_old;
  }
  static constexpr auto pick_irecv() {
    if constexpr (V >= 10) return irecv;
    else return irecv_old;
  }
};

template <int V>
constexpr abi::Net<V> make() {
  using T = Table<V>;
  abi::Net<V> t{};
  t.name = "loop";
  t.init = T::pick_init(), t.devices = devices, t.get_properties = T::get_properties;
  t.listen = T::pick_listen(), t.connect = T::pick_connect(), t.accept = T::pick_accept();
  t.reg_mr = T::reg_mr, t.reg_mr_dma_buf = register_dmabuf, t.dereg_mr = deregister;
  t.isend = T::pick_isend(), t.irecv = T::pick_irecv(), t.iflush = iflush, t.test = test;
  t.close_send = close_send, t.close_recv = close_recv, t.close_listen = close_listen;
  if constexpr (V >= 7) t.get_device_mr = T::get_device_mr, t.irecv_consumed = consumed;
  if constexpr (V >= 9) t.make_v_device = T::make_v_device;
  if constexpr (V >= 11) t.finalize = finalize, t.set_net_attr = T::set_net_attr;
  return t;
}

}  // namespace

#define TABLE(V) extern "C" __attribute__((visibility("default"))) constinit const abi::Net<V> ncclNetPlugin_v##V = make<V>();
#if !defined LOOP_ONLY || LOOP_ONLY == 6
TABLE(6)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 7
TABLE(7)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 8
TABLE(8)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 9
TABLE(9)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 10
TABLE(10)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 11
TABLE(11)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 12
TABLE(12)
#endif

}  // namespace railwitness::net_host::loop
