#include "tests/fuzz/loop_transport.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace railwitness::fuzz {

void broken(const char* what) {
  fprintf(stderr, "net_calls_fuzzer: %s\n", what);
  abort();
}

Result LoopTransport::init(void** context, uint64_t, const CommConfig&, nccl::Logger, nccl::ProfilerCallback) {
  auto* made = new char;
  contexts_.insert(made);
  *context = made;
  return fails() ? nccl::kSystemError : nccl::kSuccess;
}

Result LoopTransport::finalize(void* context) {
  if (!contexts_.erase(context)) broken("finalize of no context of ours");
  delete static_cast<char*>(context);
  return nccl::kSuccess;
}

Result LoopTransport::devices(int* count) {
  *count = 2 + virtual_devices_;
  return fails() ? nccl::kSystemError : nccl::kSuccess;
}

Result LoopTransport::properties(int device, DeviceProperties* p) {
  static const char* const names[] = {"loop0", "loop1", "loop2", "loop3", "loop4", "loop5"};
  if (device < 0 || device >= 2 + virtual_devices_) return nccl::kInvalidArgument;
  *p = DeviceProperties{};
  p->name = names[device];
  p->guid = static_cast<uint64_t>(device);
  p->ptr_support = nccl::kPtrHost | nccl::kPtrDmabuf;
  p->speed_mbps = 1000, p->port = 1, p->max_comms = 100, p->max_recvs = kGroup;
  p->members.count = 1, p->members.devices[0] = device;
  p->max_p2p_bytes = p->max_coll_bytes = 1 << 20;
  p->max_multi_request_size = 1;
  p->rail_id = p->plane_id = nccl::kUndefined;
  return fails() ? nccl::kSystemError : nccl::kSuccess;
}

Result LoopTransport::make_virtual_device(int* device, const VirtualDevice& members) {
  if (members.count < 1 || members.count > engine::kMaxDevicesPerNic) broken("a virtual device of no members");
  if (virtual_devices_ == 4 || fails()) return nccl::kInvalidArgument;
  *device = 2 + virtual_devices_++;
  return nccl::kSuccess;
}

LoopTransport::Comm* LoopTransport::find(void* comm, Kind kind) const {
  const auto found = comms_.find(comm);
  if (found == comms_.end()) broken("a comm that the transport never gave, or that is closed");
  if (found->second->kind != kind) broken("a comm of another kind");
  return found->second.get();
}

Result LoopTransport::listen(void* context, int device, void* handle, void** listen_comm) {
  if (!contexts_.contains(context)) broken("listen in no context of ours");
  if (device < 0 || device >= 2 + virtual_devices_ || fails()) return nccl::kSystemError;
  auto comm = std::make_unique<Comm>(Comm{Kind::kListen, ++number_, nullptr, {}, {}});
  void* const key = comm.get();
  memcpy(handle, &key, sizeof key);
  comms_[key] = std::move(comm);
  *listen_comm = key;
  return nccl::kSuccess;
}

Result LoopTransport::connect(void* context, int device, void* handle, void** send_comm, void**) {
  if (!contexts_.contains(context)) broken("connect in no context of ours");
  *send_comm = nullptr;
  void* key;
  memcpy(&key, handle, sizeof key);
  const auto listener = comms_.find(key);
  if (listener == comms_.end() || device < 0) return nccl::kRemoteError;  // it was closed
  if (fails()) return choices_.one_in(2) ? nccl::kInProgress : nccl::kRemoteError;
  if (holds_back()) return nccl::kSuccess;
  auto pipe = std::make_shared<Pipe>();
  listener->second->backlog.push_back(pipe);
  auto comm = std::make_unique<Comm>(Comm{Kind::kSend, ++number_, pipe, {}, {}});
  *send_comm = comm.get();
  comms_[comm.get()] = std::move(comm);
  return nccl::kSuccess;
}

Result LoopTransport::accept(void* listen_comm, void** recv_comm, void**) {
  Comm& listener = *find(listen_comm, Kind::kListen);
  *recv_comm = nullptr;
  if (fails()) return nccl::kSystemError;
  if (holds_back() || listener.backlog.empty()) return nccl::kSuccess;
  auto comm = std::make_unique<Comm>(Comm{Kind::kReceive, ++number_, listener.backlog.front(), {}, {}});
  listener.backlog.pop_front();
  *recv_comm = comm.get();
  comms_[comm.get()] = std::move(comm);
  return nccl::kSuccess;
}

Result LoopTransport::close(void* handle, Kind kind) {
  Comm& comm = *find(handle, kind);
  for (const auto& [mr, owner] : registrations_)
    if (owner == handle) broken("closed before its registrations");
  for (void* request : comm.requests) requests_.erase(request);
  comms_.erase(handle);
  return fails() ? nccl::kSystemError : nccl::kSuccess;
}

