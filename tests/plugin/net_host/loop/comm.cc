// Contexts, devices, connections and registrations of the loop plugin.
#include "tests/plugin/net_host/loop/state.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace railwitness::net_host::loop {

Counters counters;

namespace {

constexpr uint64_t kMagic = 0x6C6F6F705F6E6574;

struct WireHandle {
  uint64_t magic;
  int32_t pid, number;
  uint64_t tries;  // of connect, which gets this memory again
};
static_assert(sizeof(WireHandle) <= abi::kHandleBytes);

std::mutex devices_mutex;
std::map<int, std::vector<int>> virtual_devices;  // index: members
std::atomic<int> listeners{0};

sockaddr_un address(const WireHandle& handle, socklen_t* length) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "net-host-loop-%d-%d", handle.pid, handle.number);
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
  return a;
}

int count_devices() {
  return static_cast<int>(knob("LOOP_DEVICES", 2)) + static_cast<int>(virtual_devices.size());
}

Comm* make_comm(Kind kind, int fd, int device, Context* context) {
  auto* comm = new Comm;
  comm->kind = kind, comm->fd = fd, comm->device = device, comm->context = context;
  return comm;
}

Result close_comm(void* handle, Kind kind, std::atomic<int64_t>& count) {
  auto* comm = static_cast<Comm*>(handle);
  if (!comm || comm->kind != kind) return abi::kInvalidArgument;
  if (!comm->registrations.empty()) return abi::kInternalError;  // NCCL deregisters first
  ::close(comm->fd);
  for (const auto& request : comm->pool) counters.requests -= request->comm != nullptr;
  count--;
  delete comm;
  return abi::kSuccess;
}

}  // namespace

long knob(const char* name, long value) {
  const char* text = getenv(name);
  return text && *text ? atol(text) : value;
}

bool fails(const char* where) {
  const char* text = getenv("LOOP_FAIL");
  return text && !strcmp(text, where);
}

Result init(void** context, const Config& config) {
  counters.inits++;
  if (fails("init")) return abi::kSystemError;
  counters.traffic_class = config.traffic_class;
  counters.last_comm_id = config.comm_id;
  counters.contexts++;
  *context = new Context{config.comm_id, config.traffic_class, config.profiler};
  if (config.log) config.log(3, 1, "loop", 0, "loop: init");
  return abi::kSuccess;
}

Result finalize(void* context) {
  counters.finalizes++;
  if (!context) return abi::kSuccess;  // NCCL 2.28 after a failed init
  counters.contexts--;
  delete static_cast<Context*>(context);
  return abi::kSuccess;
}

Result devices(int* count) {
  const std::lock_guard lock(devices_mutex);
  *count = count_devices();
  return fails("devices") ? abi::kSystemError : abi::kSuccess;
}

Result properties(int device, abi::Properties<12>* p) {
  const std::lock_guard lock(devices_mutex);
  if (device < 0 || device >= count_devices()) return abi::kInvalidArgument;
  static std::map<int, std::string> names;
  auto& name = names[device];
  if (name.empty()) name = "loop" + std::to_string(device);  // it is read behind the lock, by whoever got it before
  memset(static_cast<void*>(p), 0, sizeof *p);
  static char path[] = "/sys/devices/pci0000:00/0000:00:1f.0";
  p->name = name.data();
  p->pci_path = path;
  p->guid = 0x100 + static_cast<uint64_t>(device);
  p->ptr_support = static_cast<int>(knob("LOOP_POINTERS", abi::kPtrHost | abi::kPtrDmabuf));
  p->reg_is_global = 1, p->force_flush = 1;
  p->speed = 100'000 + device, p->port = 1 + device, p->latency = 1.5f;
  p->max_comms = 4096, p->max_recvs = static_cast<int>(knob("LOOP_MAX_RECVS", 8));
  p->members.ndevs = 1, p->members.devs[0] = device;
  if (const auto v = virtual_devices.find(device); v != virtual_devices.end()) {
    p->members.ndevs = static_cast<int>(v->second.size());
    for (size_t i = 0; i < v->second.size(); i++) p->members.devs[i] = v->second[i];
  }
  p->max_p2p_bytes = size_t{1} << 31, p->max_coll_bytes = size_t{1} << 28;
  p->max_multi_request_size = 1;
  p->rail_id = static_cast<int16_t>(device), p->plane_id = static_cast<int16_t>(7);
  return abi::kSuccess;
}

