// Connections, and the calls on them that find something unusual: another memory, another clock, no free slot, requests
// that are done out of order, errors, no witness at all.
#include "plugin/engine/witnessed.h"
#include "plugin/witness/cost.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace railwitness::engine {

constinit Calls calls{};

namespace {

witness::Detail detail_now() { return witness::detail_of(witness::current()); }

uint64_t ticks_now() { return witness::ticks_for(detail_now()); }

struct Spare {
  Slot slot;
  railwitness_record record;
};

bool is_spare(const Connection& c, const Slot& slot) {
  return c.spare_count > 0 && (&slot < c.slots || &slot >= c.slots + c.slot_count);
}

bool is_idle(const Connection& c) {
  if (c.spares_in_use > 0) return false;
  for (int i = 0; i < c.slot_count; i++)
    if (is_busy(c.slots[i], c.is_send)) return false;
  return true;
}

// Records and slots are counted from one: so are those of a flow that begins late.
bool may_take_line(const Connection& c) { return witness::has_room() && is_idle(c); }

bool begin_flow(Connection& c, witness::Flow* flow) {
  c.is_counted = !flow && witness::may_record();
  if (!flow) return false;
  c.flow = flow;
  c.head = c.slots;
  c.oldest = c.is_send ? c.slots : nullptr;
  return true;
}

bool take_awaited_line(Connection& c) {
  if (!c.awaited || !may_take_line(c)) return false;
  const auto direction = c.is_send ? RAILWITNESS_DIRECTION_SEND : RAILWITNESS_DIRECTION_RECV;
  if (!begin_flow(c, witness::open_net_flow(*c.awaited, direction, c.is_counted))) return false;
  delete c.awaited;
  c.awaited = nullptr;
  return true;
}

// True: c.state and so on lead into a memory that is or a moment ago was the current one.
bool enter(Connection& c) {
  if (!c.flow && !take_awaited_line(c)) return false;
  if (c.flow->memory == witness::base() && c.state) return true;
  if (!witness::enter_net_flow(*c.flow)) return false;
  c.state = c.flow->state;
  c.histogram = c.flow->histogram;
  for (int i = 0; c.is_send && i < c.slot_count; i++) c.slots[i].record = &c.flow->records[i];
  c.memory = witness::hot.tsc ? c.flow->memory : nowhere();
  return true;
}

void count_unwitnessed() {
  if (witness::may_record()) witness::count_unwitnessed_events(1);
}

constexpr uint8_t kErrorEvents = 4;  // a connection, as of a flow

// A connection without a line has no place for its errors but the process' events.
void note_unwitnessed_error(Connection& c, Result result) {
  if (!witness::may_record() || c.error_events >= kErrorEvents) return;
  c.error_events++;
  const witness::NetEnds* ends = c.awaited;
  witness::record_event({.kind = RAILWITNESS_CONTROL_ERROR_COMPLETION,
                         .rail = ends ? witness::find_rail(ends->device, ends->port) : witness::kNoRail,
                         .qpn = ends ? ends->number : 0,
                         .value = {static_cast<uint64_t>(result), 0, 0}});
}

bool grow(Connection& c) {
  if (c.spare_count == 0 || c.spares) return false;
  c.spares = calloc(static_cast<size_t>(c.spare_count), sizeof(Spare));
  auto* spares = static_cast<Spare*>(c.spares);
  for (int i = 0; spares && i < c.spare_count; i++)
    spares[i].slot = {.inner = nullptr, .next = c.spare, .connection = &c, .record = &spares[i].record, .done = nullptr,
                      .bytes = nullptr, .n = 0},
    c.spare = &spares[i].slot;
  return spares;
}

// Null: none is free. It is taken for good by keep().
Slot* free_slot(Connection& c) {
  if (!is_busy(*c.head, c.is_send)) return c.head;
  if (!c.spare) grow(c);
  return c.spare;
}

void keep(Connection& c, Slot& slot) {
  if (&slot == c.head) {
    c.head = slot.next;
    return;
  }
  c.spare = slot.next;
  c.spares_in_use++;
  c.oldest = nullptr;
}

// Post time of the oldest send outstanding. From the head on the circle is in the order of posts.
uint64_t find_oldest(Connection& c) {
  Slot* slot = c.head;
  for (int i = 0; i < c.slot_count && !slot->inner; i++) slot = slot->next;
  uint64_t oldest = slot->inner ? slot->record->post_ticks : 0;
  const auto* spares = static_cast<const Spare*>(c.spares);
  for (int i = 0; c.spares_in_use > 0 && i < c.spare_count; i++)
    if (spares[i].slot.inner && (!oldest || spares[i].record.post_ticks < oldest)) oldest = spares[i].record.post_ticks;
  c.oldest = c.spares_in_use > 0 ? nullptr : slot;
  return oldest;
}

void give_back(Connection& c, Slot& slot) {
  if (c.is_send) slot.inner = nullptr;
  slot.n = 0;
  if (!is_spare(c, slot)) return;
  slot.next = c.spare;
  c.spare = &slot;
  c.spares_in_use--;
}

void post_spare(railwitness_state& state, const railwitness_record& record) {
  add_relaxed(state.posted, 1);
  add_relaxed(state.posted_bytes, record.bytes);
  store_relaxed(state.last_post_ticks, record.post_ticks);
  if (!state.oldest_post_ticks) store_relaxed(state.oldest_post_ticks, record.post_ticks);
}

void count_send(Connection& c, Slot& slot) {
  if (is_spare(c, slot))
    post_spare(*c.state, *slot.record);
  else
    witness::post_net_send(*c.state, *slot.record);
}

// `slot` is done.
uint64_t oldest_without(Connection& c, const Slot& slot) {
  if (c.oldest != &slot || (!slot.next->inner && slot.next != c.head)) return find_oldest(c);
  c.oldest = slot.next;
  return slot.next->inner ? slot.next->record->post_ticks : 0;
}

void count_done(Connection& c, Slot& slot, int n, uint64_t now) {
  if (c.is_send) {
    const uint64_t oldest = oldest_without(c, slot);
    if (detail_now() == witness::Detail::kCounters)
      witness::complete_net_send<false>(*c.state, *slot.record, *c.histogram, oldest, now);
    else
      witness::complete_net_send(*c.state, *slot.record, *c.histogram, oldest, now);
    return;
  }
  uint64_t moved = 0;
  for (int i = 0; slot.bytes && i < n; i++) moved += static_cast<uint64_t>(slot.bytes[i]);
  witness::complete_net_receives(*c.state, static_cast<uint64_t>(n), moved, now);
}

}  // namespace

