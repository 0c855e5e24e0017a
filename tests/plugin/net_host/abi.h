// NCCL's net and CollNet tables of every version, declared a second time: from the layout of NCCL's structs, not from
// include/railwitness/nccl, so that a mistake there is not repeated here. Signatures: src/include/plugin/net/net_v*.h of
// NCCL 2.30, src/include/nccl_net.h of 2.18 to 2.25.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_ABI_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace railwitness::net_host::abi {

using Result = int;  // ncclResult_t
inline constexpr Result kSuccess = 0, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4, kRemoteError = 6,
                        kInProgress = 7;
inline constexpr int kOldest = 6, kNewest = 12;
inline constexpr size_t kHandleBytes = 128, kMaxNetBytes = size_t{1} << 40;
inline constexpr int kMaxRequests = 32, kMaxChannels = 64;
inline constexpr int kPtrHost = 1, kPtrCuda = 2, kPtrDmabuf = 4;
inline constexpr int kUndefined = -1;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using ProfilerCallback = Result (*)(void** event, int type, void* phandle, int64_t plugin, void* data);

struct CommConfig {
  int traffic_class;
};
struct CommAttributes {
  int32_t max_concurrent_peers, min_concurrent_peers, max_flows_per_peer, min_flows_per_peer;
};
struct Attributes {
  CommAttributes send, recv;
  uint32_t op, algo, proto;
};
static_assert(sizeof(Attributes) == 44);

template <int N>
struct VirtualDevice {
  int ndevs;
  int devs[N];
};
static_assert(sizeof(VirtualDevice<4>) == 20 && sizeof(VirtualDevice<8>) == 36);
template <int V>
using VirtualDeviceOf = VirtualDevice<(V >= 12 ? 8 : 4)>;

template <int V>
struct Properties;
template <>
struct Properties<6> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, speed, port;
  float latency;
  int max_comms, max_recvs;
};
template <>
struct Properties<7> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, speed, port;
  float latency;
  int max_comms, max_recvs, net_device_type, net_device_version;
};
template <>
struct Properties<8> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, reg_is_global, speed, port;
  float latency;
  int max_comms, max_recvs, net_device_type, net_device_version;
};
template <>
struct Properties<9> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, reg_is_global, force_flush, speed, port;
  float latency;
  int max_comms, max_recvs, net_device_type, net_device_version;
  VirtualDevice<4> members;
  size_t max_p2p_bytes, max_coll_bytes;
};
template <>
struct Properties<10> : Properties<9> {};
template <>
struct Properties<11> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, reg_is_global, force_flush, speed, port;
  float latency;
  int max_comms, max_recvs, net_device_type, net_device_version;
  VirtualDevice<4> members;
  size_t max_p2p_bytes, max_coll_bytes;
  int max_multi_request_size;
};
template <>
struct Properties<12> {
  char *name, *pci_path;
  uint64_t guid;
  int ptr_support, reg_is_global, force_flush, speed, port;
  float latency;
  int max_comms, max_recvs, net_device_type, net_device_version;
  VirtualDevice<8> members;
  size_t max_p2p_bytes, max_coll_bytes;
  int max_multi_request_size;
  int16_t rail_id, plane_id;
};
static_assert(sizeof(Properties<6>) == 48 && sizeof(Properties<7>) == 56 && sizeof(Properties<8>) == 64);
static_assert(sizeof(Properties<9>) == 104 && sizeof(Properties<10>) == 104);
static_assert(sizeof(Properties<11>) == 112 && sizeof(Properties<12>) == 128);
static_assert(offsetof(Properties<6>, speed) == 28 && offsetof(Properties<6>, max_recvs) == 44);
static_assert(offsetof(Properties<7>, net_device_type) == 48 && offsetof(Properties<8>, reg_is_global) == 28);
static_assert(offsetof(Properties<8>, net_device_version) == 56 && offsetof(Properties<9>, force_flush) == 32);
static_assert(offsetof(Properties<9>, members) == 64 && offsetof(Properties<9>, max_p2p_bytes) == 88);
static_assert(offsetof(Properties<11>, max_multi_request_size) == 104);
static_assert(offsetof(Properties<12>, max_p2p_bytes) == 104 && offsetof(Properties<12>, plane_id) == 126);

