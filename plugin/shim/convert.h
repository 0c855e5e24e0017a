// The one place where the engine's device properties become those of a version, and a version's virtual devices the
// engine's. Every field that the version has is set, because NCCL 2.30 copies what v11 leaves from uninitialised memory.
#ifndef RAILWITNESS_PLUGIN_SHIM_CONVERT_H_
#define RAILWITNESS_PLUGIN_SHIM_CONVERT_H_

#include "plugin/engine/transport.h"

#include <algorithm>
#include <iterator>

namespace railwitness::shim {

template <typename Members>
void set_members(const engine::VirtualDevice& from, Members& to) {
  const int most = static_cast<int>(std::size(to.devs));
  to.ndevs = std::clamp(from.count, 0, most);
  for (int i = 0; i < most; i++) to.devs[i] = i < to.ndevs ? from.devices[i] : 0;
}

template <typename Properties>
void set_properties(const engine::DeviceProperties& from, Properties& to) {
  to = {};
  to.name = const_cast<char*>(from.name);  // NCCL reads it only
  to.pci_path = const_cast<char*>(from.pci_path);
  to.guid = from.guid;
  to.ptr_support = from.ptr_support;
  if constexpr (requires { to.reg_is_global; }) to.reg_is_global = from.reg_is_global;
  if constexpr (requires { to.force_flush; }) to.force_flush = from.force_flush;
  to.speed_mbps = from.speed_mbps;
  to.port = from.port;
  to.latency_us = from.latency_us;
  to.max_comms = from.max_comms;
  to.max_recvs = from.max_recvs;
  if constexpr (requires { to.net_device_type; }) to.net_device_type = from.net_device_type;
  if constexpr (requires { to.net_device_version; }) to.net_device_version = from.net_device_version;
  if constexpr (requires { to.vprops; }) set_members(from.members, to.vprops);
  if constexpr (requires { to.max_p2p_bytes; }) to.max_p2p_bytes = from.max_p2p_bytes;
  if constexpr (requires { to.max_coll_bytes; }) to.max_coll_bytes = from.max_coll_bytes;
  if constexpr (requires { to.max_multi_request_size; }) to.max_multi_request_size = from.max_multi_request_size;
  if constexpr (requires { to.rail_id; }) to.rail_id = from.rail_id;
  if constexpr (requires { to.plane_id; }) to.plane_id = from.plane_id;
}

template <typename Members>
engine::VirtualDevice virtual_device(const Members& from) {
  engine::VirtualDevice to{};
  to.count = std::clamp(from.ndevs, 0, static_cast<int>(std::size(from.devs)));
  for (int i = 0; i < to.count; i++) to.devices[i] = from.devs[i];
  return to;
}

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_CONVERT_H_
