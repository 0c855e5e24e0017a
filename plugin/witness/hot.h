// What a post or a completion does to its flow's lines. Included by the tap, which knows verbs; this room does not.
//
// Words of the flow are read plainly, since only this thread writes them, and written atomically, since others read them.
//
// Called by the thread that owns the queue pair (NCCL's proxy guarantees one at a time). No system call, lock, locked
// instruction, allocation or division here; what is rare is a call into recorder.cc and marked [[unlikely]].
//
// Which memory: `hot.current` may change at any time: a sidecar came, or calls are to be recorded otherwise (Detail). A flow
// or thread that finds itself in another memory than base() takes its own lines along, once: enter_flow, enter_thread.
#ifndef RAILWITNESS_PLUGIN_WITNESS_HOT_H_
#define RAILWITNESS_PLUGIN_WITNESS_HOT_H_

#include "plugin/witness/memory.h"
#include "railwitness/abi/segment.h"
#include "railwitness/base/clock.h"
#include "railwitness/base/shared_word.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::witness {

inline constexpr uint64_t kRecords = RAILWITNESS_RECORDS_PER_FLOW;

struct EvictedRecord {  // a signalled record that was overwritten before its completion came
  uint64_t wr_id, post_ticks, posted_through, bytes_through;
};
inline constexpr uint64_t kEvicted = 1024;  // a queue of NCCL's holds 512 requests

// A queue pair, as this process knows it; its lines in the segment have the same index. Never freed.
struct alignas(64) Flow {
  const Memory* memory;  // where `state` etc. lead; null until the first post has told the role
  railwitness_state* state;
  railwitness_record* records;
  railwitness_histogram* histogram;
  // The ring has room while fewer records were written: of the first one without completion + kRecords, as it was when
  // make_room looked last. It may have grown since, which completions do not say: they would once for every post.
  uint64_t limit;
  uint64_t next;  // the record that the next completion is for: the first without one; ~0 while older ones are evicted
  uint32_t always_signalled;  // all bits: the queue pair signals every request (sq_sig_all)
  uint32_t index;
  uint64_t evicted_tail;  // ring of evicted records: from tail to head
  // The second line is for rare calls, under the recorder's mutex or by the flow's thread.
  uint64_t evicted_head;
  const Memory* home;  // the memory with the newest lines of this flow; all newer ones have copies
  const Memory* copied_to;  // a memory that a switch prepares: it has lines of this flow, not of another before it
  EvictedRecord* evicted;
  uint32_t is_destroyed;
  uint32_t qpn;
  uint32_t error_events;
};
static_assert(sizeof(Flow) == 128);

struct Hot {
  const Memory* current;
  bool tsc;  // the clock; settled before anything is tapped
  uint64_t coarse_ticks;  // for Detail::kCounters: the helper thread's last tick
};
extern Hot hot __attribute__((visibility("hidden")));  // reached without the GOT

struct ThisThread {
  const Memory* memory;       // where `line` lies; null: no line yet
  railwitness_thread* line;   // before: one outside any segment
  uint64_t offset;            // of the line in the table of any memory; the last line of a table is nobody's
};
inline constexpr uint64_t kNobodysLine = sizeof(railwitness_thread) * (RAILWITNESS_THREAD_CAPACITY - 1);
extern __thread ThisThread this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

[[gnu::noinline, gnu::cold]] uint64_t read_mono_ticks();
inline uint64_t ticks() { return hot.tsc ? read_tsc() : read_mono_ticks(); }

inline const Memory* current() { return load_acquire(hot.current); }

// Whatever it is called at the moment: what flows, threads and everything rare is entered into. Null: not started.
inline const Memory* base() {
  const Memory* m = current();
  return m ? m->base : nullptr;
}

// The one thing that an empty poll does: one count in the thread's line of whatever memory is current.
inline void count_poll() {
  add_relaxed(reinterpret_cast<railwitness_thread*>(current()->threads + this_thread.offset)->polls, 1);
}

// --- rare, in recorder.cc -------------------------------------------------------------------------------------------

// The time of a call that is recorded on the rare path: what `detail` asks for.
uint64_t ticks_for(Detail detail);
void enter_thread();
void enter_flow(Flow& flow);
void make_room(Flow& flow);
void complete_send_slowly(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status);
// The first one's status and time, their number, and an event for each of the first few.
void count_error(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status, uint32_t vendor_error);
void complete_with_error(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status, uint32_t vendor_error);
void count_unwitnessed_events(uint64_t n);

// --- posts ----------------------------------------------------------------------------------------------------------

struct Send {  // requests of one call, up to and including a signalled one
  uint64_t requests;
  uint64_t bytes;
  uint64_t wr_id;
  uint8_t opcode;  // enum ibv_wr_opcode
  uint8_t flags;   // enum railwitness_record_flags
};