template <typename... Arguments>
using Call = Result (*)(Arguments...);
template <int V>
using Bytes = std::conditional_t<(V >= 9), size_t, int>;  // of a transfer
template <int V>
using RegisteredBytes = std::conditional_t<(V >= 8), size_t, int>;
template <bool B, typename Then, typename Else>
using If = std::conditional_t<B, Then, Else>;

template <int V>
using Init = If<(V >= 11), Call<void**, uint64_t, CommConfig*, Logger, ProfilerCallback>,
                If<(V == 10), Call<Logger, ProfilerCallback>, Call<Logger>>>;
template <int V>
using Listen = If<(V >= 11), Call<void*, int, void*, void**>, Call<int, void*, void**>>;
template <int V>
using Connect = If<(V >= 11), Call<void*, int, void*, void**, void**>,
                   If<(V == 10), Call<int, CommConfig*, void*, void**, void**>,
                      If<(V >= 7), Call<int, void*, void**, void**>, Call<int, void*, void**>>>>;
template <int V>
using Accept = If<(V >= 7), Call<void*, void**, void**>, Call<void*, void**>>;
template <int V>
using Isend = If<(V >= 10), Call<void*, void*, size_t, int, void*, void*, void**>,
                 Call<void*, void*, Bytes<V>, int, void*, void**>>;
template <int V>
using Irecv = If<(V >= 10), Call<void*, int, void**, size_t*, int*, void**, void**, void**>,
                 Call<void*, int, void**, Bytes<V>*, int*, void**, void**>>;

#define NET_HOST_HEAD(V)                                                             \
  const char* name;                                                                  \
  Init<V> init;                                                                      \
  Call<int*> devices;                                                                \
  Call<int, Properties<V>*> get_properties;                                          \
  Listen<V> listen;                                                                  \
  Connect<V> connect;                                                                \
  Accept<V> accept;                                                                  \
  Call<void*, void*, RegisteredBytes<V>, int, void**> reg_mr;                        \
  Call<void*, void*, size_t, int, uint64_t, int, void**> reg_mr_dma_buf;             \
  Call<void*, void*> dereg_mr;                                                       \
  Isend<V> isend;                                                                    \
  Irecv<V> irecv;                                                                    \
  Call<void*, int, void**, int*, void**, void**> iflush;                             \
  Call<void*, int*, int*> test;                                                      \
  Call<void*> close_send, close_recv, close_listen;
#define NET_HOST_SINCE_7                       \
  Call<void*, void*, void**> get_device_mr;    \
  Call<void*, int, void*> irecv_consumed;
#define NET_HOST_SINCE_11   \
  Call<void*> finalize;     \
  Call<void*, Attributes*> set_net_attr;

template <int V>
struct Net;
template <>
struct Net<6> {
  NET_HOST_HEAD(6)
};
template <>
struct Net<7> {
  NET_HOST_HEAD(7) NET_HOST_SINCE_7
};
template <>
struct Net<8> {
  NET_HOST_HEAD(8) NET_HOST_SINCE_7
};
template <>
struct Net<9> {
  NET_HOST_HEAD(9) NET_HOST_SINCE_7
  Call<int*, VirtualDevice<4>*> make_v_device;
};
template <>
struct Net<10> {
  NET_HOST_HEAD(10) NET_HOST_SINCE_7
  Call<int*, VirtualDevice<4>*> make_v_device;
};
template <>
struct Net<11> {
  NET_HOST_HEAD(11) NET_HOST_SINCE_7
  Call<int*, VirtualDevice<4>*> make_v_device;
  NET_HOST_SINCE_11
};
template <>
struct Net<12> {
  NET_HOST_HEAD(12) NET_HOST_SINCE_7
  Call<int*, VirtualDevice<8>*> make_v_device;
  NET_HOST_SINCE_11
};
static_assert(sizeof(Net<6>) == 136 && sizeof(Net<7>) == 152 && sizeof(Net<8>) == 152 && sizeof(Net<9>) == 160);
static_assert(sizeof(Net<10>) == 160 && sizeof(Net<11>) == 176 && sizeof(Net<12>) == 176);
static_assert(offsetof(Net<12>, isend) == 80 && offsetof(Net<12>, test) == 104 && offsetof(Net<12>, close_listen) == 128);
static_assert(offsetof(Net<12>, make_v_device) == 152 && offsetof(Net<12>, set_net_attr) == 168);

