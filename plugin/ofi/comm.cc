#include "plugin/ofi/comm.h"

#include "plugin/ofi/memory.h"
#include "plugin/ofi/wait.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <netinet/in.h>

namespace railwitness::ofi {
namespace {

constexpr uint32_t kLookEveryMs = 20;
// How long something awaited may still come from a peer that has gone: what it sent before is in our kernel already.
constexpr uint32_t kGraceGoneMs = 200, kGraceByeMs = 2000;

template <typename T>
bool allocate(T** list, int count) {
  *list = static_cast<T*>(calloc(static_cast<size_t>(count), sizeof(T)));
  return *list != nullptr;
}

template <typename T>
bool add_requests(Comm* comm, int count) {
  T* list = nullptr;
  if (!allocate(&list, count)) return false;
  comm->request_block = list;
  for (int i = count - 1; i >= 0; i--) {
    list[i].comm = comm;
    list[i].is_send = comm->is_send;
    list[i].next = comm->free_requests;
    comm->free_requests = &list[i];
  }
  return true;
}

const char* word(const Comm& comm, int result) { return comm.devices->library.strerror(result < 0 ? -result : result); }

Result failed_to_open(const Comm& comm, const char* what, int result) {
  say(nccl::kLogWarn, "%s: %s fails: %s (%d); more open files (ulimit -n) or memory may help", comm.device->name, what,
      word(comm, result), result);
  return nccl::kSystemError;
}

// The port is unique on this address while the endpoint lives; the rest keeps later ones apart.
uint32_t number_of(const uint8_t* name, size_t bytes) {
  sa_family_t family = AF_UNSPEC;
  if (bytes >= sizeof(sockaddr_in)) memcpy(&family, name, sizeof family);
  const auto random = static_cast<uint32_t>(random_64());
  if (family != AF_INET && family != AF_INET6) return random ? random : 1;
  return static_cast<uint32_t>(name[2]) << 24 | static_cast<uint32_t>(name[3]) << 16 | (random & 0xffff);
}

// What libfabric does not let go (rxm of 1.17 keeps a domain whose rendezvous was broken off) is left behind, unused.
template <typename T>
bool end(T* object) {
  return !object || fi_close(&object->fid) == 0;
}

}  // namespace

Comm* make_comm(const Devices& devices, Device* device, void* context, bool is_send) {
  Comm* comm = new (std::nothrow) Comm{};
  if (!comm) return nullptr;
  comm->kind = Object::Kind::kComm;
  comm->context = context;
  comm->is_send = is_send;
  comm->devices = &devices;
  comm->device = device;
  comm->unposted_end = &comm->unposted;
  return comm;
}

Result open_endpoint(Comm* comm, Frame* frame) {
  Device* device = comm->device;
  if (const int r = comm->devices->library.fabric(device->info->fabric_attr, &comm->fabric, nullptr))
    return failed_to_open(*comm, "opening the fabric", r);
  const bool loses = !strcmp(comm->devices->provider, "net");
  if (loses) comm->lost.watch(comm->fabric);
  if (const int r = fi_domain(comm->fabric, device->info, &comm->domain, nullptr))
    return failed_to_open(*comm, "opening the domain", r);
  if (loses) comm->lost.watch(comm->domain);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  queue.size = 2 * kMaxSends;
  if (const int r = fi_cq_open(comm->domain, &queue, &comm->completions, nullptr))
    return failed_to_open(*comm, "opening a completion queue", r);
  fi_av_attr vector{};
  vector.type = device->info->domain_attr->av_type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
  vector.count = 1;
  if (const int r = fi_av_open(comm->domain, &vector, &comm->addresses, nullptr))
    return failed_to_open(*comm, "opening an address vector", r);
  if (const int r = fi_endpoint(comm->domain, device->info, &comm->endpoint, nullptr))
    return failed_to_open(*comm, "opening an endpoint", r);
  if (const int r = fi_ep_bind(comm->endpoint, &comm->completions->fid, FI_SEND | FI_RECV))
    return failed_to_open(*comm, "binding the completion queue", r);
  if (const int r = fi_ep_bind(comm->endpoint, &comm->addresses->fid, 0))
    return failed_to_open(*comm, "binding the address vector", r);
  if (const int r = fi_enable(comm->endpoint)) return failed_to_open(*comm, "enabling an endpoint", r);
  size_t bytes = sizeof frame->name;
  if (const int r = fi_getname(&comm->endpoint->fid, frame->name, &bytes))
    return failed_to_open(*comm, "asking an endpoint for its name", r);
  frame->name_bytes = static_cast<uint32_t>(bytes);
  frame->number = comm->number = number_of(frame->name, bytes);
  return nccl::kSuccess;
}

Result set_peer(Comm* comm, const Frame& theirs, const Agreement& agreement) {
  comm->peer_number = theirs.number;
  comm->peer_pid = theirs.pid;
  comm->max_group = agreement.max_group;
  comm->max_requests = agreement.max_requests;
  const bool is_text = comm->device->info->addr_format == FI_ADDR_STR;
  if (is_text && !memchr(theirs.name, 0, sizeof theirs.name))
    return fail(comm, nccl::kRemoteError, "the name of the peer's endpoint has no end");
  if (fi_av_insert(comm->addresses, theirs.name, 1, &comm->peer, 0, nullptr) != 1)
    return fail(comm, nccl::kSystemError, "libfabric does not take the peer's address; do both hosts have the same one?");
  const bool good = comm->is_send ? add_requests<SendRequest>(comm, kMaxSends) && allocate(&comm->open, comm->max_requests)
                                  : add_requests<ReceiveRequest>(comm, kMaxRequests) &&
                                        allocate(&comm->sequence_busy, comm->max_requests);
  if (!good || !allocate(&comm->buffers, comm->max_requests))
    return fail(comm, nccl::kSystemError, "out of memory");
  return nccl::kSuccess;
}

Result start_receiving(Comm* comm) {
  // Once a message of each kind may come in before the first poll.
  comm->ready.kind = Operation::Kind::kReady;
  const uint64_t tag = wire_tag(Tagged::kReady, comm->cookie, 0, 0);
  ssize_t r = fi_trecv(comm->endpoint, &comm->ready_message, sizeof comm->ready_message, nullptr, FI_ADDR_UNSPEC, tag, 0,
                       &comm->ready);
  for (int i = 0; i < comm->max_requests && r == 0; i++) {
    ClearToSendBuffer& b = comm->buffers[i];
    b.operation.kind = Operation::Kind::kClearToSendIn;
    b.operation.index = static_cast<uint16_t>(i);
    r = fi_trecv(comm->endpoint, &b.message, sizeof b.message, nullptr, FI_ADDR_UNSPEC,
                 wire_tag(Tagged::kClearToSend, comm->cookie, 0, 0), 0, &b.operation);
  }
  if (r != 0) return fail(comm, nccl::kSystemError, "posting a receive fails: %s", word(*comm, static_cast<int>(r)));
  return nccl::kSuccess;
}

void close_comm(Comm* comm) {
  if (comm->side.is_open()) {
    Frame bye{};
    bye.magic = kFrameMagic;
    bye.wire_version = kWireVersion;
    bye.kind = static_cast<uint16_t>(Kind::kBye);
    bye.bytes = sizeof bye;
    bye.cookie = comm->cookie;
    bye.number = comm->number;
    bye.unfinished = comm->requests_out;
    seal(&bye);
    comm->side.queue(bye);
    comm->side.flush();  // 512 bytes into an idle connection: it takes them or has gone
  }
  bool all_closed = end(comm->endpoint);
  all_closed &= end(comm->completions);
  all_closed &= end(comm->addresses);
  forget_memory(comm);
  comm->lost.stop(comm->fabric, comm->domain);
  all_closed &= end(comm->domain);
  all_closed &= end(comm->fabric);
  if (all_closed) comm->lost.give_back(comm->devices->library);
  comm->side.close();
  delist(comm);
  free(comm->request_block);
  free(comm->buffers);
  free(comm->open);
  free(comm->sequence_busy);
  delete comm;
}

Result fail(Comm* comm, Result result, const char* format, ...) {
  if (comm->failed != nccl::kSuccess) return comm->failed;
  comm->failed = result;
  char what[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  say(nccl::kLogWarn, "%s: %s %s (device %s, process %u), connection 0x%08x: %s", comm->device->name,
      comm->is_send ? "to" : "from", AddressText(comm->peer_address).text,
      comm->peer_device[0] ? comm->peer_device : "unknown", comm->peer_pid, comm->number, what);
  return result;
}

void look_after_peer(Comm* comm) {
  const uint32_t now = coarse_clock_ms();
  if (static_cast<int32_t>(now - comm->next_look_ms) < 0) return;
  comm->next_look_ms = now + kLookEveryMs;
  if (comm->peer_state == Peer::kAlive) {
    const SideChannel::Is is = comm->side.receive();
    if (is == SideChannel::Is::kGoingOn) return;
    Frame frame;
    Terms terms;
    const bool is_frame = is == SideChannel::Is::kThere && read_frame(comm->side.bytes(), &frame, &terms);
    if (is_frame && frame.kind == static_cast<uint16_t>(Kind::kRefusal)) {
      fail(comm, nccl::kRemoteError, "the peer refuses: %s", frame.text);
      return;
    }
    const bool is_bye = is_frame && frame.kind == static_cast<uint16_t>(Kind::kBye);
    comm->peer_state = is_bye ? Peer::kSaidBye : Peer::kGone;
    comm->peer_unfinished = is_bye ? frame.unfinished : 0;
    comm->peer_left_ms = now;
    return;
  }
  const bool was_orderly = comm->peer_state == Peer::kSaidBye && comm->peer_unfinished == 0;
  if (now - comm->peer_left_ms < (was_orderly ? kGraceByeMs : kGraceGoneMs)) return;
  if (comm->peer_state == Peer::kGone)
    fail(comm, nccl::kRemoteError, "the peer's process has ended or its host has reset the connection (%s)",
         comm->side.error() ? strerror(comm->side.error()) : "end of stream");
  else
    fail(comm, nccl::kRemoteError, "the peer has closed the connection, with %u transfers of its own unfinished; its own "
         "log says why", comm->peer_unfinished);
}

}  // namespace railwitness::ofi
