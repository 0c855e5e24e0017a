#include "plugin/ofi/handshake.h"

#include "railwitness/base/version.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <netinet/in.h>

namespace railwitness::ofi {
namespace {

// FNV-1a: against damage and other people's bytes, not against an attacker.
uint32_t checksum_of(const void* bytes, size_t count) {
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < count; i++) sum = (sum ^ static_cast<const uint8_t*>(bytes)[i]) * 16777619u;
  return sum;
}

// Names go into logs: nothing but printable ASCII comes out.
template <size_t kTo, size_t kFrom>
void copy_name(char (&to)[kTo], const char (&from)[kFrom]) {
  static_assert(kTo == kFrom + 1);
  size_t n = 0;
  for (; n < kFrom && from[n]; n++) to[n] = from[n] > ' ' && from[n] < 0x7f ? from[n] : '?';
  memset(to + n, 0, kTo - n);
}

// A sane address is kept, everything else leaves AF_UNSPEC.
void read_address(const uint8_t (&bytes)[32], sockaddr_storage* address) {
  *address = {};
  sa_family_t family;
  memcpy(&family, bytes, sizeof family);
  if (family == AF_INET)
    memcpy(address, bytes, sizeof(sockaddr_in));
  else if (family == AF_INET6)
    memcpy(address, bytes, sizeof(sockaddr_in6));
}

// A whole group in parts of one must fit into what may be under way.
bool is_plausible(uint32_t group, uint32_t requests) {
  return group >= 1 && group <= 64 && requests >= kMaxReceives && requests <= 65536;
}

}  // namespace

void seal(Handle* handle) { handle->checksum = checksum_of(handle, offsetof(Handle, checksum)); }
void seal(Frame* frame) { frame->checksum = checksum_of(frame, offsetof(Frame, checksum)); }

Handed read_handle(const uint8_t (&bytes)[nccl::kHandleBytes], Terms* terms, sockaddr_storage* address) {
  Handle h;
  memcpy(&h, bytes, sizeof h);
  *terms = {};
  read_address(h.address, address);
  if (static_cast<uint32_t>(h.magic) != kHandleMagic) {
    if (std::all_of(bytes, bytes + sizeof bytes, [](uint8_t b) { return b == 0; })) return Handed::kZeros;
    if (address->ss_family == AF_UNSPEC) return Handed::kGarbage;
    terms->cookie = h.magic;  // what its owner's listener expects to hear first
    return Handed::kNcclOwn;
  }
  terms->wire_version = h.wire_version;
  if (h.wire_version != kWireVersion) {
    terms->cookie = h.cookie;  // for the refusal, which every version understands
    return address->ss_family != AF_UNSPEC ? Handed::kOurs : Handed::kDamaged;
  }
  const bool whole = h.checksum == checksum_of(&h, offsetof(Handle, checksum));
  if (!whole || address->ss_family == AF_UNSPEC || !is_plausible(h.max_group, h.max_requests)) return Handed::kDamaged;
  terms->host_id = h.host_id;
  terms->cookie = h.cookie;
  terms->pid = h.pid;
  terms->libfabric = h.libfabric;
  terms->build = h.build;
  terms->max_group = h.max_group;
  terms->max_requests = h.max_requests;
  copy_name(terms->provider, h.provider);
  copy_name(terms->device, h.device);
  return Handed::kOurs;
}

bool read_frame(const uint8_t (&bytes)[sizeof(Frame)], Frame* frame, Terms* terms) {
  *terms = {};
  memcpy(frame, bytes, sizeof *frame);
  if (frame->magic != kFrameMagic || frame->bytes != sizeof(Frame)) return false;
  frame->text[sizeof frame->text - 1] = 0;
  for (char& c : frame->text)
    if (c && (c < ' ' || c > '~')) c = '?';
  terms->wire_version = frame->wire_version;
  terms->cookie = frame->cookie;
  if (frame->wire_version != kWireVersion) return true;
  Frame as_sent;
  memcpy(&as_sent, bytes, sizeof as_sent);
  if (as_sent.checksum != checksum_of(&as_sent, offsetof(Frame, checksum))) return false;
  if (frame->name_bytes > kMaxName) return false;
  if (frame->kind < static_cast<uint16_t>(Kind::kHello) || frame->kind > static_cast<uint16_t>(Kind::kConfirm)) return false;
  const bool greets = frame->kind <= static_cast<uint16_t>(Kind::kWelcome);
  if (greets && (!is_plausible(frame->max_group, frame->max_requests) || frame->name_bytes == 0)) return false;
  terms->host_id = frame->host_id;
  terms->pid = frame->pid;
  terms->libfabric = frame->libfabric;
  terms->build = frame->build;
  if (greets) {  // nobody looked at those of others
    terms->max_group = frame->max_group;
    terms->max_requests = frame->max_requests;
  }
  copy_name(terms->provider, frame->provider);
  copy_name(terms->device, frame->device);
  return true;
}

Opening read_opening(const uint8_t (&bytes)[8], uint64_t handle_magic) {
  uint64_t magic;
  memcpy(&magic, bytes, sizeof magic);
  return magic == kFrameMagic ? Opening::kOurs : magic == handle_magic ? Opening::kNcclOwn : Opening::kStranger;
}

Agreement agree(const Terms& mine, const Terms& theirs) {
  Agreement a{};
  a.max_group = std::min<int>(mine.max_group, theirs.max_group);
  a.max_requests = static_cast<int>(std::min(mine.max_requests, theirs.max_requests));
  a.other_build = mine.build != theirs.build;
  a.other_libfabric = mine.libfabric != theirs.libfabric;
  if (mine.wire_version != theirs.wire_version)
    a.refused = Field::kVersion;
  else if (strcmp(mine.provider, theirs.provider))
    a.refused = Field::kProvider;
  else if (mine.cookie != theirs.cookie)
    a.refused = Field::kCookie;
  else if (!strcmp(mine.provider, "shm") && mine.host_id != theirs.host_id)
    a.refused = Field::kHost;
  return a;
}

void describe_refusal(Field field, const Terms& mine, const Terms& theirs, char* text, size_t bytes) {
  switch (field) {
    case Field::kVersion:
      snprintf(text, bytes, "wire version %d here, %d there; install the same railwitness on all hosts", mine.wire_version,
               theirs.wire_version);
      return;
    case Field::kProvider:
      snprintf(text, bytes, "libfabric provider %s here, %s there; set RAILWITNESS_OFI_PROVIDER alike on all ranks",
               mine.provider, theirs.provider);
      return;
    case Field::kCookie:
      snprintf(text, bytes, "the connection is meant for another listener; is an old job still running on this address?");
      return;
    case Field::kHost:
      snprintf(text, bytes, "provider shm reaches this host only, and the peer is on another; "
               "set RAILWITNESS_OFI_PROVIDER=tcp");
      return;
    case Field::kNone: break;
  }
  snprintf(text, bytes, "nothing differs");
}

bool check_clear_to_send(const ClearToSend& message, size_t bytes, int max_group) {
  return bytes >= clear_to_send_bytes(1) && message.count >= 1 && message.count <= max_group &&
         bytes == clear_to_send_bytes(message.count);
}

}  // namespace railwitness::ofi
