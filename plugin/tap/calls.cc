// What is rare around a call; calls.h has the rest. Everything here keeps errno: callers look at it after a failed call.
#include "plugin/tap/calls.h"

#include "plugin/tap/flows.h"
#include "plugin/witness/cost.h"
#include "plugin/witness/recorder.h"

#include <cerrno>

namespace railwitness::tap {
namespace {

using witness::Flow;

constexpr uint64_t bit(unsigned n) { return 1ull << n; }
constexpr uint64_t kTwoSided =
    bit(IBV_WR_RDMA_WRITE_WITH_IMM) | bit(IBV_WR_SEND_WITH_IMM) | bit(IBV_WR_SEND) | bit(IBV_WR_SEND_WITH_INV);

bool is_one_of(uint32_t opcode, uint64_t set) { return opcode < 64 && (set >> opcode & 1); }

uint64_t bytes_of(const ibv_send_wr& request) {
  uint64_t bytes = 0;
  for (int i = 0; i < request.num_sge; i++) bytes += request.sg_list[i].length;
  return bytes;
}

// A record ends at each signalled request and at the end of the call. `end` is behind the last request that counts.
void record_sends(Flow& flow, const ibv_send_wr* request, const ibv_send_wr* end, uint64_t now) {
  witness::Send send{};
  for (; request != end; request = request->next) {
    send.requests++;
    send.bytes += bytes_of(*request);
    const bool signalled = is_signalled(flow, *request);
    if (!signalled && request->next != end) continue;
    send.wr_id = request->wr_id;
    send.opcode = static_cast<uint8_t>(request->opcode);
    send.flags = immediate_flag(*request);
    if (signalled) send.flags |= RAILWITNESS_RECORD_SIGNALLED;
    const uint64_t index = flow.state->records;
    if (index >= flow.limit) witness::make_room(flow);
    witness::post_send(flow, index, send, now);
    send = {};
  }
}

// A list of which only the last request is signalled, or none: one record. NCCL sends so with adaptive routing. Also one
// request that finds the flow's limit reached.
[[gnu::always_inline]] inline bool try_note_list(Slot& slot, const ibv_qp* qp, const ibv_send_wr* request, uint64_t now, const witness::Memory* m) {
  Flow* flow;
  if (!slot.flows.find_at_once(qp->qp_num, flow)) return false;
  if (flow->memory != m || witness::this_thread.memory != m) return false;
  const uint64_t index = flow->state->records;
  if (index >= flow->limit) [[unlikely]] witness::make_room(*flow);
  witness::Send send{1, bytes_of(*request), 0, 0, 0};
  for (; request->next; request = request->next) {
    if (is_signalled(*flow, *request)) return false;
    send.requests++;
    send.bytes += bytes_of(*request->next);
  }
  send.wr_id = request->wr_id;
  send.opcode = static_cast<uint8_t>(request->opcode);
  send.flags = immediate_flag(*request);
  if (is_signalled(*flow, *request)) send.flags |= RAILWITNESS_RECORD_SIGNALLED;
  add_relaxed(witness::this_thread.line->posts, 1);
  witness::post_send(*flow, index, send, now);
  return true;
}

// What the first post says about the queue pair: see docs/segment-abi.md, "Roles".
void settle_by_send(Flow& flow, const ibv_send_wr* request, uint64_t now) {
  railwitness_role role = request->opcode == IBV_WR_RDMA_WRITE  ? RAILWITNESS_ROLE_CTS
                          : request->opcode == IBV_WR_RDMA_READ ? RAILWITNESS_ROLE_FLUSH
                                                                : RAILWITNESS_ROLE_DATA;
  for (; request; request = request->next)
    if (is_one_of(request->opcode, kTwoSided)) role = RAILWITNESS_ROLE_DATA;
  witness::settle_role(
      flow, role == RAILWITNESS_ROLE_DATA ? RAILWITNESS_DIRECTION_SEND : RAILWITNESS_DIRECTION_RECV, role, now);
}

// Makes flow and thread ready; null: the call is not witnessed. Queue pairs without a line come here with every post, so
// they leave first, without a system call or a lock; until there is room, and the next post takes a line.
Flow* enter(Slot& slot, ibv_qp* qp) {
  const witness::Memory* m = witness::base();
  Flow* flow = slot.flows.find(qp->qp_num);
  if (flow && flow->memory == m && witness::this_thread.memory == m) return flow;  // nothing is rare but the request
  const bool may_attach =
      !flow && (slot.flows.knows(qp->qp_num) ? witness::has_room() : !slot.flows.is_full());
  if ((!flow && !may_attach) || !witness::may_record()) {
    witness::count_unwitnessed_events(1);
    return nullptr;
  }
  witness::enter_thread();
  if (!flow) flow = attach_flow(slot, qp);
  if (!flow) {
    witness::count_unwitnessed_events(1);
    return nullptr;
  }
  if (!flow->memory) complete_facts(*flow, qp);
  witness::enter_flow(*flow);
  return flow;
}

void count_post() { add_relaxed(witness::this_thread.line->posts, 1); }

class KeepErrno {
 public:
  KeepErrno() : errno_(errno) {}
  ~KeepErrno() { errno = errno_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  int value() const { return errno_; }

 private:
  const int errno_;
};

void note_failure(const Flow& flow, int result, int error) {
  const int code = result > 0 ? result : error;  // providers return errno, some -1
  const uint32_t rail = witness::rail_of(flow);
  witness::record_event({.kind = RAILWITNESS_CONTROL_POST_FAILED, .rail = rail, .qpn = flow.qpn,
                         .value = {static_cast<uint64_t>(code), 0, 0}});
}

template <typename Request>
bool is_behind(const Request* request, const Request* what) {
  while (request && request != what) request = request->next;
  return request != nullptr;
}

// Has the flow lines to write to now? A flow whose role no post has told yet has, but asks every time.
bool enter_completing(Flow& flow) {
  witness::enter_flow(flow);
  return flow.home && witness::may_record();
}

void complete_one(Flow& flow, const ibv_wc& wc, uint64_t now) {
  if (wc.status != IBV_WC_SUCCESS)
    witness::complete_with_error(flow, wc.wr_id, now, static_cast<uint16_t>(wc.status), wc.vendor_err);
  else if (wc.opcode & IBV_WC_RECV)
    witness::complete_receive(flow, wc.byte_len, now);
  else
    witness::complete_send(flow, wc.wr_id, now);
}

// The frequent functions once more, for calls that are recorded otherwise for the moment.
[[gnu::noinline, gnu::cold]] bool try_note_sends(Slot& slot, const ibv_qp* qp, const ibv_send_wr* list, uint64_t now) {
  const witness::Memory* m = witness::base();
  return try_note_post_send(slot, qp, list, now, m) || try_note_list(slot, qp, list, now, m);
}

// Recorded otherwise for the moment, and nothing else is rare. False: it is; nothing was done.
bool try_note_post_send_apart(int slot, ibv_qp* qp, const ibv_send_wr* list, uint64_t now) {
  const witness::Detail detail = witness::detail_of(witness::current());
  if (detail == witness::Detail::kFull) return false;
  if (detail == witness::Detail::kCounters) {
    use_post_send(slot, qp->context, false);
    now = witness::ticks_for(detail);
  }
  witness::CallTimer timer(detail);
  timer.begin();
  if (!try_note_sends(slots[slot], qp, list, now)) return false;
  timer.end();
  timer.count(1, 1);
  return true;
}

[[gnu::noinline, gnu::cold]] int note_post_send_slowly(int slot, ibv_qp* qp, const ibv_send_wr* list,
                                                       ibv_send_wr* const* bad, uint64_t now, int result) {
  const KeepErrno error;
  if (!result && try_note_post_send_apart(slot, qp, list, now)) return 0;
  Flow* flow = enter(slots[slot], qp);
  if (!flow) return result;
  if (!flow->memory) settle_by_send(*flow, list, now);
  count_post();
  if (result) note_failure(*flow, result, error.value());
  // After a failure those before *bad were accepted. A *bad that is none of the list says nothing: count none.
  const ibv_send_wr* end = result ? (bad && is_behind(list, static_cast<const ibv_send_wr*>(*bad)) ? *bad : list) : nullptr;
  record_sends(*flow, list, end, now);
  return result;
}

// A success, of a queue pair with a role and lines in the current memory. False: it is something else; nothing was done.
template <bool kLatency = true>
[[gnu::always_inline]] inline bool try_note_one(Slot& slot, const ibv_wc& wc, uint64_t now, const witness::Memory* m) {
  Flow* flow;
  if (wc.status != IBV_WC_SUCCESS || !slot.flows.find_at_once(wc.qp_num, flow)) return false;
  if (flow->memory != m) return false;
  if (!(wc.opcode & IBV_WC_RECV)) return witness::try_complete_send<kLatency>(*flow, wc.wr_id, [now] { return now; });
  witness::complete_receive(*flow, wc.byte_len, now);
  return true;
}

[[gnu::noinline, gnu::cold]] void note_one_slowly(Slot& slot, const ibv_wc& wc, uint64_t now) {
  const KeepErrno error;
  Flow* flow = slot.flows.find(wc.qp_num);
  if (flow && (flow->memory == witness::base() || enter_completing(*flow)))
    complete_one(*flow, wc, now);
  else
    witness::count_unwitnessed_events(1);
}

// The thread has no line here yet, or calls are recorded otherwise for the moment.
[[gnu::noinline, gnu::cold]] int note_completions_slowly(Slot& slot, const ibv_wc* completions, int n) {
  const KeepErrno error;
  const witness::Detail detail = witness::detail_of(witness::current());
  const witness::Memory* m = witness::base();
  if (witness::this_thread.memory != m) witness::enter_thread();
  witness::CallTimer timer(detail);
  timer.begin();
  const uint64_t now = witness::ticks_for(detail);
  railwitness_thread& line = *witness::this_thread.line;
  add_relaxed(line.polls, 1);
  add_relaxed(line.completions, static_cast<uint64_t>(n));
  for (const ibv_wc* wc = completions; wc != completions + n; wc++) {
    const bool done = detail == witness::Detail::kCounters ? try_note_one<false>(slot, *wc, now, m)
                                                           : try_note_one(slot, *wc, now, m);
    if (!done) note_one_slowly(slot, *wc, now);
  }
  timer.end();
  timer.count(static_cast<uint64_t>(n));
  return n;
}

}  // namespace

int note_post_send_list(int slot, ibv_qp* qp, const ibv_send_wr* list, ibv_send_wr* const* bad, uint64_t now,
                        int result) {
  if (!list) return result;
  if (!result && try_note_list(slots[slot], qp, list, now, witness::current())) return 0;
  return note_post_send_slowly(slot, qp, list, bad, now, result);
}

int note_post_send_unstamped(int slot, ibv_qp* qp, const ibv_send_wr* list, ibv_send_wr* const* bad, int result) {
  if (!list) return result;
  const witness::Detail detail = witness::detail_of(witness::current());
  if (detail != witness::Detail::kCounters) use_post_send(slot, qp->context, true);
  const uint64_t now = witness::ticks_for(detail);
  if (!result && try_note_sends(slots[slot], qp, list, now)) return 0;
  return note_post_send_slowly(slot, qp, list, bad, now, result);
}

namespace {

bool try_note_post_recv_apart(Slot& slot, const ibv_qp* qp, const ibv_recv_wr* list) {
  const witness::Detail detail = witness::detail_of(witness::current());
  if (detail == witness::Detail::kFull) return false;
  witness::CallTimer timer(detail);
  timer.begin();
  if (!try_note_post_recv(slot, qp, list, [detail] { return witness::ticks_for(detail); }, witness::base())) return false;
  timer.end();
  timer.count(1);
  return true;
}

}  // namespace

int note_post_recv_slowly(int slot, ibv_qp* qp, const ibv_recv_wr* list, ibv_recv_wr* const* bad, int result) {
  const KeepErrno error;
  if (!list) return result;
  if (!result && try_note_post_recv_apart(slots[slot], qp, list)) return 0;
  Flow* flow = enter(slots[slot], qp);
  if (!flow) return result;
  const uint64_t now = witness::ticks_for(witness::detail_of(witness::current()));
  if (!flow->memory) witness::settle_role(*flow, RAILWITNESS_DIRECTION_RECV, RAILWITNESS_ROLE_CTS, now);
  count_post();
  if (result) note_failure(*flow, result, error.value());
  const ibv_recv_wr* end = result ? (bad && is_behind(list, static_cast<const ibv_recv_wr*>(*bad)) ? *bad : list) : nullptr;
  uint64_t n = 0;
  for (; list != end; list = list->next) n++;
  if (n) witness::post_receives(*flow, n, [now] { return now; });
  return result;
}

int note_completions(Slot& slot, const ibv_wc* completions, int n) {
  const witness::Memory* m = witness::current();
  if (witness::this_thread.memory != m) [[unlikely]] return note_completions_slowly(slot, completions, n);
  const uint64_t now = witness::ticks();
  railwitness_thread& line = *witness::this_thread.line;
  add_relaxed(line.polls, 1);
  add_relaxed(line.completions, static_cast<uint64_t>(n));
  for (const ibv_wc* wc = completions; wc != completions + n; wc++)
    if (!try_note_one(slot, *wc, now, m)) [[unlikely]] note_one_slowly(slot, *wc, now);
  return n;
}

}  // namespace railwitness::tap
