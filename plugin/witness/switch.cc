// From one memory to the next, while recording goes on.
//
// 1. Flows are copied from where they are at home, while their threads may write.
// 2. Under the mutex everything else is copied, flows that came since 1 too, and the new memory published. What is written
//    under the mutex (control ring, identities, rails, communicators) misses nothing.
// 3. From now on a thread that posts or polls finds its flow in another memory than the current one and takes it along
//    again, itself (bring_flow_home): nothing it wrote between 1 and 2 is lost.
// 4. A flow that falls silent just then has no thread that comes: settle() copies such flows again, a few times. A
//    thread that wakes up meanwhile waits for the mutex, so each line has one writer.
// 5. After a second nobody is in the middle of an event of before: silent flows are at home in the current memory, and
//    old memories are given back. A thread that was stopped for longer finishes its event in zeroes; one event is lost.
//
// Only the count of polls is not exact: what was polled within 2 (microseconds) is missing from it.
#include "plugin/witness/recorder_state.h"

namespace railwitness::witness {
namespace {

void copy_writer(const Memory& from, const Memory& to) {
  const railwitness_writer& f = *from.writer;
  railwitness_writer& t = *to.writer;
  copy_words(&t, &f, sizeof t);
  store_relaxed(t.copied_forward, 1);
}

void copy_control(const Memory& from, const Memory& to) {
  const uint64_t head = load_relaxed(from.writer->control_reserved);
  uint64_t i = head > from.control_capacity ? head - from.control_capacity : 0;
  if (head - i > to.control_capacity) i = head - to.control_capacity;
  for (; i != head; i++)
    copy_words(&to.control[i & (to.control_capacity - 1)], &from.control[i & (from.control_capacity - 1)],
               sizeof(railwitness_control));
}

void copy_newest(Flow& flow, const Memory& to) {
  copy_flow(*flow.home, to, flow.index);
  flow.copied_to = &to;
}

}  // namespace

void set_growth(Grow grow) {
  if (const Lock lock; lock) recorder.grow = grow;
}

bool add_part(const Part& part) {
  const Lock lock;
  if (!lock || part.number != base()->part_count) return false;
  append_part(*base(), part);
  return true;
}

uint32_t parts_in_use() {
  const Lock lock;
  return lock && recorder.flow_count ? part_of(recorder.flow_count - 1) + 1 : 1;
}

// Of a thread that counts nowhere else any more, or by the thread itself.
void copy_thread_counts(const Memory& from, const Memory& to, uint32_t index) {
  const auto& f = reinterpret_cast<const railwitness_thread*>(from.threads)[index];
  auto& t = reinterpret_cast<railwitness_thread*>(to.threads)[index];
  store_relaxed(t.posts, load_relaxed(f.posts));
  store_relaxed(t.completions, load_relaxed(f.completions));
}

bool switch_memory(Memory* memory) {
  const Memory& from = *base();
  const Memory& to = *memory;
  const uint32_t lines = first_flow_of(to.part_count);
  for (uint32_t i = 0; i < lines; i++) {
    const Lock lock;  // for one flow at a time
    if (!lock || i >= recorder.flow_count) break;
    copy_newest(recorder.flows[i], to);
  }
  const Lock lock;
  if (!lock || recorder.flow_count > lines) return false;
  for (uint32_t i = 0; i < recorder.flow_count; i++)
    if (recorder.flows[i].copied_to != memory) copy_newest(recorder.flows[i], to);
  copy_words(to.rails, from.rails, sizeof(railwitness_rail) * recorder.rail_count);
  copy_words(to.comms, from.comms, sizeof(railwitness_comm) * recorder.comm_count);
  copy_control(from, to);
  for (uint32_t i = 0; i < recorder.flow_count; i++) publish_identity(to, i);
  copy_words(to.threads, from.threads, sizeof(railwitness_thread) * recorder.thread_count);
  copy_writer(from, to);
  for (uint32_t p = 1; p < to.part_count; p++) sign_part(to.parts[p], *to.writer);
  publish_flow_counts(to);
  memory->previous = &from;
  store_release(hot.current, name_of(*memory, lasting_detail()));
  update_room(to);
  publish_unwitnessed(to);
  return true;
}

void settle(bool last) {
  const Memory& m = *base();
  for (uint32_t i = 0;; i++) {
    const Lock lock;
    if (!lock) return;
    if (i >= recorder.flow_count && i >= recorder.thread_count) break;
    if (i < recorder.flow_count && recorder.flows[i].home != &m) {
      copy_flow(*recorder.flows[i].home, m, i);
      if (last) recorder.flows[i].home = &m;
    }
    if (i < recorder.thread_count && recorder.thread_home[i] != &m) {
      copy_thread_counts(*recorder.thread_home[i], m, i);
      if (last) recorder.thread_home[i] = &m;
    }
  }
  const Lock lock;
  for (const Memory* old = m.previous; lock && last && old; old = old->previous) empty(*old);
}

}  // namespace railwitness::witness
