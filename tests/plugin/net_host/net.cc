// What NCCL relies on, whatever the version.
#include "tests/plugin/net_host/net.h"

#include "tests/plugin/net_host/rank.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace railwitness::net_host {

namespace {

// A call that blocks keeps NCCL's thread from its other connections and from seeing an abort. Seconds, because the
// machine that runs this may be busy; NET_HOST_LONGEST_CALL_S for one that is slower still (valgrind).
double longest_call_s() {
  static const double seconds = [] {
    const char* text = getenv("NET_HOST_LONGEST_CALL_S");
    return text ? atof(text) : 10;
  }();
  return seconds;
}

// Watches one call: its time, and that it does not say "in progress", which NCCL takes for success.
template <typename F>
Result watched(const char* what, F call) {
  const double start = now_s();
  const Result result = call();
  const double took = now_s() - start;
  REQUIRE(took < longest_call_s(), "%s blocked for %.1f s", what, took);
  REQUIRE(result != abi::kInProgress, "%s said ncclInProgress", what);
  REQUIRE(result >= 0 && result < 9, "%s said %d, which is no ncclResult_t", what, result);
  return result;
}

}  // namespace

Result Net::init(void** context, uint64_t comm_id, int traffic_class) {
  *context = nullptr;
  traffic_class_ = traffic_class;
  if (version < 11 && is_initialised_) return abi::kSuccess;
  is_initialised_ = true;
  return watched("init", [&] { return raw_init(context, comm_id, traffic_class); });
}

int Net::devices() {
  int count = -1;
  const Result result = watched("devices", [&] { return raw_devices(&count); });
  REQUIRE(result == abi::kSuccess, "devices said %d", result);
  REQUIRE(count >= 0 && count <= 256, "%d devices", count);
  return count;
}

bool Net::has_no_devices() {
  int count = -1;
  return watched("devices", [&] { return raw_devices(&count); }) || count == 0;
}

Device Net::properties(int device) {
  Device out;
  const Result result = watched("getProperties", [&] { return raw_properties(device, &out); });
  REQUIRE(result == abi::kSuccess, "getProperties(%d) said %d", device, result);
  return out;
}

Result Net::listen(void* context, int device, Handle* handle, void** comm) {
  *comm = nullptr;
  const Result result = watched("listen", [&] { return raw_listen(context, device, handle->bytes, comm); });
  REQUIRE(handle->canary == Handle().canary, "listen wrote beyond the handle");
  REQUIRE((result == abi::kSuccess) == (*comm != nullptr), "listen said %d with comm %p", result, *comm);
  return result;
}

Result Net::connect(void* context, int device, Handle* handle, void** comm, void** device_handle) {
  void* none = nullptr;
  *comm = nullptr;
  const Result result = watched("connect", [&] {
    return raw_connect(context, device, handle->bytes, comm, device_handle ? device_handle : &none);
  });
  REQUIRE(handle->canary == Handle().canary, "connect wrote beyond the handle");
  REQUIRE(result == abi::kSuccess || !*comm, "connect said %d and gave a comm, which NCCL then closes", result);
  REQUIRE(!none, "connect gave a device handle, which asks for device offload");
  return result;
}

Result Net::accept(void* listen_comm, void** comm, void** device_handle) {
  void* none = nullptr;
  *comm = nullptr;
  const Result result =
      watched("accept", [&] { return raw_accept(listen_comm, comm, device_handle ? device_handle : &none); });
  REQUIRE(result == abi::kSuccess || !*comm, "accept said %d and gave a comm, which NCCL then closes", result);
  REQUIRE(!none, "accept gave a device handle, which asks for device offload");
  return result;
}

void Net::close_listen(void* comm) {
  const Result result = watched("closeListen", [&] { return raw_close(kListen, comm); });
  REQUIRE(result == abi::kSuccess, "closeListen said %d", result);
}

void Net::close_send(void* comm) {
  const Result result = watched("closeSend", [&] { return raw_close(kSend, comm); });
  REQUIRE(result == abi::kSuccess, "closeSend said %d", result);
}

void Net::close_recv(void* comm) {
  const Result result = watched("closeRecv", [&] { return raw_close(kRecv, comm); });
  REQUIRE(result == abi::kSuccess, "closeRecv said %d", result);
}

void* Net::register_memory(void* comm, void* data, size_t bytes, int type) {
  void* mr = nullptr;
  const Result result = watched("regMr", [&] { return raw_register(comm, data, bytes, type, &mr); });
  REQUIRE(result == abi::kSuccess, "regMr of %zu bytes said %d", bytes, result);
  REQUIRE(mr, "regMr gave a null handle, which NCCL takes for a failure");
  return mr;
}

