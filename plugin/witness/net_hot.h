// What a net call (NCCL's isend, irecv, test) does to its flow's lines: hot.h for connections instead of queue pairs.
//
// A connection's flow differs from a queue pair's in what makes it cheap: a record is one send, so the words that are
// always the same are written once (enter_net_flow), and no record is overwritten while its send is outstanding, because
// the engine gives records to no more sends than there are.
//
// The rules of hot.h hold: one thread per flow at a time; no system call, lock, locked instruction, allocation, division.
#ifndef RAILWITNESS_PLUGIN_WITNESS_NET_HOT_H_
#define RAILWITNESS_PLUGIN_WITNESS_NET_HOT_H_

#include "plugin/witness/hot.h"

namespace railwitness::witness {

// Before the transport is asked: it may take the send, and put it on the wire, before it returns. `clock` gives the
// time. The record that it overwrites, the oldest, keeps its number meanwhile: of a connection's flow it does not count.
template <typename Clock>
[[gnu::always_inline]] inline void prepare_net_send(railwitness_record& record, uint64_t bytes, Clock clock) {
  store_release(record.bytes, bytes);
  store_release(record.post_ticks, clock());
  store_release(record.done_ticks, 0);
}

[[gnu::always_inline]] inline void post_net_send(railwitness_state& state, railwitness_record& record) {
  const uint64_t now = record.post_ticks;
  add_relaxed(state.posted, 1);
  add_relaxed(state.posted_bytes, record.bytes);
  store_relaxed(state.last_post_ticks, now);
  if (!state.oldest_post_ticks) store_relaxed(state.oldest_post_ticks, now);
  const uint64_t number = state.records + 1;
  store_release(record.sequence, number);
  store_release(state.records, number);
}

// `oldest`: post time of the oldest send that is outstanding now; 0: none is.
template <bool kLatency = true>
[[gnu::always_inline]] inline void complete_net_send(railwitness_state& state, railwitness_record& record,
                                                     railwitness_histogram& histogram, uint64_t oldest, uint64_t now) {
  store_release(record.done_ticks, now);
  add_relaxed(state.completed_bytes, record.bytes);
  add_relaxed(state.completed, 1);
  store_relaxed(state.last_completion_ticks, now);
  store_relaxed(state.oldest_post_ticks, oldest);
  if constexpr (!kLatency) return;
  const uint64_t posted = record.post_ticks;
  add_relaxed(histogram.bucket[highest_bit((now - posted) | 1)], 1);  // on a clock that went back: the last bucket
}

template <typename Clock>
inline void post_net_receives(railwitness_state& state, uint64_t n, Clock clock) {
  const uint64_t posted = state.receives_posted;
  if (posted <= state.receives_completed) store_relaxed(state.receive_wait_ticks, clock());
  store_relaxed(state.receives_posted, posted + n);
}

[[gnu::always_inline]] inline void complete_net_receives(railwitness_state& state, uint64_t n, uint64_t bytes,
                                                         uint64_t now) {
  const uint64_t completed = state.receives_completed + n;
  store_relaxed(state.receives_completed, completed);
  add_relaxed(state.received_bytes, bytes);
  store_relaxed(state.last_receive_ticks, now);
  store_relaxed(state.receive_wait_ticks, state.receives_posted > completed ? now : 0);
}

// The transport took no send: as a rule the peer has given no clear-to-send. The wait is over when a send is posted,
// which costs nothing then: a wait from before the last post is none, and so is 0. `clock` is asked when a wait begins.
template <typename Clock>
[[gnu::always_inline]] inline void wait_for_peer(railwitness_state& state, Clock clock) {
  if (state.receive_wait_ticks <= state.last_post_ticks) store_relaxed(state.receive_wait_ticks, clock());
}

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_NET_HOT_H_
