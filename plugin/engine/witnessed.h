// Connections and requests of a transport with the witness around them: what the engine gives NCCL in their place.
//
// A connection has its slots from the start: a send connection 128, one for each record of its flow's ring, in the same
// order; a receive connection 32 (NCCL_NET_MAX_REQUESTS) times the group size. A slot is a request of NCCL's. They are
// taken in a circle; when the next one is still in use (a request older than all the others that is not done) spare ones
// are allocated, once; when those are gone too NCCL gets a null request and tries again.
//
// The frequent calls look at one thing first: whether the connection's lines lie in the current memory. They do if the
// flow has entered it and the clock is the time stamp counter; all else is slow and lives in witnessed_slow.cc.
#ifndef RAILWITNESS_PLUGIN_ENGINE_WITNESSED_H_
#define RAILWITNESS_PLUGIN_ENGINE_WITNESSED_H_

#include "plugin/engine/transport.h"
#include "plugin/witness/net_flows.h"
#include "plugin/witness/net_hot.h"

#include <cstdint>

namespace railwitness::engine {

inline constexpr int kSendSlots = RAILWITNESS_RECORDS_PER_FLOW;
inline constexpr int kMaxRequests = 32;  // NCCL_NET_MAX_REQUESTS, of a connection that is not shared

struct Connection;

struct Slot {
  void* inner;  // the transport's request, which writes it here; of a send, null: the slot is free
  Slot* next;   // in the circle; of a spare: in the list of free ones
  Connection* connection;
  railwitness_record* record;  // of a send; its own of a spare, seen by nobody
  int* done;                   // as test() was called last
  int* bytes;
  int n;  // receives in the group; 0: the slot is free (irecv_consumed may still ask for `inner`), or it is a send's
};
static_assert(sizeof(Slot) == 56);

inline bool is_busy(const Slot& slot, bool is_send) { return is_send ? slot.inner != nullptr : slot.n != 0; }

struct alignas(64) Connection {
  void* inner;
  const witness::Memory* memory;  // where the lines below lie; nowhere(): see the top of this file
  Slot* head;                     // taken next
  Slot* oldest;                   // send that is outstanding longest; null while spares are in use, and of a receiver
  railwitness_state* state;
  railwitness_histogram* histogram;
  witness::Flow* flow;  // null: not witnessed
  Slot* slots;
  // The second line is for rare calls.
  Slot* spare;        // free ones
  void* spares;       // all of them
  Connection* flush;  // of a receiver, from its first iflush on: flushes, as sends to itself
  witness::NetEnds* awaited;  // of one that found no line: what to take one with
  int slot_count, spare_count, spares_in_use;
  bool is_send;
  bool is_counted;  // as one without a line
  uint8_t error_events;  // that were written while it had none
};
static_assert(sizeof(Connection) == 128);

inline const witness::Memory* nowhere() { return reinterpret_cast<const witness::Memory*>(uintptr_t{1}); }

// Null: no memory. `max_requests`: how many requests NCCL may have outstanding. Not witnessed until it is told to be.
Connection* make_connection(void* inner, bool is_send, int max_requests);
// Takes a line, or where none is free (further ones may have been asked for a moment ago), lets a later post take it: the
// first with no request outstanding, because a completion counts only where its post was counted.
void witness_connection(Connection& c, const witness::NetEnds& ends);
void end_connection(Connection* connection);

// How the transport is called; complete after the first init.
extern Calls calls __attribute__((visibility("hidden")));

// --- rare, in witnessed_slow.cc -------------------------------------------------------------------------------------

[[gnu::noinline, gnu::cold]] Result isend_slowly(Connection& c, void* data, size_t bytes, int tag, void* mr,
                                                 void* profiler, void** request);
[[gnu::noinline, gnu::cold]] Result irecv_slowly(Connection& c, int n, void** data, size_t* bytes, int* tags, void** mrs,
                                                 void** profilers, void** request);
Result flush(Connection& c, Transport& transport, int n, void** data, int* bytes, void** mrs, void** request);
[[gnu::noinline, gnu::cold]] Result complete_slowly(Slot& slot);
// What test() does with one that is done, and how long it takes: witness::Detail::kTimed. False: not the frequent case.
[[gnu::noinline, gnu::cold]] bool try_complete_timed(Slot& slot);
[[gnu::noinline, gnu::cold]] Result fail_post(Slot& slot, void** request, Result result);
[[gnu::noinline, gnu::cold]] Result fail_test(Slot& slot, Result result);

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_WITNESSED_H_
