// What happens around each call, for context.cc to compile into its functions.
//
// The stamp of a post is taken before the original is called, everything else happens after it: the doorbell is not
// delayed, and a request counts only if it was accepted. That is safe since the thread that posts to a queue pair is the
// one that polls for it (NCCL's proxy); elsewhere a count could come late, a call never.
//
// The instructions are counted (tests/plugin/instructions.py), hence the shape: the frequent case is straight and calls
// nothing; whatever else is found is handed over, before anything was changed, to the functions in calls.cc.
#ifndef RAILWITNESS_PLUGIN_TAP_CALLS_H_
#define RAILWITNESS_PLUGIN_TAP_CALLS_H_

#include "plugin/tap/context.h"
#include "plugin/witness/hot.h"

#include <infiniband/verbs.h>

#include <cstdint>

namespace railwitness::tap {

// Lists of requests, and all that is rare.
int note_post_send_list(int slot, ibv_qp* qp, const ibv_send_wr* list, ibv_send_wr* const* bad, uint64_t now,
                          int result);
// Of the function that reads no clock: see use_post_send.
int note_post_send_unstamped(int slot, ibv_qp* qp, const ibv_send_wr* list, ibv_send_wr* const* bad, int result);
int note_post_recv_slowly(int slot, ibv_qp* qp, const ibv_recv_wr* list, ibv_recv_wr* const* bad, int result);

template <bool kTsc>
inline uint64_t stamp() {
  return kTsc ? read_tsc() : witness::read_mono_ticks();
}

inline bool is_signalled(const witness::Flow& flow, const ibv_send_wr& request) {
  return (request.send_flags | flow.always_signalled) & IBV_SEND_SIGNALED;
}

inline uint8_t immediate_flag(const ibv_send_wr& request) {  // opcodes with immediate data are 1 and 3
  static_assert(IBV_WR_RDMA_WRITE_WITH_IMM == 1 && IBV_WR_SEND_WITH_IMM == 3 && RAILWITNESS_RECORD_IMMEDIATE == 2);
  return static_cast<uint8_t>(0b10100u >> (request.opcode & 31) & RAILWITNESS_RECORD_IMMEDIATE);
}

// The call was accepted; `m` is the memory that counts: current(), on the rare path base(). False: not the frequent case (one request with one piece); nothing was done.
[[gnu::always_inline]] inline bool try_note_post_send(Slot& slot, const ibv_qp* qp, const ibv_send_wr* request, uint64_t now,
                                                      const witness::Memory* m) {
  witness::Flow* flow;
  if (!request || !slot.flows.find_at_once(qp->qp_num, flow)) [[unlikely]] return false;
  if (flow->memory != m || witness::this_thread.memory != m) [[unlikely]] return false;
  const uint64_t index = flow->state->records;
  if (index >= flow->limit || request->next || request->num_sge != 1) [[unlikely]] return false;
  add_relaxed(witness::this_thread.line->posts, 1);
  witness::Send send{1, request->sg_list->length, request->wr_id, static_cast<uint8_t>(request->opcode),
                     immediate_flag(*request)};
  if (is_signalled(*flow, *request)) [[likely]] {
    send.flags |= RAILWITNESS_RECORD_SIGNALLED;
    witness::post_send(*flow, index, send, now);
  } else {
    witness::post_send(*flow, index, send, now);
  }
  return true;
}

template <typename Clock>
[[gnu::always_inline]] inline bool try_note_post_recv(Slot& slot, const ibv_qp* qp, const ibv_recv_wr* list, Clock clock,
                                                      const witness::Memory* m) {
  witness::Flow* flow;
  if (!slot.flows.find_at_once(qp->qp_num, flow)) [[unlikely]] return false;
  if (flow->memory != m || witness::this_thread.memory != m) [[unlikely]] return false;
  add_relaxed(witness::this_thread.line->posts, 1);
  uint64_t n = 0;
  for (; list; list = list->next) n++;
  witness::post_receives(*flow, n, clock);
  return true;
}

// False: not the frequent case (one completion, of a send, as expected); nothing was done.
template <bool kTsc>
[[gnu::always_inline]] inline bool try_note_completion(Slot& slot, const ibv_wc& wc) {
  witness::Flow* flow;
  if (wc.status != IBV_WC_SUCCESS || (wc.opcode & IBV_WC_RECV)) return false;
  if (!slot.flows.find_at_once(wc.qp_num, flow)) [[unlikely]] return false;
  const witness::Memory* m = witness::current();
  if (flow->memory != m || witness::this_thread.memory != m) [[unlikely]] return false;
  if (!witness::try_complete_send(*flow, wc.wr_id, stamp<kTsc>)) [[unlikely]] return false;
  railwitness_thread& line = *witness::this_thread.line;
  add_relaxed(line.polls, 1);
  add_relaxed(line.completions, 1);
  return true;
}

// `n` > 0 completions of any kind. Returns n.
int note_completions(Slot& slot, const ibv_wc* completions, int n);

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_CALLS_H_
