#include "plugin/ofi/ofi.h"

#include "plugin/ofi/connect.h"
#include "plugin/ofi/memory.h"
#include "plugin/ofi/transfer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

namespace railwitness::ofi {
namespace {

constinit Devices devices{};
constinit char text[64] = "ofi";

struct Context {
  uint64_t comm_id;
};

// As the engine calls them: without the object, whose argument would have all others moved.
Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void*, void** request) {
  return start_send(static_cast<Comm*>(send_comm), data, bytes, tag, mr, request);
}
Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void**, void** request) {
  return start_receive(static_cast<Comm*>(recv_comm), n, data, bytes, tags, mrs, request);
}
Result test(void* request, int* done, int* bytes) {
  return test_request(static_cast<Request*>(request), done, bytes);
}

class Ofi final : public engine::Transport {
 public:
  const char* description() const override { return text; }

  Result init(void** context, uint64_t comm_id, const engine::CommConfig&, nccl::Logger log,
              nccl::ProfilerCallback) override {
    set_logger(log);
    *context = new (std::nothrow) Context{comm_id};
    return *context ? nccl::kSuccess : nccl::kSystemError;
  }

  Result finalize(void* context) override {
    if (!context) return nccl::kSuccess;
    if (const int left = close_all(context))
      say(nccl::kLogInfo, "%d connections or listeners that were never closed are closed now", left);
    delete static_cast<Context*>(context);
    return nccl::kSuccess;
  }

  Result devices(int* count) override {
    *count = ofi::devices.count;
    return nccl::kSuccess;
  }

  Result properties(int device, engine::DeviceProperties* p) override {
    if (device < 0 || device >= ofi::devices.count) return nccl::kInvalidArgument;
    const Device& d = ofi::devices.list[device];
    *p = {};
    p->name = d.name;
    p->pci_path = d.pci_path[0] ? d.pci_path : nullptr;
    p->guid = d.guid;
    p->ptr_support = nccl::kPtrHost;
    p->reg_is_global = 0;
    p->force_flush = 0;
    p->speed_mbps = d.speed_mbps;
    p->port = 1;
    p->latency_us = 0;
    p->max_comms = 65536;
    p->max_recvs = kMaxReceives;
    p->net_device_type = nccl::kNetDeviceHost;
    p->net_device_version = 0;
    p->members.count = 1;
    p->members.devices[0] = device;
    p->max_p2p_bytes = p->max_coll_bytes = std::min(nccl::kMaxNetBytes, d.info->ep_attr->max_msg_size);
    p->max_multi_request_size = 1;
    p->rail_id = nccl::kUndefined;
    p->plane_id = nccl::kUndefined;
    return nccl::kSuccess;
  }

  Result make_virtual_device(int*, const engine::VirtualDevice&) override { return nccl::kInvalidUsage; }
  bool has_virtual_devices() const override { return false; }

  Result listen(void* context, int device, void* handle, void** listen_comm) override {
    return ofi::listen(&ofi::devices, context, device, handle, listen_comm);
  }
  Result connect(void* context, int device, void* handle, void** send_comm, void**) override {
    return ofi::connect(&ofi::devices, context, device, handle, send_comm);
  }
  Result accept(void* listen_comm, void** recv_comm, void**) override { return ofi::accept(listen_comm, recv_comm); }

  Result close_listen(void* listen_comm) override {
    if (listen_comm && is_listed(listen_comm)) ofi::close_listen(listen_comm);  // else finalize has closed it
    return nccl::kSuccess;
  }
  Result close_send(void* comm) override {
    if (comm && is_listed(comm)) close_comm(static_cast<Comm*>(comm));
    return nccl::kSuccess;
  }
  Result close_recv(void* comm) override { return close_send(comm); }

  void describe(void* comm, bool, engine::Ends* ends) override {
    const Comm& c = *static_cast<Comm*>(comm);
    ends->device = c.device->index;
    ends->number = c.number;
    ends->peer_number = c.peer_number;
    write_gid(c.device->address, ends->gid);
    write_gid(c.peer_address, ends->peer_gid);
  }

  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    *mr = nullptr;
    if (type != nccl::kPtrHost) return nccl::kInvalidUsage;  // NCCL falls back to a copy
    Memory* memory = nullptr;
    const Result result = add_memory(static_cast<Comm*>(comm), data, bytes, &memory);
    *mr = memory;
    return result;
  }
  Result register_dmabuf(void*, void*, size_t, int, uint64_t, int, void** mr) override {
    *mr = nullptr;
    return nccl::kInvalidUsage;  // never asked for: no device announces nccl::kPtrDmabuf
  }
  Result deregister(void* comm, void* mr) override {
    if (mr) drop_memory(static_cast<Comm*>(comm), static_cast<Memory*>(mr));
    return nccl::kSuccess;
  }
  Result get_device_mr(void*, void*, void** pointer) override {
    *pointer = nullptr;
    return nccl::kInvalidUsage;
  }

  Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) override {
    return ofi::isend(send_comm, data, bytes, tag, mr, profiler, request);
  }
  Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
               void** request) override {
    return ofi::irecv(recv_comm, n, data, bytes, tags, mrs, profilers, request);
  }
  Result iflush(void*, int, void**, int*, void**, void** request) override {
    *request = nullptr;  // host memory: what has come is there
    return nccl::kSuccess;
  }
  Result test(void* request, int* done, int* bytes) override { return ofi::test(request, done, bytes); }
  engine::Calls calls() const override { return {ofi::isend, ofi::irecv, ofi::test}; }
  Result irecv_consumed(void*, int, void*) override { return nccl::kSuccess; }
  Result set_attributes(void*, const void*) override { return nccl::kSuccess; }
};

constinit Ofi transport;

}  // namespace

engine::Transport* open(const char** reason) {
  static constinit std::mutex once;
  static constinit bool is_tried = false;
  static constinit const char* why = nullptr;
  const std::lock_guard lock(once);
  if (!is_tried) {
    is_tried = true;
    const Status status = find_devices(&devices);
    why = status.is_ok() ? nullptr : status.what();
    snprintf(text, sizeof text, "ofi (%s)", devices.provider);
  }
  *reason = why;
  return why ? nullptr : &transport;
}

}  // namespace railwitness::ofi