Connection* make_connection(void* inner, bool is_send, int max_requests) {
  const int slots = is_send ? kSendSlots : std::max(max_requests, kMaxRequests);
  const size_t bytes = sizeof(Connection) + sizeof(Slot) * static_cast<size_t>(slots);
  void* memory = aligned_alloc(alignof(Connection), bytes);
  if (!memory) return nullptr;
  memset(memory, 0, bytes);
  auto* c = new (memory) Connection{};
  c->inner = inner;
  c->memory = nowhere();
  c->is_send = is_send;
  c->slots = c->head = reinterpret_cast<Slot*>(c + 1);
  c->oldest = is_send ? c->head : nullptr;
  c->slot_count = slots;
  c->spare_count = std::max(0, max_requests - slots);
  for (int i = 0; i < slots; i++) {
    c->slots[i].next = &c->slots[(i + 1) % slots];
    c->slots[i].connection = c;
  }
  return c;
}

void witness_connection(Connection& c, const witness::NetEnds& ends) {
  const auto direction = c.is_send ? RAILWITNESS_DIRECTION_SEND : RAILWITNESS_DIRECTION_RECV;
  if (begin_flow(c, witness::open_net_flow(ends, direction)) || !c.is_counted) return;
  c.awaited = new (std::nothrow) witness::NetEnds(ends);
}

void end_connection(Connection* c) {
  if (c->flush) end_connection(c->flush);
  if (c->flow) witness::close_flow(*c->flow);
  delete c->awaited;
  free(c->spares);
  free(c);
}

Result isend_slowly(Connection& c, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) {
  *request = nullptr;
  const bool witnessed = enter(c);
  Slot* slot = free_slot(c);
  if (!slot) return nccl::kSuccess;
  const witness::Detail detail = detail_now();
  witness::CallTimer timer(witnessed ? detail : witness::Detail::kFull);
  timer.begin();
  if (witnessed) witness::prepare_net_send(*slot->record, bytes, [detail] { return witness::ticks_for(detail); });
  timer.end();
  const Result result = calls.isend(c.inner, data, bytes, tag, mr, profiler, &slot->inner);
  if (result != nccl::kSuccess) return fail_post(*slot, request, result);
  if (!slot->inner) {
    if (witness::current()) witness::count_poll();
    if (witnessed) witness::wait_for_peer(*c.state, [slot] { return slot->record->post_ticks; });
    return nccl::kSuccess;
  }
  *request = slot;
  keep(c, *slot);
  if (!witnessed) return count_unwitnessed(), nccl::kSuccess;
  timer.begin();
  count_send(c, *slot);
  timer.end();
  timer.count(1);
  return nccl::kSuccess;
}

