// isend, irecv and test. tests/plugin/instructions.py counts what they add to the transport's own; hence their order, and
// that words are read again where keeping them over a call would cost a register's saving.
#include "plugin/engine/engine.h"
#include "plugin/engine/witnessed.h"
#include "plugin/witness/cost.h"

namespace railwitness::engine {

// What follows the call reads `request` from where the caller left it, instead of keeping it in a register that would
// have to be saved.
template <typename T>
[[gnu::always_inline]] inline void leave_in_memory(T& argument) {
  asm volatile("" : "+m"(argument));
}

namespace {

// As often as not: NCCL asks until the peer has given a clear-to-send. Apart, so that isend need not save what this uses.
[[gnu::noinline]] Result note_not_taken(Slot& slot, void** request) noexcept {
  *request = nullptr;
  witness::count_poll();
  witness::wait_for_peer(*slot.connection->state, [&slot] { return slot.record->post_ticks; });
  return nccl::kSuccess;
}

}  // namespace

Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) noexcept {
  Connection& c = *static_cast<Connection*>(send_comm);
  Slot* slot = c.head;
  if (witness::current() != c.memory || slot->inner) [[unlikely]]
    return isend_slowly(c, data, bytes, tag, mr, profiler, request);
  leave_in_memory(request);
#if defined(__x86_64__)
  register railwitness_record* record asm("r11") = slot->record;  // a register that carries no argument
  asm volatile("" : "+r"(record));
#else
  railwitness_record* record = slot->record;
#endif
  witness::prepare_net_send(*record, bytes, read_tsc);
  const Result result = calls.isend(c.inner, data, record->bytes, tag, mr, profiler, &slot->inner);
  if (result != nccl::kSuccess) [[unlikely]]
    return fail_post(*slot, request, result);
  if (!slot->inner) return note_not_taken(*slot, request);
  *request = slot;
  Connection& same = *slot->connection;
  same.head = slot->next;
  witness::post_net_send(*same.state, *slot->record);
  return nccl::kSuccess;
}

Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
             void** request) noexcept {
  Connection& c = *static_cast<Connection*>(recv_comm);
  Slot* slot = c.head;
  if (witness::current() != c.memory || slot->n) [[unlikely]]
    return irecv_slowly(c, n, data, bytes, tags, mrs, profilers, request);
  leave_in_memory(request);
  slot->n = n;
  slot->inner = *request;  // may say that nobody needs to know of the arrival
  const Result result = calls.irecv(c.inner, n, data, bytes, tags, mrs, profilers, &slot->inner);
  if (result != nccl::kSuccess) [[unlikely]]
    return fail_post(*slot, request, result);
  if (!slot->inner) {
    witness::count_poll();
    slot->n = 0;
    *request = nullptr;
    return nccl::kSuccess;
  }
  *request = slot;
  Connection& same = *slot->connection;
  same.head = slot->next;
  witness::post_net_receives(*same.state, static_cast<uint64_t>(slot->n), read_tsc);
  return nccl::kSuccess;
}

namespace {

// Of the send that is outstanding longest; the usual case, since NCCL asks for the oldest only.
[[gnu::always_inline]] inline Result complete_oldest(Slot* slot, Connection& c) {
  Slot* next = slot->next;
  uint64_t oldest = 0;
  if (next->inner) [[likely]]
    oldest = next->record->post_ticks;
  else if (next != c.head) [[unlikely]]
    return complete_slowly(*slot);  // that one was done before this one
  slot->inner = nullptr;
  c.oldest = next;
  witness::complete_net_send(*c.state, *slot->record, *c.histogram, oldest, read_tsc());
  return nccl::kSuccess;
}

[[gnu::always_inline]] inline Result complete_receive(Slot* slot, Connection& c) {
  if (!slot->bytes) [[unlikely]]
    return complete_slowly(*slot);
  const auto n = static_cast<uint32_t>(slot->n);
  auto moved = static_cast<uint64_t>(slot->bytes[0]);
  for (uint32_t i = 1; i < n; i++) moved += static_cast<uint64_t>(slot->bytes[i]);
  slot->n = 0;
  witness::complete_net_receives(*c.state, n, moved, read_tsc());
  return nccl::kSuccess;
}

}  // namespace

Result test(void* request, int* done, int* bytes) noexcept {
  Slot* slot = static_cast<Slot*>(request);
  slot->done = done;
  slot->bytes = bytes;
  const Result result = calls.test(slot->inner, done, bytes);
  if (result != nccl::kSuccess) [[unlikely]]
    return fail_test(*slot, result);
  if (!*slot->done) {
    if (witness::current()) witness::count_poll();
    return nccl::kSuccess;
  }
  Connection& c = *slot->connection;
  if (witness::current() == c.memory) [[likely]] {
    if (c.oldest == slot) return complete_oldest(slot, c);
    if (slot->n) return complete_receive(slot, c);
  }
  return complete_slowly(*slot);
}

bool try_complete_timed(Slot& slot) {
  Connection& c = *slot.connection;
  const bool is_oldest = c.oldest == &slot && (slot.next->inner || slot.next == c.head);
  if (c.memory != witness::base() || (!is_oldest && (!slot.n || !slot.bytes))) return false;
  witness::CallTimer timer(witness::Detail::kTimed);
  const auto n = static_cast<uint64_t>(is_oldest ? 1 : slot.n);
  timer.begin();
  (void)(is_oldest ? complete_oldest(&slot, c) : complete_receive(&slot, c));  // cannot find anything rare now
  timer.end();
  timer.count(n);
  return true;
}

}  // namespace railwitness::engine
