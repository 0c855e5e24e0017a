// A connection: libfabric's objects, the side channel, and the requests under way. Each has all of libfabric's objects to
// itself, from the fabric down, so its progress thread shares nothing with other connections and takes no lock of ours, and
// closing is certain to end all access to NCCL's buffers (docs/decisions/0004-ofi-endpoints.md).
#ifndef RAILWITNESS_PLUGIN_OFI_COMM_H_
#define RAILWITNESS_PLUGIN_OFI_COMM_H_

#include "plugin/engine/transport.h"
#include "plugin/ofi/devices.h"
#include "plugin/ofi/handshake.h"
#include "plugin/ofi/lost_infos.h"
#include "plugin/ofi/side_channel.h"

#include <mutex>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

namespace railwitness::ofi {

using nccl::Result;

inline constexpr int kMaxSends = kMaxRequests * kMaxReceives;  // a shared connection's (NCCL_NET_MAX_REQUESTS times group)

struct Comm;

// Everything that NCCL holds a pointer to or may have forgotten to close, in one list (registry.cc).
struct Object {
  enum class Kind : uint8_t { kListen, kConnecting, kComm } kind;
  void* context;    // of init()
  void* handle;     // connecting: NCCL's memory, and the cookie that was in it
  uint64_t handle_cookie;
  Object* previous;
  Object* next;
};

struct Operation {
  enum class Kind : uint8_t { kSend, kReceive, kClearToSendIn, kClearToSendOut, kReady };
  fi_context2 context;  // first: libfabric gives its address back
  Kind kind;
  uint16_t index;   // receive: of the slot; clear-to-send: of the buffer
  struct Request* request;
};

struct Request {
  Comm* comm;
  Request* next;  // in the list of free ones or of those not wholly posted
  bool is_send;
};

struct SendRequest : Request {
  Operation operation;
  bool is_done;
  void* data;
  size_t bytes;
  void* descriptor;
  uint64_t tag;
};

struct ReceiveRequest : Request {
  struct Slot {
    Operation operation;
    void* data;
    size_t capacity;
    size_t received;
    void* descriptor;
    int tag;
  };
  int count;           // of slots
  int posted;          // of them
  int announced;       // slots whose clear-to-send is on its way
  int finished;
  uint32_t sequence;   // of the first clear-to-send; one for each `max_group` slots
  Slot slots[kMaxReceives];
};

struct ClearToSendBuffer {
  Operation operation;
  ClearToSend message;
  bool is_busy;
};

// At the sender: a clear-to-send that still has room.
struct OpenSlots {
  bool is_there;
  uint32_t taken;  // bits
  ClearToSend message;
};

enum class Peer : uint8_t { kAlive, kSaidBye, kGone };

struct Comm : Object {
  bool is_send;
  Device* device;
  const Devices* devices;
  fid_fabric* fabric;
  fid_domain* domain;
  fid_ep* endpoint;
  fid_cq* completions;
  fid_av* addresses;
  fi_addr_t peer;

  SideChannel side;
  uint64_t cookie;
  uint32_t number, peer_number, peer_pid;
  char peer_device[17];
  sockaddr_storage peer_address;
  int max_group, max_requests;

  Result failed;  // kSuccess, or what every later call returns
  Peer peer_state;
  uint32_t peer_left_ms, next_look_ms;
  uint32_t peer_unfinished;
  uint32_t requests_out;  // read by the service thread

  void* request_block;      // what all requests were allocated in
  Request* free_requests;
  Request* unposted;        // first in, first out
  Request** unposted_end;
  uint32_t sequence;        // sender: oldest with room; receiver: next to be announced
  int place;                // of that sequence in the lists below
  ClearToSendBuffer* buffers;  // sender: posted for receiving; receiver: being sent
  OpenSlots* open;          // sender; place_of() has the index
  bool* sequence_busy;      // receiver; the same
  Operation ready;
  ClearToSend ready_message;
  bool is_ready;

  std::mutex memory_lock;   // registrations: service thread only, but several
  struct Memory* memory;    // registered with libfabric; see memory.cc
  LostInfos lost;
};

// Sequences take turns on max_requests places. That is no power of two by the wire format, hence no mask; it is compared
// instead of divided. `sequence` is less than max_requests away from the comm's, or that many behind it.
inline int place_of(const Comm& comm, uint32_t sequence) {
  const int place = comm.place + static_cast<int32_t>(sequence - comm.sequence);
  if (place < 0) return place + comm.max_requests;
  return place < comm.max_requests ? place : place - comm.max_requests;
}

inline void next_sequence(Comm* comm) {
  comm->sequence++;
  if (++comm->place == comm->max_requests) comm->place = 0;
}

// Slots of a receive go by groups, a clear-to-send each: slot `slot` of the `group`th. More than one group is rare.
struct GroupSlot {
  uint32_t group;
  int slot;
};
inline GroupSlot group_slot_of(const Comm& comm, int index) {
  GroupSlot at{0, index};
  for (; at.slot >= comm.max_group; at.slot -= comm.max_group) at.group++;
  return at;
}
inline uint32_t groups_of(const Comm& comm, int slots) { return group_slot_of(comm, slots - 1).group + 1; }

// Endpoint, completion queue and address vector; the comm's number and, in `frame`, the endpoint's name. kSuccess or an
// error that has been said.
Result open_endpoint(Comm* comm, Frame* frame);
Result set_peer(Comm* comm, const Frame& theirs, const Agreement& agreement);

// Not in the registry until NCCL gets it: before that, who makes it owns it.
Comm* make_comm(const Devices& devices, Device* device, void* context, bool is_send);
void close_comm(Comm* comm);  // says goodbye, ends all access to buffers, frees

// Called when the peer is known and before anything moves. Posts what a sender receives into.
Result start_receiving(Comm* comm);

// Moves what can be moved. False: nothing happened.
bool progress(Comm* comm);

// Posts what is not posted yet of one request; false: libfabric cannot take more now.
bool push(Comm* comm, SendRequest* request);
bool push(Comm* comm, ReceiveRequest* request);
void queue_unposted(Comm* comm, Request* request);
void complete(Comm* comm, Operation* operation, size_t bytes);

// While something is awaited: has the process of the peer gone? An idle moment besides.
void look_after_peer(Comm* comm);

// Says it once with device and peer, and lets every later call return `result`.
[[gnu::format(printf, 3, 4)]] Result fail(Comm* comm, Result result, const char* format, ...);

// --- registry.cc
void enlist(Object* object);
void delist(Object* object);
bool is_listed(const void* object);
Object* next_of(void* context);  // any object of the context, or null
Object* connecting_of(void* handle, uint64_t cookie);
int objects();

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_COMM_H_
