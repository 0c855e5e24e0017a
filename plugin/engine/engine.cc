#include "plugin/engine/engine.h"

#include "plugin/engine/handles.h"
#include "plugin/engine/meeting.h"
#include "plugin/engine/witnessed.h"
#include "plugin/witness/net_flows.h"

#include <cstdlib>
#include <cstring>

#include <pthread.h>

namespace railwitness::engine {
namespace {

struct Engine {
  Transport* transport = nullptr;
  bool is_open = false;  // an init has succeeded
  bool is_out = false;   // the first one has not
  char no_context = 0;   // its address is given where there is no transport
};
constinit Engine engine;
constinit Handles listeners, senders, receivers;  // that NCCL has

struct Listener {
  void* inner;
  int device;
  Meeting meeting;
};

// NCCL's maxRecvs and the like are asked for again and again by NCCL; here only when a connection is made.
DeviceProperties properties_of(int device) {
  DeviceProperties p{};
  if (engine.transport->properties(device, &p) != nccl::kSuccess) p = {};
  return p;
}

// NCCL takes ncclInProgress for success everywhere, so that is what a plugin that says it gets.
Result settled(Result result) { return result == nccl::kInProgress ? nccl::kSuccess : result; }

bool is_usable() { return engine.transport && !engine.is_out; }

// Thunks for transports that offer no plain functions.
Result isend_of_transport(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler,
                          void** request) {
  return engine.transport->isend(send_comm, data, bytes, tag, mr, profiler, request);
}
Result irecv_of_transport(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                          void** request) {
  return engine.transport->irecv(recv_comm, n, data, bytes, tags, mrs, profilers, request);
}
Result test_of_transport(void* request, int* done, int* bytes) {
  return engine.transport->test(request, done, bytes);
}

void take_calls() {
  calls = engine.transport->calls();
  if (!calls.isend) calls.isend = isend_of_transport;
  if (!calls.irecv) calls.irecv = irecv_of_transport;
  if (!calls.test) calls.test = test_of_transport;
}

witness::NetEnds to_witness(const Ends& ends, const DeviceProperties& p) {
  witness::NetEnds known{.number = ends.number, .peer_number = ends.peer_number, .gid = {}, .peer_gid = {}, .device = {},
                         .port = static_cast<uint8_t>(p.port)};
  memcpy(known.gid, ends.gid, sizeof known.gid);
  memcpy(known.peer_gid, ends.peer_gid, sizeof known.peer_gid);
  strncpy(known.device, p.name, sizeof known.device - 1);
  return known;
}

void add_rail(const witness::NetEnds& ends, uint64_t guid) {
  railwitness_rail rail{};
  memcpy(rail.device, ends.device, sizeof rail.device);
  memcpy(rail.gid, ends.gid, sizeof rail.gid);
  rail.guid = guid;
  rail.port = ends.port;
  witness::add_rail(rail);
}

// What NCCL gets in place of the transport's comm. Null: no memory.
Connection* wrap(void* inner, bool is_send, int device, const Meeting& meeting) {
  Ends ends;
  ends.device = device;
  engine.transport->describe(inner, is_send, &ends);
  fill_in(meeting, is_send, ends);
  const DeviceProperties p = properties_of(ends.device);
  int requests = kMaxRequests * (p.max_recvs < 1 ? 1 : p.max_recvs > kMaxGroup ? kMaxGroup : p.max_recvs);
  // irecv_consumed names a request long after it was done: its slot must not be in use again by then.
  if (!is_send && p.net_device_type != nccl::kNetDeviceHost) requests *= 8;
  Connection* c = make_connection(inner, is_send, requests);
  if (c && !(is_send ? senders : receivers).add(c)) {
    end_connection(c);
    return nullptr;
  }
  if (!c || !p.name) return c;
  const witness::NetEnds known = to_witness(ends, p);
  add_rail(known, p.guid);
  witness_connection(*c, known);
  return c;
}

}  // namespace

Transport* transport() { return engine.transport; }

Result init(void** context, uint64_t comm_id, const CommConfig& config, nccl::Logger log,
            nccl::ProfilerCallback profiler) noexcept {
  void* ours = &engine.no_context;
  Result result = nccl::kSuccess;
  if (is_usable()) {
    result = engine.transport->init(&ours, comm_id, config, log, profiler);
    if (result == nccl::kSuccess && !engine.is_open) {
      take_calls();
      engine.is_open = true;
    } else if (result != nccl::kSuccess && !engine.is_open) {
      engine.is_out = true;
      result = nccl::kSuccess;
      if (log)
        log(nccl::kLogWarn, nccl::kLogInit | nccl::kLogNet, "railwitness", 0,
            "railwitness: %s does not start, so it offers no devices and NCCL takes its own transport; what it said is "
            "above", engine.transport->description());
    }
  }
  if (context) *context = ours;
  return result;
}

Result finalize(void* context) noexcept {
  if (!engine.transport || !context || context == &engine.no_context) return nccl::kSuccess;
  return engine.transport->finalize(context);
}

// --- versions without contexts --------------------------------------------------------------------------------------

namespace {

constexpr int kTrafficClasses = 16;  // that jobs use at once

struct Shared {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int count = 0;
  int traffic_class[kTrafficClasses] = {};
  void* context[kTrafficClasses] = {};
  nccl::Logger log = nullptr;
  nccl::ProfilerCallback profiler = nullptr;
};
constinit Shared shared;

}  // namespace

Result shared_context(const CommConfig& config, void** context) noexcept {
  pthread_mutex_lock(&shared.mutex);
  int at = 0;
  while (at < shared.count && shared.traffic_class[at] != config.traffic_class) at++;
  Result result = nccl::kSuccess;
  if (at == kTrafficClasses) {
    at = 0;  // as the first one asked for
  } else if (at == shared.count) {
    result = init(&shared.context[at], 0, config, shared.log, shared.profiler);
    shared.traffic_class[at] = config.traffic_class;
    if (result == nccl::kSuccess) shared.count++;
  }
  *context = shared.context[at];
  pthread_mutex_unlock(&shared.mutex);
  return result;
}

namespace {

// A forked child may have inherited them locked, by threads that it has not.
void renew_locks_in_child() {
  shared.mutex = PTHREAD_MUTEX_INITIALIZER;
  renew_lock_in_child();
}

}  // namespace

void choose_transport(Transport* transport) {
  if (engine.transport) return;
  engine.transport = transport;
  pthread_atfork(nullptr, nullptr, renew_locks_in_child);
}

void forget_transport() {
  engine = {};
  calls = {};
  shared = {};
}

Result init_shared(nccl::Logger log, nccl::ProfilerCallback profiler) noexcept {
  shared.log = log;
  shared.profiler = profiler;
  void* context = nullptr;
  return shared_context({nccl::kUndefined}, &context);
}

// --- devices --------------------------------------------------------------------------------------------------------

bool has_virtual_devices() noexcept { return is_usable() && engine.is_open && engine.transport->has_virtual_devices(); }

Result devices(int* count) noexcept {
  if (is_usable() && engine.is_open) return engine.transport->devices(count);
  if (count) *count = 0;
  return nccl::kSuccess;
}

Result properties(int device, DeviceProperties* properties) noexcept {
  return is_usable() ? engine.transport->properties(device, properties) : nccl::kInternalError;
}

Result make_virtual_device(int* device, const VirtualDevice& members) noexcept {
  return has_virtual_devices() ? engine.transport->make_virtual_device(device, members) : nccl::kInternalError;
}

// --- connections ----------------------------------------------------------------------------------------------------

Result listen(void* context, int device, void* handle, void** listen_comm) noexcept {
  *listen_comm = nullptr;
  if (!is_usable()) return nccl::kInternalError;
  auto* listener = static_cast<Listener*>(calloc(1, sizeof(Listener)));
  if (!listener) return nccl::kSystemError;
  Result result = settled(engine.transport->listen(context, device, handle, &listener->inner));
  if (result == nccl::kSuccess && listener->inner && !listeners.add(listener)) {
    engine.transport->close_listen(listener->inner);
    result = nccl::kSystemError;
  }
  if (result != nccl::kSuccess || !listener->inner) {
    free(listener);
    return result == nccl::kSuccess ? nccl::kInternalError : result;  // NCCL would use the null
  }
  listener->device = device;
  listener->meeting = meet(handle);
  *listen_comm = listener;
  return nccl::kSuccess;
}

Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) noexcept {
  *send_comm = nullptr;
  if (!is_usable()) return nccl::kInternalError;
  const Meeting meeting = before_connect(handle);
  void* inner = nullptr;
  Result result = settled(engine.transport->connect(context, device, handle, &inner, device_handle));
  after_connect(handle, meeting, result == nccl::kSuccess && !inner);
  if (!inner) return result;
  if (result == nccl::kSuccess) *send_comm = wrap(inner, true, device, meeting);
  if (*send_comm) return nccl::kSuccess;
  engine.transport->close_send(inner);
  return result == nccl::kSuccess ? nccl::kSystemError : result;
}

