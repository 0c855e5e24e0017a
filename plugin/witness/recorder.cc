#include "plugin/witness/recorder.h"

#include "plugin/witness/cost.h"
#include "plugin/witness/recorder_state.h"
#include "railwitness/base/version.h"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>

namespace railwitness::witness {

constinit Recorder recorder;
constinit Hot hot{nullptr, false, 0};
namespace {
constinit railwitness_thread unregistered{};
}
__thread ThisThread this_thread __attribute__((tls_model("initial-exec"))) = {nullptr, &unregistered, kNobodysLine};

uint64_t read_mono_ticks() {
  be_slow_for_a_test();
  return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t ticks_for(Detail detail) { return detail == Detail::kCounters ? load_relaxed(hot.coarse_ticks) : ticks(); }

namespace {

// A child goes on posting and polling on what it inherited, and the hot path does not ask who it is.
void leave_all_to_parent() {
  store_relaxed(recorder.may_record, false);
  recorder.mutex = PTHREAD_MUTEX_INITIALIZER;  // of a child that begins by itself
  for (const Memory* m = base(); m; m = m->previous) leave_to_parent(*m);
  store_release(hot.current, base());  // nobody here asks for another way of recording: see cost.h
}

void handle_forks() {
  static bool is_handled = false;  // under the recorder's mutex
  if (!is_handled) is_handled = pthread_atfork(nullptr, nullptr, leave_all_to_parent) == 0;
}

}  // namespace

void start(const Memory* memory) {
  pthread_mutex_lock(&recorder.mutex);
  handle_forks();
  if (!recorder.owner && memory) {
    hot.tsc = has_invariant_tsc();
    store_relaxed(recorder.has_room, true);
    railwitness_writer& w = *memory->writer;
    store_relaxed(w.pid, static_cast<uint32_t>(getpid()));
    store_relaxed(w.clock, hot.tsc ? RAILWITNESS_CLOCK_TSC : RAILWITNESS_CLOCK_MONO_NS);
    store_relaxed(w.plugin_version, kVersion);
    store_release(hot.current, memory);
    store_release(recorder.owner, getpid());
    store_release(recorder.may_record, true);
  }
  pthread_mutex_unlock(&recorder.mutex);
}

bool is_started() { return load_acquire(recorder.owner) != 0; }

bool may_record() { return load_acquire(recorder.may_record); }

// --- control ring ---------------------------------------------------------------------------------------------------

void write_event(const ControlEvent& event) {
  const Memory& m = *base();
  const uint64_t index = load_relaxed(m.writer->control_reserved);
  store_release(m.writer->control_reserved, index + 1);
  railwitness_control& c = m.control[index & (m.control_capacity - 1)];
  store_relaxed(c.sequence, 0);
  store_release(c.ticks, ticks());
  store_release(c.kind, static_cast<uint16_t>(event.kind));
  store_release(c.rail, static_cast<uint16_t>(event.rail));  // ~0 stays ~0
  store_release(c.qpn, event.qpn);
  for (int i = 0; i < 3; i++) store_release(c.value[i], event.value[i]);
  store_release(c.sequence, index + 1);
}

void record_event(const ControlEvent& event) {
  if (const Lock lock; lock) write_event(event);
}

void note_attached(railwitness_attach how) {
  const Lock lock;
  if (!lock) return;
  store_relaxed(base()->writer->attach, how);
  write_event({.kind = RAILWITNESS_CONTROL_ATTACHED, .value = {how, 0, 0}});
}

void note_context_tapped() {
  if (const Lock lock; lock) add_relaxed(base()->writer->contexts, 1);
}

void note_alone(uint64_t since_ticks) {
  if (const Lock lock; lock) store_relaxed(base()->writer->alone_begin_ticks, since_ticks);
}

void note_sidecar_lost(uint64_t when_ticks) {
  const Lock lock;
  if (!lock) return;
  recorder.is_watched = false;
  store_relaxed(base()->writer->alone_begin_ticks, when_ticks);
  store_relaxed(base()->writer->alone_end_ticks, 0);
  write_event({.kind = RAILWITNESS_CONTROL_SIDECAR_LOST});
}

void note_sidecar_found(uint64_t when_ticks) {
  const Lock lock;
  if (!lock) return;
  recorder.is_watched = true;
  publish_unwitnessed(*base());
  railwitness_writer& w = *base()->writer;
  if (load_relaxed(w.alone_begin_ticks)) store_relaxed(w.alone_end_ticks, when_ticks);
  write_event({.kind = RAILWITNESS_CONTROL_SIDECAR_FOUND});
}

// Of several threads, in their posts and polls: not a locked add, so two at once may count as one.
void count_unwitnessed_events(uint64_t n) {
  if (const Memory* m = current()) add_relaxed(m->writer->unwitnessed_events, n);
}

// --- threads --------------------------------------------------------------------------------------------------------

namespace {

bool has_ended(uint32_t tid) { return syscall(SYS_tgkill, recorder.owner, tid, 0) && errno == ESRCH; }

// A line for this thread: its own from before (a number that the kernel gave again counts as such), a new one, or that of
// a thread that has ended.
int take_thread_line(const Memory& m, uint32_t tid) {
  auto* lines = reinterpret_cast<railwitness_thread*>(m.threads);
  int ended = -1;
  for (uint32_t i = 0; i < recorder.thread_count; i++)
    if (load_relaxed(lines[i].tid) == tid) return static_cast<int>(i);
  if (recorder.thread_count < kThreads) return static_cast<int>(recorder.thread_count++);
  for (uint32_t i = 0; i < kThreads && ended < 0; i++)
    if (has_ended(load_relaxed(lines[i].tid))) ended = static_cast<int>(i);
  return ended;
}

void register_thread(const Memory& m) {
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  const int index = take_thread_line(m, tid);
  if (index < 0) return;  // counts into nobody's line
  auto& line = reinterpret_cast<railwitness_thread*>(m.threads)[index];
  store_relaxed(line.posts, 0);
  store_relaxed(line.polls, 0);
  store_relaxed(line.completions, 0);
  store_relaxed(line.first_call_ticks, ticks());
  store_release(line.tid, tid);
  recorder.thread_home[index] = &m;
  this_thread.offset = sizeof line * static_cast<uint64_t>(index);
  store_release(m.writer->threads, recorder.thread_count);
}

}  // namespace

void enter_thread() {
  const Lock lock;
  if (!lock) return;
  const Memory* m = base();
  if (this_thread.memory == m) return;
  const auto index = static_cast<uint32_t>(this_thread.offset / sizeof(railwitness_thread));
  if (!this_thread.memory) {
    register_thread(*m);
  } else if (index < kThreads) {
    if (recorder.thread_home[index] != m) copy_thread_counts(*recorder.thread_home[index], *m, index);
    recorder.thread_home[index] = m;
  }
  this_thread.line = reinterpret_cast<railwitness_thread*>(m->threads + this_thread.offset);
  this_thread.memory = m;
}

// --- rails ----------------------------------------------------------------------------------------------------------

namespace {

uint32_t find_rail_locked(const char* device, uint8_t port) {
  const railwitness_rail* rails = base()->rails;
  for (uint32_t i = 0; i < recorder.rail_count; i++)
    if (rails[i].port == port && !strncmp(rails[i].device, device, sizeof rails[i].device - 1)) return i;
  return kNoRail;
}

}  // namespace

uint32_t find_rail(const char* device, uint8_t port) {
  const Lock lock;
  return lock ? find_rail_locked(device, port) : kNoRail;
}

uint32_t add_rail(const railwitness_rail& rail) {
  const Lock lock;
  if (!lock) return kNoRail;
  const Memory& m = *base();
  uint32_t index = find_rail_locked(rail.device, rail.port);
  if (index != kNoRail) return index;
  if (recorder.rail_count == kRails) return kNoRail;
  index = recorder.rail_count++;
  copy_words(&m.rails[index], &rail, sizeof rail);
  store_release(m.writer->rails, recorder.rail_count);
  return index;
}

// --- communicators --------------------------------------------------------------------------------------------------

uint64_t open_comm(uint64_t hash, int rank, int ranks, int nodes, const char* name) {
  const Lock lock;
  if (!lock) return kComms + 1;
  const Memory& m = *base();
  uint32_t index = recorder.comm_count;
  if (index == kComms) {  // the one that closed first
    uint64_t first = ~0ull;
    for (uint32_t i = 0; i < kComms; i++)
      if (load_relaxed(m.comms[i].open) == 2 && load_relaxed(m.comms[i].closed_ticks) < first)
        first = load_relaxed(m.comms[i].closed_ticks), index = i;
  } else {
    recorder.comm_count++;
  }
  write_event({.kind = RAILWITNESS_CONTROL_COMM_OPENED, .value = {hash, static_cast<uint64_t>(rank), 0}});
  if (index == kComms) return kComms + 1;
  railwitness_comm comm{};
  comm.comm_hash = hash;
  comm.rank = rank;
  comm.nranks = ranks;
  comm.nnodes = nodes;
  comm.opened_ticks = ticks();
  if (name) strncpy(comm.name, name, sizeof comm.name - 1);
  railwitness_comm& line = m.comms[index];
  store_release(line.open, 0);
  copy_words(&line, &comm, sizeof comm);
  store_release(line.open, 1);
  store_release(m.writer->comms, recorder.comm_count);
  return index + 1;
}

void close_comm(uint64_t token) {
  const Lock lock;
  if (!lock || token == 0 || token > kComms) return;
  railwitness_comm& line = base()->comms[token - 1];
  store_relaxed(line.closed_ticks, ticks());
  store_release(line.open, 2);
  write_event({.kind = RAILWITNESS_CONTROL_COMM_CLOSED,
               .value = {load_relaxed(line.comm_hash), static_cast<uint64_t>(load_relaxed(line.rank)), 0}});
}

void forget_everything() {
  pthread_mutex_lock(&recorder.mutex);
  for (EvictedRecord*& block : recorder.evicted) {
    if (block) munmap(block, kEvictedBytes);
    block = nullptr;
  }
  recorder.owner = 0;
  recorder.may_record = false;
  for (uint32_t i = 0; i < recorder.flow_count; i++) recorder.flows[i] = {}, recorder.identities[i] = {};
  for (const Memory*& m : recorder.thread_home) m = nullptr;
  recorder.flow_count = recorder.thread_count = recorder.rail_count = recorder.comm_count = 0;
  recorder.destroyed_tail = recorder.destroyed_head = 0;
  recorder.without_line = 0;
  recorder.has_room = recorder.is_watched = false;
  recorder.grow = nullptr;
  forget_cost();
  this_thread = {nullptr, &unregistered, kNobodysLine};
  const Memory* m = base();
  store_release(hot.current, static_cast<const Memory*>(nullptr));
  while (m) {
    const Memory* previous = m->previous;
    unmap(m);
    m = previous;
  }
  pthread_mutex_unlock(&recorder.mutex);
}

}  // namespace railwitness::witness
