// The bytes of mode ofi that another process reads or wrote: connect handle, frames of the side channel, clear-to-send.
// docs/wire.md is their description. Everything here is pure: no socket, no clock, no log; what comes in is hostile.
// Little endian, as all hosts that NCCL runs on.
#ifndef RAILWITNESS_PLUGIN_OFI_HANDSHAKE_H_
#define RAILWITNESS_PLUGIN_OFI_HANDSHAKE_H_

#include "railwitness/nccl/common.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

namespace railwitness::ofi {

static_assert(std::endian::native == std::endian::little, "the wire format is written as it lies in memory");

inline constexpr uint16_t kWireVersion = 1;
inline constexpr uint32_t kHandleMagic = 0x4f5f5752;           // "RW_O"
inline constexpr uint64_t kFrameMagic = 0x315f4d52465f5752;   // "RW_FRM_1"
inline constexpr int kMaxReceives = 8;   // of one group, as we offer it
inline constexpr int kMaxRequests = 32;  // clear-to-sends under way, as we offer it
inline constexpr size_t kMaxName = 232;  // of a libfabric endpoint (fi_getname)

// What listen() hands out, and what NCCL carries to the peer's connect(). Address and magic lie where NCCL's own socket
// and InfiniBand transports have theirs (NCCL 2.12 to 2.30): a peer without the plugin connects to `address` and sends
// `magic` back, so that we know it for what it is.
struct Handle {
  uint8_t address[32];  // sockaddr_in or sockaddr_in6 of the listener's side channel
  uint64_t magic;       // kHandleMagic, and four random bytes: a stranger can't say them
  uint16_t wire_version;
  uint16_t max_group;
  uint32_t max_requests;
  uint64_t host_id;
  uint64_t cookie;  // of this listener; what tells the right connector from a stranger
  uint32_t libfabric;
  uint32_t build;
  char provider[32];
  char device[16];
  uint32_t pid;
  uint32_t checksum;  // of all bytes before it
};
static_assert(sizeof(Handle) == nccl::kHandleBytes && offsetof(Handle, magic) == 32);

enum class Kind : uint16_t { kHello = 1, kWelcome = 2, kRefusal = 3, kBye = 4, kConfirm = 5 };

// One message of the side channel. All of one size; the part up to `text` is the same in every wire version, so that a
// refusal is understood across versions.
struct Frame {
  uint64_t magic;  // kFrameMagic
  uint16_t wire_version;
  uint16_t kind;
  uint32_t bytes;   // sizeof(Frame)
  uint64_t cookie;  // the listener's
  char text[168];   // of a refusal: why
  uint64_t host_id;
  uint32_t pid;
  uint32_t number;  // of this end of the connection
  uint16_t max_group;
  uint16_t max_requests;
  uint32_t libfabric;
  uint32_t build;
  uint32_t unfinished;  // of a bye: requests given up
  char provider[32];
  char device[16];
  uint32_t name_bytes;
  uint8_t name[kMaxName];  // of the endpoint
  uint32_t checksum;
};
static_assert(sizeof(Frame) == 512 && offsetof(Frame, text) == 24 && offsetof(Frame, host_id) == 192);
static_assert(offsetof(Frame, provider) == 224 && offsetof(Frame, name) == 276);

// What one side says of itself, from either of the two.
struct Terms {
  uint64_t host_id;
  uint64_t cookie;
  uint32_t pid;
  uint32_t libfabric;  // FI_VERSION
  uint32_t build;
  uint16_t wire_version;
  uint16_t max_group;
  uint32_t max_requests;
  char provider[33];  // printable, ends with 0
  char device[17];
};

enum class Handed {  // what the memory that connect() got is
  kOurs,
  kZeros,
  kNcclOwn,    // begins with an address and has no magic of ours: NCCL's socket or InfiniBand transport
  kGarbage,
  kDamaged,    // our magic, wrong checksum
};

void seal(Handle* handle);
void seal(Frame* frame);

// What NCCL's own listener (2.13 and later) reads from who connects: its magic, and what the socket is for. It waits on
// after a wrong magic, but gives up at once with a wrong purpose.
struct NcclOpening {
  uint64_t magic;
  int32_t purpose;  // NCCL's numbers are small
};
inline constexpr int32_t kNoPurpose = 0x52574f46;

// `terms` only where kOurs; of kNcclOwn, `cookie` is its magic. `terms->wire_version` may differ from ours; nothing behind it may be believed then.
Handed read_handle(const uint8_t (&bytes)[nccl::kHandleBytes], Terms* terms, sockaddr_storage* address);

// False: not a frame of any wire version. Of another wire version, only magic to text are good. `terms` has group and
// requests of a greeting (kHello, kWelcome) alone, else 0.
bool read_frame(const uint8_t (&bytes)[sizeof(Frame)], Frame* frame, Terms* terms);

// Eight bytes are enough to tell what is coming. kNcclOwn: who sends `handle_magic`, our handle's, has got that handle.
enum class Opening { kOurs, kNcclOwn, kStranger };
Opening read_opening(const uint8_t (&bytes)[8], uint64_t handle_magic);

enum class Field { kNone, kVersion, kProvider, kCookie, kHost };

struct Agreement {
  Field refused;      // kNone: the connection may be made
  bool other_build;   // worth one warning
  bool other_libfabric;
  int max_group;      // the smaller of both
  int max_requests;
};

// The table of docs/wire.md.
Agreement agree(const Terms& mine, const Terms& theirs);

// In words, for a log and for a refusal: which field, both values, the way out.
void describe_refusal(Field field, const Terms& mine, const Terms& theirs, char* text, size_t bytes);

// --- what the receiver sends through libfabric when it has posted receives -------------------------------------------

struct ClearToSend {
  struct Slot {
    int32_t tag;
    uint32_t reserved;
    uint64_t capacity;
  };
  uint32_t sequence;
  uint16_t count;
  uint16_t reserved;
  Slot slots[kMaxReceives];
};
static_assert(sizeof(ClearToSend) == 8 + 16 * kMaxReceives);

constexpr size_t clear_to_send_bytes(int count) {
  return offsetof(ClearToSend, slots) + static_cast<size_t>(count) * sizeof(ClearToSend::Slot);
}

// False: cannot be one of a receiver that keeps to `max_group`.
bool check_clear_to_send(const ClearToSend& message, size_t bytes, int max_group);

// libfabric tags: what it is, 20 bits of the cookie (a late message of an earlier owner of the port matches nothing),
// sequence, slot.
enum class Tagged : uint64_t { kReady = 1, kClearToSend = 2, kData = 3 };

constexpr uint64_t wire_tag(Tagged what, uint64_t cookie, uint32_t sequence, int slot) {
  return static_cast<uint64_t>(what) << 60 | (cookie & 0xfffff) << 40 | uint64_t{sequence} << 8 | static_cast<uint8_t>(slot);
}

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_HANDSHAKE_H_
