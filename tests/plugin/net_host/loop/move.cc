// Requests of the loop plugin and the moving of their bytes.
#include "tests/plugin/net_host/loop/state.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace railwitness::net_host::loop {
namespace {

constexpr size_t kMostRequests = size_t{abi::kMaxRequests} * 8;  // a shared comm's sender: 32 for each receive of a group

// 1 and more: bytes; 0: would block; -1: broken
ssize_t move_some(Comm& comm, void* data, size_t bytes) {
  const ssize_t n = comm.kind == Kind::kSend ? send(comm.fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                                             : recv(comm.fd, data, bytes, MSG_DONTWAIT);
  if (n > 0) return n;
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

void tell_profiler(Comm& comm, Part& part, int type) {
  if (!comm.context || !comm.context->profiler || !part.phandle) return;
  if (type != 0 && !part.event) return;
  comm.context->profiler(&part.event, type, part.phandle, (int64_t{0x7E57} << 16) | 1, nullptr);
}

void complete(Comm& comm, Request& request) {
  request.is_complete = true;
  const long late = knob("LOOP_LATE", 3);
  request.late = late > 0 ? static_cast<int>(comm.calls * 7 % static_cast<unsigned>(late + 1)) : 0;
  for (Part& part : request.parts) tell_profiler(comm, part, 1);
}

Result move_sends(Comm& comm) {
  while (!comm.queue.empty()) {
    Request& request = *comm.queue.front();
    Part& part = request.parts[0];
    Header header{part.bytes, part.tag, 0};
    while (request.sent < sizeof header + part.bytes) {
      const bool in_header = request.sent < sizeof header;
      char* at = in_header ? reinterpret_cast<char*>(&header) + request.sent : part.data + (request.sent - sizeof header);
      const ssize_t n = move_some(comm, at, in_header ? sizeof header - request.sent : sizeof header + part.bytes - request.sent);
      if (n < 0) return abi::kRemoteError;
      if (n == 0) return abi::kSuccess;
      request.sent += static_cast<size_t>(n);
    }
    part.moved = part.bytes;
    comm.queue.pop_front();
    complete(comm, request);
  }
  return abi::kSuccess;
}

// The earliest receive that waits for a message with this tag.
bool find_target(Comm& comm, int tag, Request** request, size_t* part) {
  for (Request* r : comm.queue)
    for (size_t i = 0; i < r->parts.size(); i++)
      if (!r->parts[i].is_filled && r->parts[i].tag == tag) return *request = r, *part = i, true;
  return false;
}

void fill(Comm& comm, Request& request, size_t part, size_t bytes) {
  static std::atomic<long> arrived = 0;
  if (bytes > 0 && ++arrived == knob("LOOP_CORRUPT", 0)) request.parts[part].data[bytes / 2] ^= 1;
  request.parts[part].is_filled = true;
  request.parts[part].moved = bytes;
  for (const Part& p : request.parts)
    if (!p.is_filled) return;
  std::erase(comm.queue, &request);
  complete(comm, request);
}

Result move_receives(Comm& comm) {
  for (;;) {
    while (comm.header_got < sizeof comm.header) {
      const ssize_t n = move_some(comm, reinterpret_cast<char*>(&comm.header) + comm.header_got,
                                  sizeof comm.header - comm.header_got);
      if (n < 0) return comm.queue.empty() ? abi::kSuccess : abi::kRemoteError;  // nobody waits: the peer may close
      if (n == 0) return abi::kSuccess;
      comm.header_got += static_cast<size_t>(n);
      if (comm.header_got < sizeof comm.header) continue;
      comm.body_got = 0;
      if (!find_target(comm, comm.header.tag, &comm.target, &comm.target_part)) {
        comm.target = nullptr;
        comm.arriving = {comm.header.tag, std::vector<char>(comm.header.bytes)};
      } else if (comm.header.bytes > comm.target->parts[comm.target_part].bytes) {
        return abi::kInternalError;
      } else {
        comm.target->parts[comm.target_part].is_filled = true;  // taken, so that the next message takes another
      }
    }
    char* to = comm.target ? comm.target->parts[comm.target_part].data : comm.arriving.data.data();
    while (comm.body_got < comm.header.bytes) {
      const ssize_t n = move_some(comm, to + comm.body_got, comm.header.bytes - comm.body_got);
      if (n < 0) return abi::kRemoteError;
      if (n == 0) return abi::kSuccess;
      comm.body_got += static_cast<size_t>(n);
    }
    comm.header_got = 0;
    if (comm.target) {
      fill(comm, *comm.target, comm.target_part, comm.header.bytes);
    } else if (find_target(comm, comm.header.tag, &comm.target, &comm.target_part)) {  // posted since
      if (comm.header.bytes > comm.target->parts[comm.target_part].bytes) return abi::kInternalError;
      if (comm.header.bytes) memcpy(comm.target->parts[comm.target_part].data, to, comm.header.bytes);
      fill(comm, *comm.target, comm.target_part, comm.header.bytes);
    } else {
      comm.early.push_back(std::move(comm.arriving));
    }
    comm.target = nullptr;
  }
}

// Messages that came before this receive was posted.
Result take_early(Comm& comm, Request& request) {
  for (size_t i = 0; i < request.parts.size(); i++) {
    Part& part = request.parts[i];
    for (auto m = comm.early.begin(); m != comm.early.end(); ++m) {
      if (m->tag != part.tag) continue;
      if (m->data.size() > part.bytes) return abi::kInternalError;
      if (!m->data.empty()) memcpy(part.data, m->data.data(), m->data.size());
      const size_t bytes = m->data.size();
      comm.early.erase(m);
      fill(comm, request, i, bytes);
      break;
    }
  }
  return abi::kSuccess;
}

bool gives_none(Comm& comm) {
  const long every = knob("LOOP_NULL_EVERY", 5);
  return every > 0 && ++comm.calls % static_cast<unsigned>(every) == 0;
}

void free_request(Request& request) {
  request.comm = nullptr;
  request.parts.clear();
  counters.requests--;
}

}  // namespace

Request* Comm::take_request() {
  for (const auto& request : pool)
    if (!request->comm) {
      *request = Request{};
      request->comm = this;
      counters.requests++;
      return request.get();
    }
  if (pool.size() >= kMostRequests) return nullptr;
  pool.push_back(std::make_unique<Request>());
  pool.back()->comm = this;
  counters.requests++;
  return pool.back().get();
}

bool Comm::owns(void* mr, const void* data, size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto* registration = static_cast<Registration*>(mr);
  if (!registrations.contains(static_cast<Registration*>(mr))) return false;
  const auto* begin = static_cast<const char*>(data);
  return begin >= registration->data && begin + bytes <= registration->data + registration->bytes;
}

Result move(Comm& comm) { return comm.kind == Kind::kSend ? move_sends(comm) : move_receives(comm); }

Result isend(void* handle, void* data, size_t bytes, int tag, void* mr, void* phandle, void** out) {
  auto& comm = *static_cast<Comm*>(handle);
  *out = nullptr;
  static std::atomic<bool> said{false};
  if (fails("progress") && !said.exchange(true)) return abi::kInProgress;
  if (comm.kind != Kind::kSend || !comm.owns(mr, data, bytes)) return abi::kInvalidArgument;
  if (gives_none(comm)) return abi::kSuccess;
  Request* request = comm.take_request();
  if (!request) return abi::kSuccess;
  counters.posts++;
  request->parts.push_back({static_cast<char*>(data), bytes, tag, 0, false, phandle, nullptr});
  tell_profiler(comm, request->parts[0], 0);
  comm.queue.push_back(request);
  *out = request;
  return move(comm);
}

Result irecv(void* handle, int n, void** data, const size_t* bytes, const int* tags, void** mrs, void** phandles, void** out) {
  auto& comm = *static_cast<Comm*>(handle);
  if (*out == reinterpret_cast<void*>(uintptr_t{1})) counters.optional++;
  *out = nullptr;
  if (fails("irecv")) return abi::kSystemError;
  if (comm.kind != Kind::kReceive || n < 1 || n > knob("LOOP_MAX_RECVS", 8)) return abi::kInvalidArgument;
  for (int i = 0; i < n; i++)
    if (!comm.owns(mrs[i], data[i], bytes[i])) return abi::kInvalidArgument;
  if (gives_none(comm)) return abi::kSuccess;
  Request* request = comm.take_request();
  if (!request) return abi::kSuccess;
  counters.posts++;
  for (int i = 0; i < n; i++) {
    request->parts.push_back({static_cast<char*>(data[i]), bytes[i], tags[i], 0, false, phandles ? phandles[i] : nullptr, nullptr});
    tell_profiler(comm, request->parts.back(), 0);
  }
  comm.queue.push_back(request);
  *out = request;
  const Result result = take_early(comm, *request);
  return result ? result : move(comm);
}

Result iflush(void* handle, int n, void** data, int* bytes, void** mrs, void** out) {
  auto& comm = *static_cast<Comm*>(handle);
  for (int i = 0; i < n; i++)
    if (comm.kind != Kind::kReceive || !comm.owns(mrs[i], data[i], static_cast<size_t>(bytes[i]))) return abi::kInvalidArgument;
  counters.flushes++;
  Request* request = comm.take_request();
  if (!request) return abi::kInternalError;
  request->is_flush = true;
  complete(comm, *request);
  *out = request;
  return abi::kSuccess;
}

Result test(void* handle, int* done, int* sizes) {
  auto* request = static_cast<Request*>(handle);
  *done = 0;
  if (!request->comm) return abi::kInternalError;  // tested again after it was done
  Comm& comm = *request->comm;
  if (!request->is_complete)
    if (const Result result = move(comm); result) return result;
  if (!request->is_complete || request->late-- > 0) return abi::kSuccess;
  *done = 1;
  if (!sizes) counters.null_sizes++;
  else
    for (size_t i = 0; i < request->parts.size(); i++) sizes[i] = static_cast<int>(request->parts[i].moved);
  free_request(*request);
  return abi::kSuccess;
}

Result consumed(void* comm, int n, void*) {
  if (static_cast<Comm*>(comm)->kind != Kind::kReceive || n < 1) return abi::kInvalidArgument;
  counters.consumed++;
  return abi::kSuccess;
}

}  // namespace railwitness::net_host::loop
