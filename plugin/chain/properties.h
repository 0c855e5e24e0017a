// The one place that converts devices' properties of a chained plugin, of every version, its net's and its CollNet's.
// What a version lacks gets what NCCL's own shims for that version say.
#ifndef RAILWITNESS_PLUGIN_CHAIN_PROPERTIES_H_
#define RAILWITNESS_PLUGIN_CHAIN_PROPERTIES_H_

#include "plugin/engine/transport.h"

#include <cstddef>
#include <iterator>

namespace railwitness::chain {

inline constexpr size_t kMaxTransferBytes = size_t{1} << 30;      // MAX_NET_SIZE: the most before v9
inline constexpr size_t kMaxCollectiveBytes = size_t{512} << 20;  // MAX_COLLNET_SIZE

template <typename Properties>
void convert_properties(const Properties& from, int device, engine::DeviceProperties* to) {
  *to = {};
  to->name = from.name;
  to->pci_path = from.pci_path;
  to->guid = from.guid;
  to->ptr_support = from.ptr_support;
  to->speed_mbps = from.speed_mbps;
  to->port = from.port;
  to->latency_us = from.latency_us;
  to->max_comms = from.max_comms;
  to->max_recvs = from.max_recvs;
  to->net_device_type = nccl::kNetDeviceHost;
  to->members = {1, {device}};
  to->max_p2p_bytes = kMaxTransferBytes;
  to->max_coll_bytes = kMaxCollectiveBytes;
  to->max_multi_request_size = 1;
  to->rail_id = to->plane_id = nccl::kUndefined;
  if constexpr (requires { from.net_device_type; }) {  // v7
    to->net_device_type = from.net_device_type;
    to->net_device_version = from.net_device_version;
  }
  if constexpr (requires { from.reg_is_global; }) to->reg_is_global = from.reg_is_global;  // v8
  if constexpr (requires { from.vprops; }) {                                               // v9
    constexpr int kMost = static_cast<int>(std::size(decltype(from.vprops.devs){}));
    to->force_flush = from.force_flush;
    to->members.count = from.vprops.ndevs < kMost ? from.vprops.ndevs : kMost;
    for (int i = 0; i < to->members.count; i++) to->members.devices[i] = from.vprops.devs[i];
    to->max_p2p_bytes = from.max_p2p_bytes;
    to->max_coll_bytes = from.max_coll_bytes;
  }
  if constexpr (requires { from.max_multi_request_size; }) to->max_multi_request_size = from.max_multi_request_size;
  if constexpr (requires { from.rail_id; }) {  // v12
    to->rail_id = from.rail_id;
    to->plane_id = from.plane_id;
  }
}

// `to` is written on success only.
template <typename Properties>
engine::Result read_properties(engine::Result (*get)(int, Properties*), int device, engine::DeviceProperties* to) {
  Properties from{};
  const engine::Result result = get(device, &from);
  if (result == nccl::kSuccess) convert_properties(from, device, to);
  return result;
}

template <typename Members>
engine::Result make_virtual_device(engine::Result (*make)(int*, Members*), int* device,
                                   const engine::VirtualDevice& members) {
  Members to{};
  constexpr int kMost = static_cast<int>(std::size(decltype(to.devs){}));
  if (members.count < 0 || members.count > kMost) return nccl::kInvalidArgument;  // NCCL goes on without this fusion
  to.ndevs = members.count;
  for (int i = 0; i < members.count; i++) to.devs[i] = members.devices[i];
  return make(device, &to);
}

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_PROPERTIES_H_
