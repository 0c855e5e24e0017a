// The one interface behind every version of NCCL's net slot: what the shims translate to, and what `chain` (another
// net plugin) and `ofi` (our libfabric transport) implement. Its calls are those of the newest net version, v12.
//
// One transport per process, chosen at the first init and never changed: test() has neither context nor comm.
//
// Threads, as NCCL calls (one proxy service and one progress thread per communicator; several communicators at once):
//   init, devices, properties, make_virtual_device, finalize      the thread that makes or ends a communicator
//   listen, connect, accept, close_*, register_*, deregister, get_device_mr   a service thread
//   isend, irecv, iflush, test, irecv_consumed                    a progress thread
//   set_attributes                                                both
// so register_* and deregister run while isend and test of the same comm do. A comm's isend, irecv and test come from one
// thread at a time. No call may block: the thread has other connections, and an abort waits for it.
//
// Results: kSuccess, or an error that ends the communicator; never kInProgress (NCCL takes it for success). "Not yet" is
// kSuccess with a null comm or request, or with *done == 0. Nothing is thrown.
#ifndef RAILWITNESS_PLUGIN_ENGINE_TRANSPORT_H_
#define RAILWITNESS_PLUGIN_ENGINE_TRANSPORT_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::engine {

using nccl::Result;

inline constexpr int kMaxDevicesPerNic = 8;  // v12; earlier versions show at most 4
inline constexpr int kMaxGroup = 64;         // receives of one irecv: NCCL's MAXCHANNELS bounds maxRecvs

struct VirtualDevice {
  int count;
  int devices[kMaxDevicesPerNic];
};

// Every field of every version. A transport fills them all.
struct DeviceProperties {
  const char* name;      // unique in the process; lives as long as the process
  const char* pci_path;  // sysfs real path of the PCI function, or null; lives as long as the process
  uint64_t guid;
  int ptr_support;  // bits: nccl::kPtr*
  int reg_is_global;
  int force_flush;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
  int net_device_type;  // nccl::kNetDeviceHost, or what a chained plugin says
  int net_device_version;
  VirtualDevice members;  // a plain device: itself alone
  size_t max_p2p_bytes;   // 1 to nccl::kMaxNetBytes
  size_t max_coll_bytes;
  int max_multi_request_size;  // 1: the feature is off
  int16_t rail_id;             // nccl::kUndefined
  int16_t plane_id;
};

struct CommConfig {
  int traffic_class;  // nccl::kUndefined: none asked for
};

// What a connection is between, for the witness; asked once, right after connect or accept gave a comm. What is not
// known stays as it is here.
struct Ends {
  int device = -1;           // index as for properties()
  uint32_t number = 0;       // of this end, unique on its host and address; 0: the engine gives one
  uint32_t peer_number = 0;  // 0: not known
  uint8_t gid[16] = {};      // addresses as GIDs: IPv4 as ::ffff:a.b.c.d
  uint8_t peer_gid[16] = {};
};

// The frequent calls as plain functions, with the arguments of Transport's: one jump less for each.
struct Calls {
  Result (*isend)(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request);
  Result (*irecv)(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                  void** request);
  Result (*test)(void* request, int* done, int* bytes);
};

class Transport {
 public:
  // In words, for the banner and the segment: "ofi (tcp;ofi_rxm)", "chain of libnccl-net-spcx.so (v8)".
  virtual const char* description() const = 0;

  // Once per communicator that brings its own context (v11 and later), else once for all (v6 to v10). Sets a context that
  // is not null even when it fails.
  virtual Result init(void** context, uint64_t comm_id, const CommConfig& config, nccl::Logger log,
                      nccl::ProfilerCallback profiler) = 0;
  virtual Result finalize(void* context) = 0;
  virtual Result devices(int* count) = 0;
  virtual Result properties(int device, DeviceProperties* properties) = 0;
  virtual Result make_virtual_device(int* device, const VirtualDevice& members) = 0;
  virtual bool has_virtual_devices() const = 0;  // false: make_virtual_device is not offered to NCCL

  // `handle` is nccl::kHandleBytes. connect gets the same memory again on each try of one connection. `device_handle` is
  // what NCCL passed, and may be anything on RCCL.
  virtual Result listen(void* context, int device, void* handle, void** listen_comm) = 0;
  virtual Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) = 0;
  virtual Result accept(void* listen_comm, void** recv_comm, void** device_handle) = 0;
  virtual Result close_listen(void* listen_comm) = 0;
  virtual Result close_send(void* send_comm) = 0;  // with requests outstanding, when a communicator is aborted
  virtual Result close_recv(void* recv_comm) = 0;
  virtual void describe(void* comm, bool is_send, Ends* ends) = 0;

  // `mr` is never null after kSuccess (NCCL would register again with every operation).
  virtual Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) = 0;
  virtual Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) = 0;
  virtual Result deregister(void* comm, void* mr) = 0;
  virtual Result get_device_mr(void* comm, void* mr, void** device_pointer) = 0;

  // bytes may be 0. `profiler` and `profilers` may be null (bootstrap over the net), as may `bytes` of test().
  // irecv: *request is overwritten in every case; it may come in as nccl::kOptionalCompletion.
  virtual Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) = 0;
  virtual Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                       void** request) = 0;
  virtual Result iflush(void* recv_comm, int n, void** data, int* bytes, void** mrs, void** request) = 0;
  // `*done` is written in every case. When done, bytes[0] of a send and bytes[0..n) of a receive hold what was moved;
  // the request is gone then. `bytes` has one int for a send.
  virtual Result test(void* request, int* done, int* bytes) = 0;
  // Asked after the first init that succeeded, and good for ever. What is null is called as above.
  virtual Calls calls() const { return {}; }
  virtual Result irecv_consumed(void* recv_comm, int n, void* request) = 0;

  virtual Result set_attributes(void* context, const void* attributes) = 0;  // ncclNetAttr, 44 bytes, v11 and later

 protected:
  ~Transport() = default;  // never destroyed: NCCL's threads may still be in it at exit
};

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_TRANSPORT_H_