// `index` is state.records. Only below the flow's limit: make_room.
[[gnu::always_inline]] inline void post_send(Flow& flow, uint64_t index, const Send& send, uint64_t now) {
  railwitness_state& state = *flow.state;
  const uint64_t posted = state.posted + send.requests;
  const uint64_t bytes = state.posted_bytes + send.bytes;
  railwitness_record& record = flow.records[index % kRecords];
  // Release keeps the zero ahead of the new content and the number behind it; on x86-64 all are plain moves.
  store_relaxed(record.sequence, 0);
  store_release(record.post_ticks, now);
  store_release(record.done_ticks, 0);
  store_release(record.bytes, send.bytes);
  store_release(record.wr_id, send.wr_id);
  store_release(record.posted_through, posted);
  store_release(record.bytes_through, bytes);
  store_release(record.requests, static_cast<uint16_t>(send.requests));
  store_release(record.opcode, send.opcode);
  store_release(record.flags, send.flags);
  store_release(record.status, 0);
  store_release(record.sequence, index + 1);
  store_relaxed(state.posted, posted);
  store_relaxed(state.posted_bytes, bytes);
  store_relaxed(state.last_post_ticks, now);
  if ((send.flags & RAILWITNESS_RECORD_SIGNALLED) && !state.oldest_post_ticks)
    store_relaxed(state.oldest_post_ticks, now);
  store_release(state.records, index + 1);
}

// `clock` gives the time of the call; it is asked only where that is needed, here and below.
template <typename Clock>
[[gnu::always_inline]] inline void post_receives(Flow& flow, uint64_t n, Clock clock) {
  railwitness_state& state = *flow.state;
  const uint64_t posted = state.receives_posted;
  if (posted <= state.receives_completed) store_relaxed(state.receive_wait_ticks, clock());
  store_relaxed(state.receives_posted, posted + n);
}

// --- completions ----------------------------------------------------------------------------------------------------

inline uint64_t highest_bit(uint64_t word) {  // of one that is not zero
#if defined(__x86_64__)
  uint64_t bit;  // in one instruction; the compiler's builtin is an int and takes two more
  asm("bsrq %1, %0" : "=r"(bit) : "r"(word) : "cc");
  return bit;
#else
  return static_cast<uint64_t>(63 ^ __builtin_clzll(word));
#endif
}

inline void count_latency(Flow& flow, uint64_t posted, uint64_t now) {
  uint32_t* bucket = flow.histogram->bucket;  // the first one: clocks of two sockets may differ by a hair
  const auto wait = static_cast<int64_t>(now - posted);
  if (wait > 0) [[likely]] bucket += highest_bit(static_cast<uint64_t>(wait));
  add_relaxed(*bucket, 1);
}

// The record `at` bytes into the ring, which goes round: cheaper than by number where one follows another.
inline constexpr uint64_t kRingBytes = kRecords * sizeof(railwitness_record);
inline railwitness_record& record_at(const Flow& flow, uint64_t at) {
  return *reinterpret_cast<railwitness_record*>(reinterpret_cast<char*>(flow.records) + at);
}

// False: not the oldest record's completion, or the next record is no signalled one; nothing was done, and the clock was
// not read: whoever goes on with this completion reads it. Without `kLatency` the histogram stays as it is.
template <bool kLatency = true, typename Clock>
[[gnu::always_inline]] inline bool try_complete_send(Flow& flow, uint64_t wr_id, Clock clock) {
  railwitness_state& state = *flow.state;
  const uint64_t next = flow.next;
  const uint64_t head = state.records;
  const uint64_t at = next * sizeof(railwitness_record) % kRingBytes;
  railwitness_record& record = record_at(flow, at);
  if (next >= head || record.wr_id != wr_id ||
      !(record.flags & RAILWITNESS_RECORD_SIGNALLED)) [[unlikely]]
    return false;
  uint64_t oldest = 0;
  if (next + 1 != head) {
    const railwitness_record& following = record_at(flow, (at + sizeof(railwitness_record)) % kRingBytes);
    if (!(following.flags & RAILWITNESS_RECORD_SIGNALLED)) [[unlikely]] return false;
    oldest = following.post_ticks;
  }
  const uint64_t now = clock();
  store_release(record.done_ticks, now);
  if constexpr (kLatency) count_latency(flow, record.post_ticks, now);
  store_relaxed(state.completed, record.posted_through);
  store_relaxed(state.completed_bytes, record.bytes_through);
  store_relaxed(state.last_completion_ticks, now);
  store_relaxed(state.oldest_post_ticks, oldest);
  flow.next = next + 1;
  return true;
}

inline void complete_send(Flow& flow, uint64_t wr_id, uint64_t now) {
  if (!try_complete_send(flow, wr_id, [now] { return now; })) [[unlikely]] complete_send_slowly(flow, wr_id, now, 0);
}

inline void complete_receive(Flow& flow, uint64_t bytes, uint64_t now) {
  railwitness_state& state = *flow.state;
  const uint64_t completed = state.receives_completed + 1;
  store_relaxed(state.receives_completed, completed);
  add_relaxed(state.received_bytes, bytes);
  store_relaxed(state.last_receive_ticks, now);
  store_relaxed(state.receive_wait_ticks, state.receives_posted > completed ? now : 0);
}

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_HOT_H_