void LoopTransport::describe(void* comm, bool is_send, Ends* ends) {
  ends->device = static_cast<int>(choices_.next() % 8) - 1;
  ends->number = choices_.next() % 4;  // 0: not known; also two of the same
  ends->peer_number = find(comm, is_send ? Kind::kSend : Kind::kReceive)->number;
  ends->gid[15] = choices_.next();
}

Result LoopTransport::register_memory(void* comm, void* data, size_t, int type, void** mr) {
  if (!comms_.contains(comm) || !data) broken("registered with no comm of ours");
  if (type != nccl::kPtrHost && type != nccl::kPtrCuda) broken("registered as no type of NCCL's");
  if (fails()) return nccl::kSystemError;
  auto* made = new char;
  registrations_[made] = comm;
  *mr = made;
  return nccl::kSuccess;
}

Result LoopTransport::register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t, int, void** mr) {
  return register_memory(comm, data, bytes, type, mr);
}

Result LoopTransport::deregister(void* comm, void* mr) {
  const auto found = registrations_.find(mr);
  if (found == registrations_.end() || found->second != comm) broken("deregistered what is not registered with this comm");
  registrations_.erase(found);
  delete static_cast<char*>(mr);
  return fails() ? nccl::kSystemError : nccl::kSuccess;
}

void* LoopTransport::make_request(Comm& comm, std::vector<Part> parts, bool is_flush) {
  auto request = std::make_unique<Request>(Request{&comm, std::move(parts), is_flush});
  void* const key = request.get();
  comm.requests.insert(key);
  requests_[key] = std::move(request);
  return key;
}

Result LoopTransport::isend(void* handle, void* data, size_t bytes, int tag, void* mr, void*, void** request) {
  Comm& comm = *find(handle, Kind::kSend);
  if (!registrations_.contains(mr) || registrations_[mr] != handle) broken("isend of what is not registered");
  *request = nullptr;
  if (fails()) return choices_.one_in(2) ? nccl::kInProgress : nccl::kRemoteError;
  if (holds_back()) return nccl::kSuccess;
  const auto* from = static_cast<const char*>(data);
  comm.pipe->messages.push_back({tag, std::vector<char>(from, from + bytes)});
  *request = make_request(comm, {{nullptr, bytes, tag, true, bytes}}, false);
  return nccl::kSuccess;
}

Result LoopTransport::irecv(void* handle, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                            void** request) {
  Comm& comm = *find(handle, Kind::kReceive);
  if (n < 1 || n > kGroup) broken("irecv of a group that is too large");
  if (profilers && !profilers[0]) broken("a list of no profiler handles");
  std::vector<Part> parts;
  for (int i = 0; i < n; i++) {
    if (!registrations_.contains(mrs[i]) || registrations_[mrs[i]] != handle) broken("irecv into what is not registered");
    parts.push_back({static_cast<char*>(data[i]), bytes[i], tags[i], false, 0});
  }
  *request = nullptr;
  if (fails()) return nccl::kRemoteError;
  if (holds_back()) return nccl::kSuccess;
  *request = make_request(comm, std::move(parts), false);
  return nccl::kSuccess;
}

Result LoopTransport::iflush(void* handle, int n, void**, int* bytes, void**, void** request) {
  Comm& comm = *find(handle, Kind::kReceive);
  if (n < 1 || n > kGroup || bytes[0] < 0) broken("iflush of nothing");
  if (fails()) return nccl::kRemoteError;
  if (holds_back()) return nccl::kSuccess;  // nothing to wait for; *request stays null
  *request = make_request(comm, {}, true);
  return nccl::kSuccess;
}

Result LoopTransport::test(void* key, int* done, int* bytes) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) broken("test of a request that is over");
  Request& request = *found->second;
  *done = 0;
  if (fails()) return choices_.one_in(2) ? nccl::kInProgress : nccl::kRemoteError;
  if (holds_back()) return nccl::kSuccess;
  auto& messages = request.comm->pipe->messages;
  bool is_complete = true;
  for (Part& part : request.parts) {
    for (auto m = messages.begin(); m != messages.end() && !part.is_filled; ++m) {
      if (m->tag != part.tag) continue;
      part.moved = std::min(part.bytes, m->data.size());
      if (part.moved) memcpy(part.data, m->data.data(), part.moved);
      part.is_filled = true;
      messages.erase(m);
      break;
    }
    is_complete &= part.is_filled;
  }
  if (!is_complete) return nccl::kSuccess;
  *done = 1;
  for (size_t i = 0; i < request.parts.size() && bytes; i++) bytes[i] = static_cast<int>(request.parts[i].moved);
  request.comm->requests.erase(key);
  requests_.erase(found);
  return nccl::kSuccess;
}

Result LoopTransport::irecv_consumed(void* comm, int n, void*) {
  find(comm, Kind::kReceive);
  if (n < 1 || n > kGroup) broken("consumption of nothing");
  return nccl::kSuccess;
}

Result LoopTransport::set_attributes(void* context, const void* attributes) {
  if (!contexts_.contains(context) || !attributes) broken("attributes of no context of ours");
  return nccl::kSuccess;
}

}  // namespace railwitness::fuzz
