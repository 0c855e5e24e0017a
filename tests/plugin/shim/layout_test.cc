// Our declarations of the net and CollNet slots against the layouts measured from NCCL's headers: each line of the data
// file names a struct, its size and where its members lie; each struct we declare must have a line.
#include "railwitness/nccl/collnet_v10.h"
#include "railwitness/nccl/collnet_v11.h"
#include "railwitness/nccl/collnet_v12.h"
#include "railwitness/nccl/collnet_v6.h"
#include "railwitness/nccl/collnet_v7.h"
#include "railwitness/nccl/collnet_v8.h"
#include "railwitness/nccl/collnet_v9.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace railwitness::nccl {
namespace {

using Offsets = std::map<std::string, size_t>;
struct Layout {
  size_t size;
  Offsets offsets;
  bool operator==(const Layout&) const = default;
};

#define AT(T, theirs, ours) {#theirs, offsetof(T, ours)}
#define PROPERTIES_V6(T)                                                                                              \
  AT(T, name, name), AT(T, pciPath, pci_path), AT(T, guid, guid), AT(T, ptrSupport, ptr_support),                     \
      AT(T, speed, speed_mbps), AT(T, port, port), AT(T, latency, latency_us), AT(T, maxComms, max_comms),            \
      AT(T, maxRecvs, max_recvs)
#define PROPERTIES_V7(T)                                                                                              \
  PROPERTIES_V6(T), AT(T, netDeviceType, net_device_type), AT(T, netDeviceVersion, net_device_version)
#define PROPERTIES_V8(T) PROPERTIES_V7(T), AT(T, regIsGlobal, reg_is_global)
#define PROPERTIES_V9(T)                                                                                              \
  PROPERTIES_V8(T), AT(T, forceFlush, force_flush), AT(T, vProps, vprops), AT(T, maxP2pBytes, max_p2p_bytes),         \
      AT(T, maxCollBytes, max_coll_bytes)
#define PROPERTIES_V10(T) PROPERTIES_V9(T)
#define PROPERTIES_V11(T) PROPERTIES_V10(T), AT(T, maxMultiRequestSize, max_multi_request_size)
#define PROPERTIES_V12(T) PROPERTIES_V11(T), AT(T, railId, rail_id), AT(T, planeId, plane_id)

#define COMMON(T)                                                                                                     \
  AT(T, name, name), AT(T, init, init), AT(T, devices, devices), AT(T, getProperties, get_properties),                \
      AT(T, listen, listen), AT(T, connect, connect), AT(T, regMr, reg_mr), AT(T, regMrDmaBuf, reg_mr_dma_buf),       \
      AT(T, deregMr, dereg_mr), AT(T, iflush, iflush), AT(T, test, test), AT(T, closeListen, close_listen)
#define NET_V6(T)                                                                                                     \
  COMMON(T), AT(T, accept, accept), AT(T, isend, isend), AT(T, irecv, irecv), AT(T, closeSend, close_send),           \
      AT(T, closeRecv, close_recv)
#define NET_V7(T) NET_V6(T), AT(T, getDeviceMr, get_device_mr), AT(T, irecvConsumed, irecv_consumed)
#define NET_V8(T) NET_V7(T)
#define NET_V9(T) NET_V8(T), AT(T, makeVDevice, make_v_device)
#define NET_V10(T) NET_V9(T)
#define NET_V11(T) NET_V10(T), AT(T, finalize, finalize), AT(T, setNetAttr, set_net_attr)
#define NET_V12(T) NET_V11(T)

#define COLLNET_V6(T)                                                                                                 \
  COMMON(T), AT(T, reduceSupport, reduce_support), AT(T, iallreduce, iallreduce), AT(T, closeColl, close_coll)
#define COLLNET_V7(T) COLLNET_V6(T)
#define COLLNET_V8(T) COLLNET_V7(T), AT(T, iallgather, iallgather), AT(T, ireducescatter, ireducescatter)
#define COLLNET_V9(T) COLLNET_V8(T), AT(T, makeVDevice, make_v_device)
#define COLLNET_V10(T) COLLNET_V9(T)
#define COLLNET_V11(T) COLLNET_V10(T), AT(T, finalize, finalize)
#define COLLNET_V12(T) COLLNET_V11(T)

#define ATTRIBUTES(T)                                                                                                 \
  AT(T, sendCommAttr, send_comm), AT(T, recvCommAttr, recv_comm), AT(T, op, op), AT(T, algo, algo), AT(T, proto, proto)
#define MEMBERS(T) AT(T, ndevs, ndevs), AT(T, devs, devs)

#define VERSION(n)                                                                                                    \
  {"ncclNetProperties_v" #n "_t", {sizeof(NetPropertiesV##n), {PROPERTIES_V##n(NetPropertiesV##n)}}},                 \
      {"ncclNet_v" #n "_t", {sizeof(NetV##n), {NET_V##n(NetV##n)}}},                                                  \
      {"ncclCollNet_v" #n "_t", {sizeof(CollNetV##n), {COLLNET_V##n(CollNetV##n)}}}
#define EXTRAS(n)                                                                                                     \
  {"ncclNetAttr_v" #n "_t", {sizeof(NetAttrV##n), {ATTRIBUTES(NetAttrV##n)}}},                                        \
      {"ncclNetVDeviceProps_v" #n "_t", {sizeof(NetVDevicePropsV##n), {MEMBERS(NetVDevicePropsV##n)}}}

const std::map<std::string, Layout> kOurs{VERSION(6),  VERSION(7),  VERSION(8), VERSION(9), VERSION(10),
                                          VERSION(11), VERSION(12), EXTRAS(11), EXTRAS(12)};

// "ncclNet_v6_t size=136: name@0 init@8 ..."
Layout read_layout(std::istringstream& line) {
  Layout layout{};
  std::string word;
  line >> word;
  layout.size = std::stoul(word.substr(word.find('=') + 1));
  while (line >> word) layout.offsets[word.substr(0, word.find('@'))] = std::stoul(word.substr(word.find('@') + 1));
  return layout;
}

TEST(Layout, OfEveryStructIsWhatNcclsHeadersGive) {
  std::ifstream file(RAILWITNESS_TEST_DATA "/nccl_abi_layout.txt");
  ASSERT_TRUE(file) << "the layouts are missing from tests/plugin/shim/data";
  int lines = 0, right = 0;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with('#')) continue;
    lines++;
    std::istringstream line(text);
    std::string name;
    line >> name;
    const auto ours = kOurs.find(name);
    const bool is_right = ours != kOurs.end() && ours->second == read_layout(line);
    EXPECT_TRUE(is_right) << text;
    right += is_right;
  }
  printf("layout: %d of %d right\n", right, lines);
  EXPECT_EQ(static_cast<size_t>(right), kOurs.size()) << "a struct we declare has no line";
}

}  // namespace
}  // namespace railwitness::nccl
