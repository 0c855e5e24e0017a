// The connecting side. Its state is an object of ours: the handle's memory came from the network, so nothing in it is
// taken for a pointer. NCCL passes the same memory on every try; the object is found by that address and by the handle's
// cookie, which differs when an abort has freed the memory and something else got it.
#include "plugin/ofi/connect.h"

#include "plugin/ofi/greeting.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

namespace railwitness::ofi {
namespace {

using Is = SideChannel::Is;

struct Connecting : Object {
  enum class Stage : uint8_t { kReaching, kGreeting, kWaiting, kConfirming, kChecking, kRefusing } stage;
  Devices* devices;
  Device* device;
  Terms mine, theirs;
  sockaddr_storage address;
  Deadline deadline;
  Comm* comm;
  bool is_foreign;    // the handle is of NCCL's own transport
  char refusal[200];  // why not, if not
};

constexpr uint32_t kRefusingTimeoutS = 5;

void discard(Connecting* c) {
  if (c->comm) close_comm(c->comm);
  delist(c);
  delete c;
}

[[gnu::format(printf, 3, 4)]] Result give_up(Connecting* c, Result result, const char* format, ...) {
  char what[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  say(nccl::kLogWarn, "%s: connecting to %s (device %s): %s", c->device->name, AddressText(c->address).text,
      c->theirs.device[0] ? c->theirs.device : "unknown", what);
  discard(c);
  return result;
}

constexpr const char* kWayOut = "set NCCL_NET_PLUGIN=railwitness and RAILWITNESS_MODE=ofi on every rank";

Result refuse_bytes(const Device& device, Handed handed, const sockaddr_storage& address) {
  const AddressText text(address);
  switch (handed) {
    case Handed::kZeros:
      say(nccl::kLogWarn, "%s: the peer's connect handle is all zeros: its network plugin has not listened; %s", device.name,
          kWayOut);
      break;
    case Handed::kDamaged:
      say(nccl::kLogWarn, "%s: the connect handle of the peer at %s is damaged", device.name, text.text);
      break;
    default:
      say(nccl::kLogWarn, "%s: the peer's connect handle is none of mode ofi: its rank runs another plugin or mode; %s",
          device.name, kWayOut);
  }
  return nccl::kRemoteError;
}

Connecting* begin(Devices* devices, void* context, Device* device, void* handle, const Terms& theirs,
                  const sockaddr_storage& address, bool is_foreign) {
  auto* c = new (std::nothrow) Connecting{};
  if (!c) return nullptr;
  c->kind = Object::Kind::kConnecting;
  c->context = context;
  c->handle = handle;
  c->handle_cookie = theirs.cookie;
  c->devices = devices;
  c->device = device;
  c->mine = own_terms(*devices, *device, theirs.cookie);
  c->theirs = theirs;
  c->address = address;
  c->is_foreign = is_foreign;
  enlist(c);
  c->comm = make_comm(*devices, device, context, true);
  if (!c->comm) return discard(c), nullptr;
  c->comm->cookie = theirs.cookie;
  c->comm->peer_address = address;
  memcpy(c->comm->peer_device, theirs.device, sizeof theirs.device);
  const Agreement agreement = agree(c->mine, theirs);
  if (is_foreign)
    snprintf(c->refusal, sizeof c->refusal, "the peer uses another transport (its handle looks like that of NCCL's own "
             "socket or InfiniBand transport); %s", kWayOut);
  else if (agreement.refused != Field::kNone)
    describe_refusal(agreement.refused, c->mine, theirs, c->refusal, sizeof c->refusal);
  if (c->refusal[0]) c->deadline.start(kRefusingTimeoutS);
  c->deadline.start(devices->settings.connect_timeout_s);
  return c;
}

// So that the other side does not wait for us either.
void tell_refusal(Connecting* c) {
  if (c->is_foreign) {
    const NcclOpening opening{c->theirs.cookie, kNoPurpose};
    c->comm->side.queue(&opening, offsetof(NcclOpening, purpose) + sizeof opening.purpose);
    return;
  }
  char text[168];  // what is "here" for us is "there" for the peer
  describe_refusal(agree(c->mine, c->theirs).refused, c->theirs, c->mine, text, sizeof text);
  c->comm->side.queue(make_refusal(c->mine, text));
}

// The side channel is there: an endpoint, and its name to the peer. Or, where the handle is refused, why.
Result greet(Connecting* c) {
  if (c->refusal[0]) {
    tell_refusal(c);
    c->stage = Connecting::Stage::kRefusing;
    return nccl::kSuccess;
  }
  Frame hello = make_frame(Kind::kHello, c->mine);
  if (const Result result = open_endpoint(c->comm, &hello)) return discard(c), result;
  seal(&hello);
  c->comm->side.queue(hello);
  c->stage = Connecting::Stage::kGreeting;
  return nccl::kSuccess;
}

Result read_answer(Connecting* c) {
  Frame frame;
  Terms theirs;
  if (!read_frame(c->comm->side.bytes(), &frame, &theirs)) {
    c->comm->side.queue(make_refusal(c->mine, "the answer is damaged"));
    c->comm->side.flush();
    c->comm->side.close();
    return give_up(c, nccl::kRemoteError, "the answer is no frame of mode ofi, or damaged; is something else listening there?");
  }
  c->comm->side.take();
  if (frame.kind == static_cast<uint16_t>(Kind::kRefusal))
    return give_up(c, nccl::kRemoteError, "the peer refuses: %s", frame.text);
  const Agreement agreement = agree(c->mine, theirs);
  if (agreement.refused != Field::kNone || frame.kind != static_cast<uint16_t>(Kind::kWelcome)) {
    char why[200];
    describe_refusal(agreement.refused, c->mine, theirs, why, sizeof why);
    c->theirs = theirs;
    tell_refusal(c);
    c->comm->side.flush();
    c->comm->side.close();
    return give_up(c, nccl::kRemoteError, "refused: %s", why);
  }
  c->theirs = theirs;
  memcpy(c->comm->peer_device, theirs.device, sizeof theirs.device);
  note_differences(agreement, c->mine, theirs, c->address);
  if (const Result result = set_peer(c->comm, frame, agreement)) return discard(c), result;
  if (const Result result = start_receiving(c->comm)) return discard(c), result;
  Frame confirm = make_frame(Kind::kConfirm, c->mine);
  seal(&confirm);
  c->comm->side.queue(confirm);
  c->stage = Connecting::Stage::kConfirming;
  return nccl::kSuccess;
}

Result check_path(Connecting* c, bool* is_ready) {
  progress(c->comm);
  look_after_peer(c->comm);
  *is_ready = c->comm->is_ready;
  const Result result = c->comm->failed;
  if (result != nccl::kSuccess) discard(c);
  return result;
}

Result broke_off(Connecting* c, Is is) {
  if (c->refusal[0]) return give_up(c, nccl::kRemoteError, "refused: %s", c->refusal);
  const int error = is == Is::kFailed ? c->comm->side.error() : 0;
  if (error == EMFILE || error == ENFILE)
    return give_up(c, nccl::kSystemError, "%s: raise ulimit -n", strerror(error));
  return give_up(c, nccl::kRemoteError, "%s; did its process end, or does it run another transport?",
                 is == Is::kClosed ? "the peer has closed the connection" : strerror(c->comm->side.error()));
}

// One step. An error: c is gone. Nothing changed: not yet.
Result step(Connecting* c, bool* is_ready) {
  SideChannel& side = c->comm->side;
  Is is = Is::kGoingOn;
  switch (c->stage) {
    case Connecting::Stage::kReaching:
      is = side.is_open() ? side.finish_connect() : side.start_connect(c->device->address, c->address);
      if (is == Is::kThere) return greet(c);
      break;
    case Connecting::Stage::kGreeting:
      is = side.flush();
      if (is == Is::kThere) c->stage = Connecting::Stage::kWaiting;
      break;
    case Connecting::Stage::kWaiting:
      is = side.receive();
      if (is == Is::kThere) return read_answer(c);
      break;
    case Connecting::Stage::kConfirming:
      is = side.flush();
      if (is == Is::kThere) c->stage = Connecting::Stage::kChecking;
      break;
    case Connecting::Stage::kChecking: return check_path(c, is_ready);
    case Connecting::Stage::kRefusing:
      is = side.flush();
      if (is == Is::kThere) return broke_off(c, is);
      break;
  }
  return is == Is::kClosed || is == Is::kFailed ? broke_off(c, is) : nccl::kSuccess;
}

}  // namespace

Result connect(Devices* devices, void* context, int device, void* handle, void** send_comm) {
  *send_comm = nullptr;
  if (device < 0 || device >= devices->count) return nccl::kInvalidArgument;
  uint8_t bytes[nccl::kHandleBytes];
  memcpy(bytes, handle, sizeof bytes);
  Terms theirs;
  sockaddr_storage address;
  const Handed handed = read_handle(bytes, &theirs, &address);
  if (handed != Handed::kOurs && handed != Handed::kNcclOwn) return refuse_bytes(devices->list[device], handed, address);
  auto* c = static_cast<Connecting*>(connecting_of(handle, theirs.cookie));
  if (!c) c = begin(devices, context, &devices->list[device], handle, theirs, address,
                    handed == Handed::kNcclOwn);
  if (!c) return nccl::kSystemError;
  for (;;) {
    const Connecting::Stage before = c->stage;
    bool is_ready = false;
    if (const Result result = step(c, &is_ready)) return result;
    if (is_ready) {
      enlist(c->comm);
      *send_comm = c->comm;
      c->comm = nullptr;
      discard(c);
      return nccl::kSuccess;
    }
    if (c->stage == before) break;
  }
  if (c->deadline.is_over() && c->refusal[0]) return broke_off(c, Is::kGoingOn);
  if (c->deadline.is_over())
    return give_up(c, nccl::kRemoteError, "no answer in time; is the address reachable from %s, and the peer alive? "
                   "RAILWITNESS_OFI_CONNECT_TIMEOUT (seconds) is the limit%s", AddressText(c->device->address).text,
                   hint_of_shortage());
  return nccl::kSuccess;
}

void discard_connecting(Object* object) { discard(static_cast<Connecting*>(object)); }

}  // namespace railwitness::ofi
