// Reads a device's properties as NCCL does: into memory that holds anything before (2.30 copies v11's out of a struct on
// its stack, field by field). A field that is still what it was before, twice, was not set.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_PROPERTIES_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_PROPERTIES_H_

#include "tests/plugin/net_host/net.h"

#include <cstring>

namespace railwitness::net_host {

inline bool is_all(const void* bytes, size_t n, int value) {
  for (size_t i = 0; i < n; i++)
    if (static_cast<const unsigned char*>(bytes)[i] != value) return false;
  return true;
}

template <int V>
Result read_properties(abi::Call<int, abi::Properties<V>*> get, int device, Device* out) {
  constexpr int kPoisons[] = {0xA5, 0x5A};
  abi::Properties<V> seen[2];
  for (int i = 0; i < 2; i++) {
    memset(static_cast<void*>(&seen[i]), kPoisons[i], sizeof seen[i]);
    if (const Result result = get(device, &seen[i]); result) return result;
  }
  abi::Properties<V>& p = seen[0];
  const auto take = [&](const char* name, auto member) {
    if (is_all(&(seen[0].*member), sizeof(seen[0].*member), kPoisons[0]) &&
        is_all(&(seen[1].*member), sizeof(seen[1].*member), kPoisons[1])) {
      out->unset += out->unset.empty() ? name : std::string(", ") + name;
      memset(&(p.*member), 0, sizeof(p.*member));
    }
    return p.*member;
  };
  using P = std::conditional_t<V == 10, abi::Properties<9>, abi::Properties<V>>;  // whose members they are
  const char* name = take("name", &P::name);
  const char* path = take("pciPath", &P::pci_path);
  out->name = name ? name : "";
  out->pci_path = path ? path : "";
  out->guid = take("guid", &P::guid);
  out->ptr_support = take("ptrSupport", &P::ptr_support);
  out->speed = take("speed", &P::speed);
  out->port = take("port", &P::port);
  out->latency = take("latency", &P::latency);
  out->max_comms = take("maxComms", &P::max_comms);
  out->max_recvs = take("maxRecvs", &P::max_recvs);
  out->members = {device};
  out->max_p2p_bytes = size_t{1} << 30, out->max_coll_bytes = size_t{1} << 29;
  if constexpr (V >= 7) {
    out->net_device_type = take("netDeviceType", &P::net_device_type);
    out->net_device_version = take("netDeviceVersion", &P::net_device_version);
  }
  if constexpr (V >= 8) out->reg_is_global = take("regIsGlobal", &P::reg_is_global);
  if constexpr (V >= 9) {
    out->force_flush = take("forceFlush", &P::force_flush);
    out->max_p2p_bytes = take("maxP2pBytes", &P::max_p2p_bytes);
    out->max_coll_bytes = take("maxCollBytes", &P::max_coll_bytes);
    const auto members = take("vProps", &P::members);
    constexpr int kMost = sizeof members.devs / sizeof(int);
    if (members.ndevs < 1 || members.ndevs > kMost) out->unset += " vProps.ndevs " + std::to_string(members.ndevs);
    else out->members.assign(members.devs, members.devs + members.ndevs);
  }
  if constexpr (V >= 11) out->max_multi_request_size = take("maxMultiRequestSize", &P::max_multi_request_size);
  if constexpr (V >= 12) {
    out->rail_id = take("railId", &P::rail_id);
    out->plane_id = take("planeId", &P::plane_id);
  }
  return abi::kSuccess;
}

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_PROPERTIES_H_
