#include "plugin/tap/context.h"

#include "plugin/tap/calls.h"
#include "plugin/tap/place.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/witness/recorder.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

namespace railwitness::tap {

constinit Slot slots[kSlots] = {};
pthread_mutex_t control_mutex = PTHREAD_MUTEX_INITIALIZER;

namespace {

template <int S, bool kTsc>
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  ibv_send_wr** volatile kept = bad;  // needed after failures only: not worth a register over the call
  const uint64_t now = stamp<kTsc>();
  const int result = slots[S].post_send(qp, list, kept);
  if (result) [[unlikely]] return note_post_send_list(S, qp, list, kept, now, result);
  if (try_note_post_send(slots[S], qp, list, now, witness::current())) [[likely]] return 0;
  return note_post_send_list(S, qp, list, kept, now, 0);
}

template <int S>
int post_send_unstamped(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  ibv_send_wr** volatile kept = bad;
  const int result = slots[S].post_send(qp, list, kept);
  return note_post_send_unstamped(S, qp, list, kept, result);
}

template <int S>
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad) {
  ibv_recv_wr** volatile kept = bad;
  const int result = slots[S].post_recv(qp, list, kept);
  if (result) [[unlikely]] return note_post_recv_slowly(S, qp, list, kept, result);
  if (try_note_post_recv(slots[S], qp, list, witness::ticks, witness::current())) [[likely]] return 0;
  return note_post_recv_slowly(S, qp, list, kept, 0);
}

// Apart, so that an empty poll saves no registers for it.
template <int S, bool kTsc>
[[gnu::noinline]] int note_poll(const ibv_wc* completions, int n) {
  if (n == 1 && try_note_completion<kTsc>(slots[S], *completions)) [[likely]] return 1;
  return note_completions(slots[S], completions, n);
}

template <int S, bool kTsc>
int poll_cq(ibv_cq* cq, int entries, ibv_wc* completions) {
  const int n = slots[S].poll_cq(cq, entries, completions);
  if (n > 0) [[unlikely]] return note_poll<S, kTsc>(completions, n);
  witness::count_poll();
  return n;
}

struct Entries {
  decltype(Slot::post_send) post_send, unstamped;
  decltype(Slot::post_recv) post_recv;
  decltype(Slot::poll_cq) poll_cq;
};

template <bool kTsc, int... S>
constexpr std::array<Entries, sizeof...(S)> make_entries(std::integer_sequence<int, S...>) {
  return {{{post_send<S, kTsc>, post_send_unstamped<S>, post_recv<S>, poll_cq<S, kTsc>}...}};
}
constexpr auto kTscEntries = make_entries<true>(std::make_integer_sequence<int, kSlots>());
constexpr auto kMonoEntries = make_entries<false>(std::make_integer_sequence<int, kSlots>());

const Entries& entries_of(size_t slot) { return witness::hot.tsc ? kTscEntries[slot] : kMonoEntries[slot]; }

bool is_ours(size_t slot, decltype(Slot::post_send) function) {
  return function == entries_of(slot).post_send || function == entries_of(slot).unstamped;
}

int take_slot(const ibv_context* context) {
  int free = -1;
  for (int i = kSlots - 1; i >= 0; i--) {
    if (slots[i].closing) continue;
    // Was closed behind our back, and its memory is used again: nobody calls the old functions any more.
    if (slots[i].context == context) return i;
    if (!slots[i].context) free = i;
  }
  return free;
}

}  // namespace

bool is_tapped(const ibv_context* context) {
  for (size_t i = 0; i < kSlots; i++)
    if (is_ours(i, load_relaxed(context->ops.post_send))) return true;
  return false;
}

void use_post_send(int slot, ibv_context* context, bool stamped) {
  const auto at = static_cast<size_t>(slot);
  if (!is_ours(at, load_relaxed(context->ops.post_send))) return;  // somebody came after us, and calls us
  store_release(context->ops.post_send, stamped ? entries_of(at).post_send : entries_of(at).unstamped);
}

bool tap_context(ibv_context* context) {
  if (context->abi_compat != __VERBS_ABI_IS_EXTENDED) return false;  // not of IBVERBS_1.1
  if (!context->device || !context->ops.post_send || !context->ops.post_recv || !context->ops.poll_cq) return false;
  if (!witness::may_record()) return false;  // a forked child, which may have inherited the lock taken
  if (is_of_another_copy(reinterpret_cast<void*>(context->ops.post_send))) return false;
  const ControlLock lock;
  if (is_tapped(context)) return false;
  const int at = take_slot(context);
  if (at < 0 || !slots[at].flows.create()) return false;
  Slot& slot = slots[at];
  slot.flows.for_each([](witness::Flow& flow) { witness::close_flow(flow); });
  slot.flows.clear();
  slot.post_send = context->ops.post_send;
  slot.post_recv = context->ops.post_recv;
  slot.poll_cq = context->ops.poll_cq;
  slot.has_rails = false;
  slot.context = context;
  const Entries& ours = entries_of(static_cast<size_t>(at));
  store_release(context->ops.post_send, ours.post_send);
  store_release(context->ops.post_recv, ours.post_recv);
  store_release(context->ops.poll_cq, ours.poll_cq);
  witness::note_context_tapped();
  return true;
}

Slot* find_slot(const ibv_context* context) {
  const ControlLock lock;
  for (Slot& slot : slots)
    if (slot.context == context && !slot.closing) return &slot;
  return nullptr;
}

Slot* begin_close(ibv_context* context) {
  Slot* slot = find_slot(context);
  if (slot) {
    const ControlLock lock;
    slot->closing = true;
  }
  return slot;
}

void end_close(Slot& slot, bool closed) {
  const ControlLock lock;
  slot.closing = false;
  if (!closed) return;
  slot.flows.for_each([](witness::Flow& flow) { witness::close_flow(flow); });
  slot.flows.clear();
  slot.context = nullptr;
}

void add_rails(Slot& slot) {
  {
    const ControlLock lock;
    if (slot.has_rails || !real_verbs.query_port || !real_verbs.query_gid) return;
    slot.has_rails = true;
  }
  ibv_context* context = slot.context;
  for (uint8_t port = 1; port <= 8; port++) {  // no device has more
    ibv_port_attr attributes{};
    if (real_verbs.query_port(context, port, reinterpret_cast<_compat_ibv_port_attr*>(&attributes))) break;
    railwitness_rail rail{};
    snprintf(rail.device, sizeof rail.device, "%s", context->device->name);
    rail.guid = real_verbs.get_device_guid ? real_verbs.get_device_guid(context->device) : 0;
    rail.port = port;
    rail.link_layer = attributes.link_layer;
    rail.state = static_cast<uint8_t>(attributes.state);
    rail.active_speed = attributes.active_speed;
    rail.active_width = attributes.active_width;
    rail.lid = attributes.lid;
    ibv_gid gid{};
    if (!real_verbs.query_gid(context, port, 0, &gid)) memcpy(rail.gid, gid.raw, sizeof rail.gid);
    const uint32_t index = witness::add_rail(rail);
    witness::record_event({.kind = RAILWITNESS_CONTROL_CONTEXT_OPENED, .rail = index, .value = {index, port, 0}});
  }
}

}  // namespace railwitness::tap