Result make_virtual_device(int* device, const int* members, int count, int most) {
  const std::lock_guard lock(devices_mutex);
  if (count < 1 || count > most) return abi::kInvalidArgument;
  for (int i = 0; i < count; i++)
    if (members[i] < 0 || members[i] >= knob("LOOP_DEVICES", 2)) return abi::kInvalidArgument;
  *device = count_devices();
  virtual_devices[*device] = std::vector<int>(members, members + count);
  return abi::kSuccess;
}

Result listen(void* context, int device, void* handle, void** comm) {
  int count = 0;
  devices(&count);
  if (fails("listen") || device < 0 || device >= count) return abi::kInternalError;
  const WireHandle wire{kMagic, getpid(), listeners++, 0};
  socklen_t length;
  const sockaddr_un a = address(wire, &length);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&a), length) || ::listen(fd, 1024)) {
    if (fd >= 0) ::close(fd);
    return abi::kSystemError;
  }
  memcpy(handle, &wire, sizeof wire);
  counters.listens++;
  *comm = make_comm(Kind::kListen, fd, device, static_cast<Context*>(context));
  return abi::kSuccess;
}

Result connect(void* context, int device, int traffic_class, void* handle, void** comm, void** device_handle) {
  WireHandle wire;
  memcpy(&wire, handle, sizeof wire);
  counters.device_handle = reinterpret_cast<int64_t>(device_handle);
  if (fails("connect") || wire.magic != kMagic) return abi::kInternalError;
  counters.traffic_class = traffic_class;
  *comm = nullptr;
  wire.tries++;
  memcpy(handle, &wire, sizeof wire);
  if (wire.tries < static_cast<uint64_t>(knob("LOOP_TRIES", 2))) return abi::kSuccess;
  socklen_t length;
  const sockaddr_un a = address(wire, &length);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return abi::kSystemError;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&a), length)) {
    const int error = errno;
    ::close(fd);
    return error == EAGAIN ? abi::kSuccess : abi::kRemoteError;
  }
  counters.sends++;
  *comm = make_comm(Kind::kSend, fd, device, static_cast<Context*>(context));
  return abi::kSuccess;
}

Result accept(void* listen_comm, void** comm, void** device_handle) {
  auto* listener = static_cast<Comm*>(listen_comm);
  counters.device_handle = reinterpret_cast<int64_t>(device_handle);
  *comm = nullptr;
  if (++listener->tries < knob("LOOP_TRIES", 2)) return abi::kSuccess;
  const int fd = accept4(listener->fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return errno == EAGAIN ? abi::kSuccess : abi::kSystemError;
  counters.receives++;
  *comm = make_comm(Kind::kReceive, fd, listener->device, listener->context);
  return abi::kSuccess;
}

Result close_listen(void* comm) { return close_comm(comm, Kind::kListen, counters.listens); }
Result close_send(void* comm) { return close_comm(comm, Kind::kSend, counters.sends); }
Result close_recv(void* comm) { return close_comm(comm, Kind::kReceive, counters.receives); }

Result register_memory(void* handle, void* data, size_t bytes, int type, void** mr) {
  auto* comm = static_cast<Comm*>(handle);
  if (!comm || !data || (type != abi::kPtrHost && type != abi::kPtrCuda)) return abi::kInvalidArgument;
  auto* registration = new Registration{comm, static_cast<const char*>(data), bytes};
  const std::lock_guard lock(comm->mutex);
  comm->registrations.insert(registration);
  counters.keys++, counters.registrations++;
  *mr = registration;
  return abi::kSuccess;
}

Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) {
  const off_t size = lseek(fd, 0, SEEK_END);  // the descriptor is open now and closed right after this call
  if (size < static_cast<off_t>(offset + bytes)) return abi::kSystemError;
  counters.dmabufs++;
  return register_memory(comm, data, bytes, type, mr);
}

Result deregister(void* handle, void* mr) {
  auto* comm = static_cast<Comm*>(handle);
  auto* registration = static_cast<Registration*>(mr);
  const std::lock_guard lock(comm->mutex);
  if (!comm->registrations.erase(registration)) return abi::kInvalidArgument;
  counters.keys--;
  delete registration;
  return abi::kSuccess;
}

Result set_attributes(void*, const abi::Attributes* attributes) {
  counters.attributes++;
  counters.last_op = attributes->op;
  return abi::kSuccess;
}

extern "C" __attribute__((visibility("default"))) void loop_counts(Counts* out) {
  const Counters& c = counters;
  *out = {c.inits, c.finalizes, c.contexts, c.listens, c.sends, c.receives, c.keys, c.requests, c.registrations, c.dmabufs,
          c.posts, c.flushes, c.consumed, c.attributes, c.optional, c.traffic_class, c.last_op, c.last_comm_id,
          c.device_handle, c.null_sizes};
}

}  // namespace railwitness::net_host::loop