void* Net::register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd) {
  void* mr = nullptr;
  const Result result =
      watched("regMrDmaBuf", [&] { return raw_register_dmabuf(comm, data, bytes, type, offset, fd, &mr); });
  REQUIRE(result == abi::kSuccess, "regMrDmaBuf of %zu bytes said %d", bytes, result);
  REQUIRE(mr, "regMrDmaBuf gave a null handle");
  return mr;
}

void Net::deregister(void* comm, void* mr) {
  const Result result = watched("deregMr", [&] { return raw_deregister(comm, mr); });
  REQUIRE(result == abi::kSuccess, "deregMr said %d", result);
}

Result Net::isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* phandle, void** request) {
  *request = kStale;
  const Result result = watched("isend", [&] { return raw_isend(comm, data, bytes, tag, mr, phandle, request); });
  REQUIRE(result || *request != kStale, "isend left the request as it was");
  REQUIRE(*request != kOptional, "isend gave the request 0x1");
  return result;
}

Result Net::irecv(void* comm, const std::vector<Receive>& receives, bool optional, void** request) {
  *request = optional && version >= 9 ? kOptional : version >= 9 ? kStale : nullptr;
  void* const before = *request;
  const Result result = watched("irecv", [&] { return raw_irecv(comm, receives, request); });
  REQUIRE(result || !before || *request != before, "irecv left the request as it was: %p", before);
  return result;
}

Result Net::iflush(void* comm, const std::vector<Receive>& receives, const int* bytes, void** request) {
  *request = nullptr;
  const size_t n = receives.size();
  std::vector<void*> data(n), mrs(n);
  std::vector<int> sizes(bytes, bytes + n);
  for (size_t i = 0; i < n; i++) data[i] = receives[i].data, mrs[i] = receives[i].mr;
  const Result result = watched("iflush", [&] {
    return raw_iflush(comm, static_cast<int>(n), data.data(), sizes.data(), mrs.data(), request);
  });
  memset(data.data(), 0xEE, n * sizeof(void*)), memset(mrs.data(), 0xEE, n * sizeof(void*));
  memset(sizes.data(), 0xEE, n * sizeof(int));
  return result;
}

Result Net::test(void* request, int* sizes, bool* done) {
  REQUIRE(request && request != kStale && request != kOptional, "request %p would be tested", request);
  int poisoned = 0x5A5A5A5A;  // on NCCL's stack, never set before
  const Result result = watched("test", [&] { return raw_test(request, &poisoned, sizes); });
  REQUIRE(result || poisoned == 0 || poisoned == 1, "test left done as %d", poisoned);
  *done = !result && poisoned;
  return result;
}

void Net::consumed(void* comm, int n, void* request) {
  const Result result = watched("irecvConsumed", [&] { return raw_consumed(comm, n, request); });
  REQUIRE(result == abi::kSuccess, "irecvConsumed said %d", result);
}

Result Net::finalize(void* context) {
  return watched("finalize", [&] { return raw_finalize(context); });
}

Result Net::set_attributes(void* context, abi::Attributes attributes) {
  const Result result = watched("setNetAttr", [&] { return raw_set_attributes(context, &attributes); });
  memset(&attributes, 0xEE, sizeof attributes);
  return result;
}

// --- what NCCL gives a plugin ---------------------------------------------------------------------------------------

namespace {

std::mutex log_mutex;
std::string log_text;
bool log_is_printed = false;

std::mutex steps_mutex;
std::set<const void*> steps;
std::atomic<int> starts{0}, stops{0};
char event_of_nccl;

}  // namespace

void logger(int, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(log_mutex);
  log_text += text;
  log_text += '\n';
  if (log_is_printed) fprintf(stderr, "  log: %s\n", text);
}

std::string logged() {
  const std::lock_guard lock(log_mutex);
  return log_text;
}

void print_log(bool yes) { log_is_printed = yes; }

ProfilerStep::ProfilerStep() {
  const std::lock_guard lock(steps_mutex);
  steps.insert(this);
}

ProfilerStep::~ProfilerStep() {
  const std::lock_guard lock(steps_mutex);
  steps.erase(this);
}

Result profiler(void** event, int type, void* phandle, int64_t, void*) {
  if (type == 0) {
    const std::lock_guard lock(steps_mutex);
    REQUIRE(steps.contains(phandle), "the profiler was told of phandle %p, which NCCL never gave", phandle);
    *event = &event_of_nccl;
    starts++;
    return abi::kSuccess;
  }
  REQUIRE(*event == &event_of_nccl, "the profiler was told of event %p, which it never gave", *event);
  stops += type == 1 || type == 3;
  return abi::kSuccess;
}

int profiler_starts() { return starts; }
int profiler_stops() { return stops; }

}  // namespace railwitness::net_host