Result irecv_slowly(Connection& c, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
                    void** request) {
  const bool witnessed = enter(c);
  Slot* slot = free_slot(c);
  if (!slot) {
    *request = nullptr;
    return nccl::kSuccess;
  }
  slot->n = n;
  slot->inner = *request;
  const Result result = calls.irecv(c.inner, n, data, bytes, tags, mrs, profilers, &slot->inner);
  if (result != nccl::kSuccess) return fail_post(*slot, request, result);
  if (!slot->inner) {
    slot->n = 0;
    *request = nullptr;
    if (witness::current()) witness::count_poll();
    return nccl::kSuccess;
  }
  *request = slot;
  keep(c, *slot);
  if (!witnessed) return count_unwitnessed(), nccl::kSuccess;
  witness::CallTimer timer(detail_now());
  timer.begin();
  witness::post_net_receives(*c.state, static_cast<uint64_t>(n), ticks_now);
  timer.end();
  timer.count(static_cast<uint64_t>(n));
  return nccl::kSuccess;
}

namespace {

// As the receiver has one, and as other connections do.
void take_flush_line(Connection& f, const Connection& receiver) {
  if (f.flow || !receiver.flow || (f.is_counted ? !may_take_line(f) : !is_idle(f))) return;
  begin_flow(f, witness::open_flush_flow(*receiver.flow, f.is_counted));
}

}  // namespace

Result flush(Connection& c, Transport& transport, int n, void** data, int* bytes, void** mrs, void** request) {
  *request = nullptr;
  if (!c.flush) c.flush = make_connection(c.inner, true, 16 * kSendSlots);
  if (!c.flush) return nccl::kSystemError;
  Connection& f = *c.flush;
  take_flush_line(f, c);
  const bool witnessed = enter(f);
  Slot* slot = free_slot(f);
  if (!slot) return nccl::kInternalError;  // NCCL takes a null request for "nothing to wait for"
  uint64_t flushed = 0;
  for (int i = 0; bytes && i < n; i++) flushed += static_cast<uint64_t>(bytes[i]);
  if (witnessed) witness::prepare_net_send(*slot->record, flushed, ticks_now);
  const Result result = transport.iflush(c.inner, n, data, bytes, mrs, &slot->inner);
  if (result != nccl::kSuccess) return fail_post(*slot, request, result);
  if (!slot->inner) return nccl::kSuccess;
  *request = slot;
  keep(f, *slot);
  if (witnessed) count_send(f, *slot);
  return nccl::kSuccess;
}

namespace {

// `now` is 0 if the connection is not witnessed.
void complete(Slot& slot, uint64_t now) {
  Connection& c = *slot.connection;
  const int n = slot.n;
  give_back(c, slot);
  if (now)
    count_done(c, slot, n, now);
  else
    count_unwitnessed();
}

}  // namespace

Result complete_slowly(Slot& slot) {
  if (detail_now() == witness::Detail::kTimed && try_complete_timed(slot)) return nccl::kSuccess;
  complete(slot, enter(*slot.connection) ? ticks_now() : 0);
  return nccl::kSuccess;
}

namespace {

// ncclInProgress, which NCCL takes for success: it looks at the request only.
Result post_in_progress(Slot& slot, void** request) {
  Connection& c = *slot.connection;
  if (!slot.inner || reinterpret_cast<uintptr_t>(slot.inner) == nccl::kOptionalCompletion) {
    slot.inner = nullptr;
    slot.n = 0;
    *request = nullptr;
    return nccl::kSuccess;
  }
  const bool witnessed = enter(c);
  *request = &slot;
  keep(c, slot);
  if (!witnessed)
    count_unwitnessed();
  else if (c.is_send)
    count_send(c, slot);
  else
    witness::post_net_receives(*c.state, static_cast<uint64_t>(slot.n), ticks_now);
  return nccl::kSuccess;
}

}  // namespace

Result fail_post(Slot& slot, void** request, Result result) {
  if (result == nccl::kInProgress) return post_in_progress(slot, request);
  slot.inner = nullptr;
  slot.n = 0;
  *request = nullptr;
  Connection& c = *slot.connection;
  if (enter(c)) {
    witness::count_error(*c.flow, 0, ticks_now(), static_cast<uint16_t>(result), 0);
  } else {
    count_unwitnessed();
    note_unwitnessed_error(c, result);
  }
  return result;
}

// A send or receive that failed is finished, as it is on a queue pair.
Result fail_test(Slot& slot, Result result) {
  if (result == nccl::kInProgress) {  // as above
    *slot.done = 0;
    return nccl::kSuccess;
  }
  Connection& c = *slot.connection;
  const uint64_t now = enter(c) ? ticks_now() : 0;
  if (now) {
    witness::count_error(*c.flow, 0, now, static_cast<uint16_t>(result), 0);
    if (slot.record) store_relaxed(slot.record->status, static_cast<uint16_t>(result));
  } else {
    note_unwitnessed_error(c, result);  // complete() counts it
  }
  slot.bytes = nullptr;
  complete(slot, now);
  return result;
}

}  // namespace railwitness::engine
