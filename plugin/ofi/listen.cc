// The listening side: strangers are sent away, a peer of another kind is an error at once.
//
// Whoever can reach the address may call: port scanners do, thousands of times. So a caller has a place of its own, a few
// bytes, until it has said who it is; a place is taken from a silent one only after a while in which the right peer, who
// speaks first, would have spoken; and until then further callers wait in the kernel.
#include "plugin/ofi/connect.h"

#include "plugin/ofi/greeting.h"
#include "plugin/ofi/wait.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include <sys/socket.h>
#include <unistd.h>

namespace railwitness::ofi {
namespace {

using Is = SideChannel::Is;

constexpr int kMaxCallers = 64;      // who have connected and not yet said who they are
constexpr uint32_t kSilentMs = 100;  // that a caller may be, where others wait for its place

struct Caller {
  int fd;
  uint32_t since_ms;
  sockaddr_storage address;
};

struct Listening : Object {
  int fd;
  Devices* devices;
  Device* device;
  uint64_t magic;  // of the handle
  Terms mine;
  sockaddr_storage address;
  Deadline deadline;
  Caller callers[kMaxCallers];  // the first `caller_count`, in the order in which they came
  int caller_count;
  bool has_told_shortage;
  Comm* comm;  // the right one has called
  bool is_confirmed, is_ready_sent;
  Result failed;
};

[[gnu::format(printf, 3, 4)]] Result give_up(Listening* l, const sockaddr_storage* caller, const char* format, ...) {
  char what[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  say(nccl::kLogWarn, "%s: accepting on %s%s%s: %s", l->device->name, AddressText(l->address).text,
      caller ? " from " : "", caller ? AddressText(*caller).text : "", what);
  return l->failed = nccl::kRemoteError;
}

void send_away(Listening* l, SideChannel* side, const char* why) {
  side->queue(make_refusal(l->mine, why));
  side->flush();  // an empty connection takes 512 bytes
  side->close();
}

Result welcome(Listening* l, const SideChannel& side, const sockaddr_storage& address, const Frame& hello, const Terms& theirs,
               const Agreement& agreement) {
  l->comm = make_comm(*l->devices, l->device, l->context, false);
  Comm* comm = l->comm;
  if (!comm) {
    SideChannel(side).close();
    return nccl::kSystemError;
  }
  comm->cookie = l->mine.cookie;
  comm->peer_address = address;
  memcpy(comm->peer_device, theirs.device, sizeof theirs.device);
  comm->side = side;
  Frame answer = make_frame(Kind::kWelcome, l->mine);
  if (const Result result = open_endpoint(comm, &answer)) return l->failed = result;
  // A name that is text (provider shm: process and number) has the length that it has; set_peer looks for its end.
  const bool is_text = l->device->info->addr_format == FI_ADDR_STR;
  if (!is_text && hello.name_bytes != answer.name_bytes) {
    comm->side.queue(make_refusal(l->mine, "the endpoint's name has another size here; is libfabric the same?"));
    comm->side.flush();
    return give_up(l, &comm->peer_address, "the peer's endpoint has a name of %u bytes, ours of %u; is libfabric the same?",
                   hello.name_bytes, answer.name_bytes);
  }
  note_differences(agreement, l->mine, theirs, comm->peer_address);
  if (const Result result = set_peer(comm, hello, agreement)) return l->failed = result;
  seal(&answer);
  comm->side.queue(answer);
  return nccl::kSuccess;
}

// A caller that has said all: who is it?
Result judge(Listening* l, SideChannel side, const sockaddr_storage& address) {
  Frame frame;
  Terms theirs;
  if (!read_frame(side.bytes(), &frame, &theirs)) {
    send_away(l, &side, "the greeting is damaged");
    return frame.cookie == l->mine.cookie ? give_up(l, &address, "the peer's greeting is damaged") : nccl::kSuccess;
  }
  side.take();
  const Agreement agreement = agree(l->mine, theirs);
  if (theirs.cookie != l->mine.cookie) {  // somebody else's peer: ours may still come
    char why[168];
    describe_refusal(Field::kCookie, theirs, l->mine, why, sizeof why);
    send_away(l, &side, why);
    say(nccl::kLogInfo, "%s: %s called for another listener and was sent away", l->device->name, AddressText(address).text);
    return nccl::kSuccess;
  }
  if (frame.kind == static_cast<uint16_t>(Kind::kRefusal))
    return side.close(), give_up(l, &address, "the peer refuses: %s", frame.text);
  if (agreement.refused != Field::kNone || frame.kind != static_cast<uint16_t>(Kind::kHello)) {
    char here[200], there[168];
    describe_refusal(agreement.refused, l->mine, theirs, here, sizeof here);
    describe_refusal(agreement.refused, theirs, l->mine, there, sizeof there);
    send_away(l, &side, there);
    return give_up(l, &address, "refused: %s", here);
  }
  return welcome(l, side, address, frame, theirs, agreement);
}

// What it has said so far stays in the kernel until it is whole. False: its place is free again.
bool goes_on(Listening* l, const Caller& caller, Result* result) {
  uint8_t bytes[sizeof(Frame)];
  const ssize_t n = recv(caller.fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  uint8_t opening[8];
  if (n >= static_cast<ssize_t>(sizeof opening)) {
    memcpy(opening, bytes, sizeof opening);
    const Opening is = read_opening(opening, l->magic);
    if (is == Opening::kOurs && n < static_cast<ssize_t>(sizeof bytes)) return true;
    if (is == Opening::kOurs) {
      SideChannel side;
      side.adopt(caller.fd);
      if (side.receive() == Is::kThere)
        *result = judge(l, side, caller.address);
      else
        side.close();
      return false;
    }
    if (is == Opening::kNcclOwn)
      *result = give_up(l, &caller.address, "the peer speaks NCCL's own socket or InfiniBand transport; "
                        "set NCCL_NET_PLUGIN=railwitness and RAILWITNESS_MODE=ofi on every rank");
  } else if (n > 0) {
    return true;
  }
  close(caller.fd);  // a stranger, or gone
  return false;
}

Result hear_callers(Listening* l) {
  Result result = nccl::kSuccess;
  int kept = 0;
  for (int i = 0; i < l->caller_count; i++) {
    const Caller caller = l->callers[i];
    if (l->comm || result != nccl::kSuccess || goes_on(l, caller, &result)) l->callers[kept++] = caller;
  }
  l->caller_count = kept;
  return result;
}

void drop_oldest_caller(Listening* l) {
  close(l->callers[0].fd);
  memmove(&l->callers[0], &l->callers[1], sizeof(Caller) * static_cast<size_t>(--l->caller_count));
}

// Nobody is accepted, nor heard, for want of descriptors or memory; the peer waits in the kernel.
void tell_shortage(Listening* l, int error) {
  if (l->has_told_shortage || (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM)) return;
  l->has_told_shortage = true;
  say(nccl::kLogWarn, "%s: accepting on %s fails: %s; more open files (ulimit -n) or memory may help. Tried again until "
      "RAILWITNESS_OFI_CONNECT_TIMEOUT is over", l->device->name, AddressText(l->address).text, strerror(error));
}

// At most as many as there are places: the thread has other connections.
void take_callers(Listening* l) {
  const uint32_t now = coarse_clock_ms();
  for (int i = 0; i < kMaxCallers; i++) {
    if (l->caller_count == kMaxCallers) {
      if (now - l->callers[0].since_ms < kSilentMs) return;
      drop_oldest_caller(l);
    }
    Caller& caller = l->callers[l->caller_count];
    caller = {.fd = -1, .since_ms = now, .address = {}};
    socklen_t length = sizeof caller.address;
    caller.fd = accept4(l->fd, reinterpret_cast<sockaddr*>(&caller.address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (caller.fd < 0) return tell_shortage(l, errno);
    l->caller_count++;
  }
}

// libfabric starts to connect only when the peer has agreed: provider net of 1.17 dies of a peer that goes away meanwhile.
Result hear_confirmation(Listening* l) {
  Comm* comm = l->comm;
  const Is is = comm->side.receive();
  if (is == Is::kGoingOn) return nccl::kSuccess;
  Frame frame;
  Terms theirs;
  if (is != Is::kThere || !read_frame(comm->side.bytes(), &frame, &theirs))
    return give_up(l, &comm->peer_address, "the peer has broken off the handshake (%s)",
                   is == Is::kFailed ? strerror(comm->side.error()) : "end of stream");
  comm->side.take();
  if (frame.kind == static_cast<uint16_t>(Kind::kRefusal))
    return give_up(l, &comm->peer_address, "the peer refuses: %s", frame.text);
  l->is_confirmed = frame.kind == static_cast<uint16_t>(Kind::kConfirm);
  return l->is_confirmed ? nccl::kSuccess
                         : give_up(l, &comm->peer_address, "the peer has broken off the handshake (said goodbye)");
}

// The first message through libfabric goes from here to the sender: it proves the path, and one direction of opening
// connections below libfabric never meets the other.
Result finish(Listening* l) {
  Comm* comm = l->comm;
  const Is is = comm->side.flush();
  if (is == Is::kFailed) return give_up(l, &comm->peer_address, "%s", strerror(comm->side.error()));
  if (is != Is::kThere) return nccl::kSuccess;
  if (!l->is_confirmed) return hear_confirmation(l);
  if (!l->is_ready_sent) {
    comm->ready.kind = Operation::Kind::kReady;
    const ssize_t r = fi_tsend(comm->endpoint, &comm->ready_message, 8, nullptr, comm->peer,
                               wire_tag(Tagged::kReady, comm->cookie, 0, 0), &comm->ready);
    if (r != 0 && r != -FI_EAGAIN)
      return give_up(l, &comm->peer_address, "libfabric cannot reach the peer: %s",
                     comm->devices->library.strerror(static_cast<int>(-r)));
    l->is_ready_sent = r == 0;
  }
  progress(comm);
  look_after_peer(comm);
  return l->failed = comm->failed;
}

void discard(Listening* l) {
  if (l->comm) close_comm(l->comm);
  while (l->caller_count > 0) drop_oldest_caller(l);
  close(l->fd);
  delist(l);
  delete l;
}

}  // namespace

Result listen(Devices* devices, void* context, int device, void* handle, void** listen_comm) {
  *listen_comm = nullptr;
  if (device < 0 || device >= devices->count) return nccl::kInvalidArgument;
  auto* l = new (std::nothrow) Listening{};
  if (!l) return nccl::kSystemError;
  l->kind = Object::Kind::kListen;
  l->context = context;
  l->devices = devices;
  l->device = &devices->list[device];
  l->address = l->device->address;
  l->magic = kHandleMagic | random_64() << 32;
  l->mine = own_terms(*devices, *l->device, random_64());
  l->fd = listen_on(&l->address);
  if (l->fd < 0) {
    say(nccl::kLogWarn, "%s: listening on %s fails: %s", l->device->name, AddressText(l->device->address).text,
        strerror(-l->fd));
    delete l;
    return nccl::kSystemError;
  }
  enlist(l);
  Handle h{};
  memcpy(h.address, &l->address, bytes_of(l->address));
  h.magic = l->magic;
  h.wire_version = l->mine.wire_version;
  h.max_group = l->mine.max_group;
  h.max_requests = l->mine.max_requests;
  h.host_id = l->mine.host_id;
  h.cookie = l->mine.cookie;
  h.libfabric = l->mine.libfabric;
  h.build = l->mine.build;
  h.pid = l->mine.pid;
  memcpy(h.provider, l->mine.provider, sizeof h.provider);
  memcpy(h.device, l->mine.device, sizeof h.device);
  seal(&h);
  memcpy(handle, &h, sizeof h);
  *listen_comm = l;
  return nccl::kSuccess;
}

Result accept(void* listen_comm, void** recv_comm) {
  *recv_comm = nullptr;
  auto* l = static_cast<Listening*>(listen_comm);
  if (l->failed != nccl::kSuccess) return l->failed;
  l->deadline.start(l->devices->settings.connect_timeout_s);
  if (!l->comm) {
    take_callers(l);
    if (const Result result = hear_callers(l)) return result;
  }
  if (l->comm) {
    if (const Result result = finish(l)) return result;
    if (l->comm->is_ready) {
      enlist(l->comm);
      *recv_comm = l->comm;
      l->comm = nullptr;
      return nccl::kSuccess;
    }
  }
  if (l->deadline.is_over())
    return l->comm ? give_up(l, &l->comm->peer_address, "the peer has called, but nothing comes through libfabric; is the "
                             "rail blocked by a firewall?%s", hint_of_shortage())
                   : give_up(l, nullptr, "nobody came in time; does the peer's rank run NCCL_NET_PLUGIN=railwitness with "
                             "RAILWITNESS_MODE=ofi, and can it reach this address? RAILWITNESS_OFI_CONNECT_TIMEOUT (seconds) "
                             "is the limit%s", hint_of_shortage());
  return nccl::kSuccess;
}

void close_listen(void* listen_comm) { discard(static_cast<Listening*>(listen_comm)); }

int close_all(void* context) {
  int count = 0;
  for (; Object* object = next_of(context); count++) {
    if (object->kind == Object::Kind::kListen)
      discard(static_cast<Listening*>(object));
    else if (object->kind == Object::Kind::kConnecting)
      discard_connecting(object);
    else
      close_comm(static_cast<Comm*>(object));
  }
  return count;
}

}  // namespace railwitness::ofi