Result accept(void* listen_comm, void** recv_comm, void** device_handle) noexcept {
  *recv_comm = nullptr;
  auto* listener = static_cast<Listener*>(listen_comm);
  void* inner = nullptr;
  Result result = settled(engine.transport->accept(listener->inner, &inner, device_handle));
  if (!inner) return result;
  if (result == nccl::kSuccess) *recv_comm = wrap(inner, false, listener->device, listener->meeting);
  if (*recv_comm) return nccl::kSuccess;
  engine.transport->close_recv(inner);
  return result == nccl::kSuccess ? nccl::kSystemError : result;
}

Result close_listen(void* listen_comm) noexcept {
  if (!listen_comm) return nccl::kSuccess;
  if (!listeners.take(listen_comm)) return nccl::kInvalidArgument;
  const Result result = settled(engine.transport->close_listen(static_cast<Listener*>(listen_comm)->inner));
  free(listen_comm);
  return result;
}

Result close_send(void* send_comm) noexcept {
  if (!send_comm) return nccl::kSuccess;
  if (!senders.take(send_comm)) return nccl::kInvalidArgument;
  auto* c = static_cast<Connection*>(send_comm);
  const Result result = settled(engine.transport->close_send(c->inner));
  end_connection(c);
  return result;
}

Result close_recv(void* recv_comm) noexcept {
  if (!recv_comm) return nccl::kSuccess;
  if (!receivers.take(recv_comm)) return nccl::kInvalidArgument;
  auto* c = static_cast<Connection*>(recv_comm);
  const Result result = settled(engine.transport->close_recv(c->inner));
  end_connection(c);
  return result;
}