// A piece of a buffer, of iallgather and ireducescatter.
template <int V>
struct Piece {
  void *mhandle, *address;
  If<(V >= 9), size_t, uint32_t> size;
};
template <int V>
using PiecesOf = Piece<V>*;

#define NET_HOST_COLL_HEAD(V)                                                                                       \
  const char* name;                                                                                                 \
  If<(V >= 11), Call<void**, uint64_t, Logger>, Call<Logger>> init;                                                 \
  Call<int*> devices;                                                                                               \
  Call<int, Properties<V>*> get_properties;                                                                         \
  Listen<V> listen;                                                                                                 \
  Call<void**, int, int, void*, void**> connect;                                                                    \
  Call<int, int, int*> reduce_support;                                                                              \
  Call<void*, void*, RegisteredBytes<V>, int, void**> reg_mr;                                                       \
  Call<void*, void*, size_t, int, uint64_t, int, void**> reg_mr_dma_buf;                                            \
  Call<void*, void*> dereg_mr;                                                                                      \
  Call<void*, void*, void*, Bytes<V>, int, int, void*, void*, void**> iallreduce;
#define NET_HOST_COLL_SINCE_8(V)                                                                                    \
  Call<void*, void*, int, PiecesOf<V>, size_t, size_t, size_t, void*, void**> iallgather;                           \
  Call<void*, int, PiecesOf<V>, void*, size_t, size_t, size_t, int, int, void*, void**> ireducescatter;
#define NET_HOST_COLL_REST                                    \
  Call<void*, void*, int, void*, void**> iflush;              \
  Call<void*, int*, int*> test;                               \
  Call<void*> close_coll, close_listen;

template <int V>
struct CollNet;
template <>
struct CollNet<6> {
  NET_HOST_COLL_HEAD(6) NET_HOST_COLL_REST
};
template <>
struct CollNet<7> {
  NET_HOST_COLL_HEAD(7) NET_HOST_COLL_REST
};
template <>
struct CollNet<8> {
  NET_HOST_COLL_HEAD(8) NET_HOST_COLL_SINCE_8(8) NET_HOST_COLL_REST
};
template <>
struct CollNet<9> {
  NET_HOST_COLL_HEAD(9) NET_HOST_COLL_SINCE_8(9) NET_HOST_COLL_REST
  Call<int*, VirtualDevice<4>*> make_v_device;
};
template <>
struct CollNet<10> {
  NET_HOST_COLL_HEAD(10) NET_HOST_COLL_SINCE_8(10) NET_HOST_COLL_REST
  Call<int*, VirtualDevice<4>*> make_v_device;
};
template <>
struct CollNet<11> {
  NET_HOST_COLL_HEAD(11) NET_HOST_COLL_SINCE_8(11) NET_HOST_COLL_REST
  Call<int*, VirtualDevice<4>*> make_v_device;
  Call<void*> finalize;
};
template <>
struct CollNet<12> {
  NET_HOST_COLL_HEAD(12) NET_HOST_COLL_SINCE_8(12) NET_HOST_COLL_REST
  Call<int*, VirtualDevice<8>*> make_v_device;
  Call<void*> finalize;
};
static_assert(sizeof(CollNet<6>) == 120 && sizeof(CollNet<7>) == 120 && sizeof(CollNet<8>) == 136);
static_assert(sizeof(CollNet<9>) == 144 && sizeof(CollNet<10>) == 144);
static_assert(sizeof(CollNet<11>) == 152 && sizeof(CollNet<12>) == 152);
static_assert(offsetof(CollNet<6>, iflush) == 88 && offsetof(CollNet<8>, iallgather) == 88);
static_assert(offsetof(CollNet<11>, close_listen) == 128 && offsetof(CollNet<11>, finalize) == 144);

#undef NET_HOST_HEAD
#undef NET_HOST_SINCE_7
#undef NET_HOST_SINCE_11
#undef NET_HOST_COLL_HEAD
#undef NET_HOST_COLL_SINCE_8
#undef NET_HOST_COLL_REST

}  // namespace railwitness::net_host::abi

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_ABI_H_
