// A transport in memory, for tests of what is built around transports: everything it is told is kept, and what it answers
// is set by the test. A connection is a number, a request too.
#ifndef RAILWITNESS_TESTS_PLUGIN_FAKE_TRANSPORT_H_
#define RAILWITNESS_TESTS_PLUGIN_FAKE_TRANSPORT_H_

#include "plugin/engine/transport.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace railwitness {

class FakeTransport : public engine::Transport {
 public:
  using Result = engine::Result;

  // What it answers.
  Result result = nccl::kSuccess;       // of isend, irecv, iflush, test
  Result init_result = nccl::kSuccess;
  int device_count = 1;
  engine::DeviceProperties device = plain_device();
  engine::Ends ends;
  bool gives_requests = true;  // false: isend, irecv and iflush say "not now"
  int tries_to_connect = 0;    // that find the connection not made yet
  bool has_virtual = false;
  std::map<uintptr_t, std::vector<int>> done;  // requests that are, with the bytes moved

  // What it was told.
  int inits = 0, finalized = 0, opened = 0, closed = 0;
  std::vector<uintptr_t> requests;  // given, in order
  uint64_t comm_id = 0;
  int traffic_class = 0;
  size_t bytes_sent = 0, bytes_registered = 0;
  int tag = 0;
  void* profiler = nullptr;
  void* hint = nullptr;  // *request as irecv got it
  void* context_seen = nullptr;
  void* consumed = nullptr;
  engine::VirtualDevice members{};

  static engine::DeviceProperties plain_device() {
    engine::DeviceProperties p{};
    p.name = "fake0";
    p.pci_path = "/sys/devices/pci0000:00/0000:00:01.0";
    p.guid = 0x1122334455667788;
    p.ptr_support = nccl::kPtrHost;
    p.reg_is_global = 1;
    p.force_flush = 2;
    p.speed_mbps = 400000;
    p.port = 1;
    p.latency_us = 1.5F;
    p.max_comms = 65536;
    p.max_recvs = 8;
    p.net_device_type = nccl::kNetDeviceHost;
    p.net_device_version = 7;
    p.members = {6, {0, 1, 2, 3, 4, 5}};
    p.max_p2p_bytes = nccl::kMaxNetBytes;
    p.max_coll_bytes = 1 << 29;
    p.max_multi_request_size = 1;
    p.rail_id = 3;
    p.plane_id = 2;
    return p;
  }

  const char* description() const override { return "fake"; }
  Result init(void** context, uint64_t id, const engine::CommConfig& config, nccl::Logger,
              nccl::ProfilerCallback) override {
    inits++;
    comm_id = id;
    traffic_class = config.traffic_class;
    *context = reinterpret_cast<void*>(uintptr_t{0x1000} + static_cast<uintptr_t>(inits));
    return init_result;
  }
  Result finalize(void*) override { return finalized++, nccl::kSuccess; }
  Result devices(int* count) override { return *count = device_count, nccl::kSuccess; }
  Result properties(int, engine::DeviceProperties* p) override { return *p = device, nccl::kSuccess; }
  Result make_virtual_device(int* made, const engine::VirtualDevice& from) override {
    members = from;
    return *made = device_count, nccl::kSuccess;
  }
  bool has_virtual_devices() const override { return has_virtual; }

  Result listen(void* context, int, void* handle, void** comm) override {
    context_seen = context;
    memset(handle, ++opened, nccl::kHandleBytes);
    return *comm = number(opened), nccl::kSuccess;
  }
  Result connect(void* context, int, void* handle, void** comm, void**) override {
    context_seen = context;
    if (tries_to_connect-- > 0) {
      memset(static_cast<char*>(handle) + 100, tries_to_connect, 4);  // its state, as net_ib keeps it
      return *comm = nullptr, nccl::kSuccess;
    }
    return *comm = number(++opened), nccl::kSuccess;
  }
  Result accept(void*, void** comm, void**) override { return *comm = number(++opened), nccl::kSuccess; }
  Result close_listen(void*) override { return closed++, nccl::kSuccess; }
  Result close_send(void*) override { return closed++, nccl::kSuccess; }
  Result close_recv(void*) override { return closed++, nccl::kSuccess; }
  void describe(void*, bool, engine::Ends* e) override {
    const int device_index = e->device;
    *e = ends;
    e->device = device_index;
  }

  Result register_memory(void*, void*, size_t bytes, int, void** mr) override {
    bytes_registered = bytes;
    return *mr = this, nccl::kSuccess;
  }
  Result register_dmabuf(void*, void*, size_t, int, uint64_t, int, void**) override { return nccl::kInternalError; }
  Result deregister(void*, void*) override { return nccl::kSuccess; }
  Result get_device_mr(void*, void*, void**) override { return nccl::kSuccess; }

  Result isend(void*, void*, size_t bytes, int t, void*, void* p, void** request) override {
    bytes_sent = bytes;
    tag = t;
    profiler = p;
    return give(request);
  }
  Result irecv(void*, int, void**, size_t* bytes, int*, void**, void**, void** request) override {
    bytes_sent = bytes[0];
    hint = *request;
    return give(request);
  }
  Result iflush(void*, int, void**, int*, void**, void** request) override { return give(request); }
  Result test(void* request, int* is_done, int* bytes) override {
    const auto found = done.find(reinterpret_cast<uintptr_t>(request));
    *is_done = found != done.end();
    for (size_t i = 0; *is_done && bytes && i < found->second.size(); i++) bytes[i] = found->second[i];
    return result;
  }
  Result irecv_consumed(void*, int, void* request) override { return consumed = request, nccl::kSuccess; }
  Result set_attributes(void* context, const void*) override { return context_seen = context, nccl::kSuccess; }

  void finish(size_t nth, std::vector<int> bytes) { done[requests.at(nth)] = std::move(bytes); }

 private:
  static void* number(int n) { return reinterpret_cast<void*>(uintptr_t{0x2000} + static_cast<uintptr_t>(n)); }

  Result give(void** request) {
    *request = nullptr;
    if (result != nccl::kSuccess || !gives_requests) return result;
    requests.push_back(0x10000 + requests.size());
    *request = reinterpret_cast<void*>(requests.back());
    return nccl::kSuccess;
  }
};

}  // namespace railwitness

#endif  // RAILWITNESS_TESTS_PLUGIN_FAKE_TRANSPORT_H_