// --- memory and the calls that are not counted ----------------------------------------------------------------------

namespace {
void* inner_of(void* comm) { return comm ? static_cast<Connection*>(comm)->inner : nullptr; }
}  // namespace

Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) noexcept {
  return settled(engine.transport->register_memory(inner_of(comm), data, bytes, type, mr));
}

Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) noexcept {
  return settled(engine.transport->register_dmabuf(inner_of(comm), data, bytes, type, offset, fd, mr));
}

Result deregister(void* comm, void* mr) noexcept { return settled(engine.transport->deregister(inner_of(comm), mr)); }

Result get_device_mr(void* comm, void* mr, void** device_pointer) noexcept {
  return engine.transport->get_device_mr(inner_of(comm), mr, device_pointer);
}

Result irecv_consumed(void* recv_comm, int n, void* request) noexcept {
  auto* slot = static_cast<Slot*>(request);
  return settled(engine.transport->irecv_consumed(inner_of(recv_comm), n, slot ? slot->inner : nullptr));
}

// A flush is a send of the receiver to itself, on a flow of its own; the first one makes it.
Result iflush(void* recv_comm, int n, void** data, int* bytes, void** mrs, void** request) noexcept {
  return flush(*static_cast<Connection*>(recv_comm), *engine.transport, n, data, bytes, mrs, request);
}

Result set_attributes(void* context, const void* attributes) noexcept {
  if (!engine.is_open || context == &engine.no_context) return nccl::kSuccess;
  return engine.transport->set_attributes(context, attributes);
}

}  // namespace railwitness::engine
