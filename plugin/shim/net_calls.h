// What several net versions translate in the same way. What needs no translation is the engine's own function.
#ifndef RAILWITNESS_PLUGIN_SHIM_NET_CALLS_H_
#define RAILWITNESS_PLUGIN_SHIM_NET_CALLS_H_

#include "plugin/engine/engine.h"
#include "plugin/shim/convert.h"
#include "plugin/shim/start.h"

#include <cstddef>

namespace railwitness::shim {

using nccl::Result;

template <typename Properties>
Result get_properties(int device, Properties* properties) noexcept {
  engine::DeviceProperties ours{};
  const Result result = engine::properties(device, &ours);
  if (result == nccl::kSuccess) set_properties(ours, *properties);
  return result;
}

template <typename Members>
Result make_v_device(int* device, Members* members) noexcept {
  return engine::make_virtual_device(device, virtual_device(*members));
}

// Offered only if the transport has virtual devices: NCCL takes a function that is not null for a promise. NCCL reads the
// table after init.
template <typename Net>
void offer_virtual_devices(Net& net) {
  net.make_v_device = nullptr;
  if (engine::has_virtual_devices()) net.make_v_device = make_v_device;
}

// --- v6 to v9: one context for all, no traffic class ---

inline Result init_plain(nccl::Logger log) noexcept {
  start(log);
  return engine::init_shared(log, nullptr);
}

inline Result listen_shared(int device, void* handle, void** listen_comm) noexcept {
  void* context = nullptr;
  const Result result = engine::shared_context({nccl::kUndefined}, &context);
  return result == nccl::kSuccess ? engine::listen(context, device, handle, listen_comm) : result;
}

inline Result connect_plain(int device, void* handle, void** send_comm, void** device_handle) noexcept {
  void* context = nullptr;
  const Result result = engine::shared_context({nccl::kUndefined}, &context);
  return result == nccl::kSuccess ? engine::connect(context, device, handle, send_comm, device_handle) : result;
}

// --- v6 and v7: registrations of less than 2 GiB ---

inline Result reg_mr_small(void* comm, void* data, int bytes, int type, void** mr) noexcept {
  if (bytes < 0) return nccl::kInternalError;
  return engine::register_memory(comm, data, static_cast<size_t>(bytes), type, mr);
}

// --- v6 to v8: transfers of less than 2 GiB, and every arrival is asked for ---

inline Result isend_small(void* comm, void* data, int bytes, int tag, void* mr, void** request) noexcept {
  return engine::isend(comm, data, static_cast<size_t>(bytes), tag, mr, nullptr, request);
}

inline Result irecv_small(void* comm, int n, void** data, int* bytes, int* tags, void** mrs, void** request) noexcept {
  if (n > engine::kMaxGroup) return nccl::kInternalError;
  size_t wide[engine::kMaxGroup];
  for (int i = 0; i < n; i++) wide[i] = static_cast<size_t>(bytes[i]);
  *request = nullptr;  // what is in it means nothing in these versions
  return engine::irecv(comm, n, data, wide, tags, mrs, nullptr, request);
}

// --- v11 and later: a context for each communicator ---

template <typename Config>
Result init_in_context(void** context, uint64_t comm_id, Config* config, nccl::Logger log,
                       nccl::ProfilerCallback profiler) noexcept {
  start(log);
  return engine::init(context, comm_id, {config ? config->traffic_class : nccl::kUndefined}, log, profiler);
}

template <typename Attributes>
Result set_net_attr(void* context, Attributes* attributes) noexcept {
  return engine::set_attributes(context, attributes);
}

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_NET_CALLS_H_
