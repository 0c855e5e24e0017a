// Flows: the rare calls. hot.h has the frequent ones.
//
// Should two threads use one queue pair at once (NCCL's do not), counts may be wrong; no loop here may run on because of
// it, so all of them compare with less-than and no index is used unmasked.
#include "plugin/witness/recorder_state.h"

#include <cstring>

#include <sys/mman.h>

namespace railwitness::witness {
namespace {

constexpr uint32_t kErrorEvents = 4;  // per flow; one that fails flushes hundreds of requests, which are echo

void clear_lines(const Lines& lines) {
  clear_words(lines.state, sizeof *lines.state);
  clear_words(lines.histogram, sizeof *lines.histogram);
  clear_words(lines.records, kRingBytes);
}

void point_at(Flow& flow, const Memory& m) {
  const Lines lines = lines_of(m, flow.index);
  flow.home = &m;
  flow.state = lines.state;
  flow.histogram = lines.histogram;
  flow.records = lines.records;
}

bool is_role_known(const Flow& flow) { return recorder.identities[flow.index].role != RAILWITNESS_ROLE_UNKNOWN; }

// The first record without a completion.
uint64_t tail_of(const Flow& flow) { return flow.next == ~0ull ? flow.limit - kRecords : flow.next; }

void set_tail(Flow& flow, uint64_t tail) {
  flow.limit = tail + kRecords;
  flow.next = flow.evicted_tail < flow.evicted_head ? ~0ull : tail;
}

uint64_t find_signalled(const Flow& flow, uint64_t from, uint64_t head) {
  while (from < head && !(load_relaxed(flow.records[from % kRecords].flags) & RAILWITNESS_RECORD_SIGNALLED)) from++;
  return from;
}

void update_oldest(Flow& flow) {
  railwitness_state& state = *flow.state;
  if (flow.evicted_tail < flow.evicted_head)
    return store_relaxed(state.oldest_post_ticks, flow.evicted[flow.evicted_tail % kEvicted].post_ticks);
  const uint64_t head = load_relaxed(state.records);
  const uint64_t at = find_signalled(flow, tail_of(flow), head);
  store_relaxed(state.oldest_post_ticks, at >= head ? 0 : load_relaxed(flow.records[at % kRecords].post_ticks));
}

void finish(Flow& flow, uint64_t posted_ticks, uint64_t requests_through, uint64_t bytes_through, uint64_t now) {
  if (current()->detail != Detail::kCounters) count_latency(flow, posted_ticks, now);
  store_relaxed(flow.state->completed, requests_through);
  store_relaxed(flow.state->completed_bytes, bytes_through);
}

bool finish_evicted(Flow& flow, uint64_t wr_id, uint64_t now) {
  for (uint64_t i = flow.evicted_tail; i < flow.evicted_head; i++) {
    const EvictedRecord& e = flow.evicted[i % kEvicted];
    if (e.wr_id != wr_id) continue;
    finish(flow, e.post_ticks, e.posted_through, e.bytes_through, now);
    flow.evicted_tail = i + 1;
    set_tail(flow, tail_of(flow));
    return true;
  }
  return false;
}

bool finish_recorded(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status) {
  const uint64_t head = load_relaxed(flow.state->records);
  for (uint64_t i = tail_of(flow); i < head; i++) {
    railwitness_record& r = flow.records[i % kRecords];
    if (load_relaxed(r.wr_id) != wr_id || !(load_relaxed(r.flags) & RAILWITNESS_RECORD_SIGNALLED)) {
      // A queue in error completes unsignalled requests too.
      if (!status || load_relaxed(r.wr_id) != wr_id) continue;
    }
    for (uint64_t before = tail_of(flow); before < i; before++)
      store_release(flow.records[before % kRecords].done_ticks, now);
    flow.evicted_tail = flow.evicted_head;  // those were before this one
    set_tail(flow, i + 1);
    store_relaxed(r.status, status);
    store_release(r.done_ticks, now);
    finish(flow, load_relaxed(r.post_ticks), load_relaxed(r.posted_through), load_relaxed(r.bytes_through), now);
    return true;
  }
  return false;
}

}  // namespace

// What was never written stays untouched in the new memory too: a line's pages are taken by its first post.
void copy_flow(const Memory& from, const Memory& to, uint32_t index) {
  const Lines f = lines_of(from, index), t = lines_of(to, index);
  if (load_acquire(f.state->records) || load_relaxed(t.state->records)) {
    copy_words(t.histogram, f.histogram, sizeof *t.histogram);
    copy_words(t.records, f.records, kRingBytes);
  }
  copy_words(t.state, f.state, sizeof *t.state);
}

// A sequence lock for the reader: odd, content, even. The first word holds the sequence and four bytes of content.
void publish_identity(const Memory& m, uint32_t index) {
  railwitness_identity& mine = recorder.identities[index];
  uint64_t words[sizeof mine / 8];
  mine.sequence |= 1;
  memcpy(words, &mine, sizeof mine);
  char* line = reinterpret_cast<char*>(lines_of(m, index).identity);
  store_word(line, words[0]);
  for (size_t i = 1; i < sizeof mine / 8; i++) store_word_release(line + 8 * i, words[i]);
  mine.sequence++;
  if (mine.sequence == 0) mine.sequence = 2;  // 0 is "free"
  memcpy(words, &mine, 8);
  store_word_release(line, words[0]);
}

namespace {

// Odd until it is published again. What follows stays behind the exchange, as it would not behind a store; tsan knows no
// fences.
void withdraw_identity(const Memory& m, uint32_t index) {
  railwitness_identity mine = recorder.identities[index];
  mine.sequence |= 1;
  uint64_t word;
  memcpy(&word, &mine, sizeof word);
  __atomic_exchange_n(reinterpret_cast<uint64_t*>(lines_of(m, index).identity), word, __ATOMIC_ACQ_REL);
}

}  // namespace

void bring_flow_home(Flow& flow) {
  const Memory* m = base();
  if (flow.home != m) copy_flow(*flow.home, *m, flow.index);
  point_at(flow, *m);
}

void enter_flow(Flow& flow) {
  const Lock lock;
  if (!lock) return;
  bring_flow_home(flow);
  if (is_role_known(flow)) flow.memory = flow.home;
}

// Lines in use of each part; what was written to a line comes before.
void publish_flow_counts(const Memory& m) {
  for (uint32_t p = 0; p < m.part_count; p++) {
    const uint32_t first = first_flow_of(p), next = first_flow_of(p + 1);
    const uint32_t end = recorder.flow_count < next ? recorder.flow_count : next;
    store_release(m.parts[p].writer->flows, end > first ? end - first : 0);
  }
}

void publish_unwitnessed(const Memory& m) {
  uint64_t count = recorder.without_line;
  // Their parts were refused: they go on in private memory until the next sidecar.
  for (uint32_t p = 1; recorder.is_watched && p < m.part_count; p++)
    if (!m.parts[p].is_read) count += load_relaxed(m.parts[p].writer->flows);
  store_relaxed(m.writer->unwitnessed_flows, count);
}

namespace {

uint32_t lines_free(const Memory& m) { return first_flow_of(m.part_count) - recorder.flow_count + waiting_destroyed(); }

bool grow_once(const Memory& m, bool now) {
  Part part{};
  const bool grown = recorder.grow ? recorder.grow(m, now, part) : now && map_private_part(m.part_count, part);
  if (grown) append_part(m, part);
  return grown;
}

// A line that was never used, else that of the flow destroyed longest ago.
Flow* take_flow(const Memory& m) {
  if (m.part_count < kParts && lines_free(m) <= first_flow_of(m.part_count) / 4) grow_once(m, lines_free(m) == 0);
  if (recorder.flow_count < first_flow_of(m.part_count)) {
    Flow& flow = recorder.flows[recorder.flow_count];
    flow.index = recorder.flow_count++;
    return &flow;
  }
  if (!waiting_destroyed()) return nullptr;
  return &recorder.flows[recorder.destroyed[recorder.destroyed_tail++ % kMostFlows]];
}

EvictedRecord* evicted_ring_of(uint32_t index) {
  EvictedRecord*& block = recorder.evicted[index / kEvictedBlock];
  if (!block) {
    void* pool = mmap(nullptr, kEvictedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED) return nullptr;
    block = static_cast<EvictedRecord*>(pool);
  }
  return block + uint64_t{index % kEvictedBlock} * kEvicted;
}

}  // namespace

void sign_part(const Part& part, const railwitness_writer& first) {
  store_relaxed(part.writer->pid, load_relaxed(first.pid));
  store_relaxed(part.writer->clock, load_relaxed(first.clock));
  store_relaxed(part.writer->plugin_version, load_relaxed(first.plugin_version));
}

void append_part(const Memory& m, const Part& part) {
  sign_part(part, *m.writer);
  m.parts[m.part_count++] = part;
  update_room(m);
}

void update_room(const Memory& m) { store_relaxed(recorder.has_room, lines_free(m) > 0); }

bool has_room() { return load_relaxed(recorder.has_room); }

Flow* open_flow(uint32_t qpn, bool always_signalled, bool counted) {
  const Lock lock;
  if (!lock) return nullptr;
  const Memory& m = *base();
  Flow* flow = take_flow(m);
  update_room(m);
  if (flow && counted) recorder.without_line--;
  if (!flow && !counted) recorder.without_line++;
  if (!flow) return publish_unwitnessed(m), nullptr;
  const uint32_t index = flow->index;
  railwitness_identity& identity = recorder.identities[index];
  const uint32_t sequence = identity.sequence;
  *flow = Flow{};
  flow->index = index;
  flow->qpn = qpn;
  flow->limit = kRecords;
  flow->always_signalled = always_signalled ? ~0u : 0;
  flow->evicted = evicted_ring_of(index);
  // Nobody's until it is the new one's and empty: neither name may stand over the other's counts, should we die meanwhile.
  if (sequence) {  // others are zero as they were mapped, and their pages not yet taken
    withdraw_identity(m, index);
    clear_lines(lines_of(m, index));
  }
  identity = {};
  identity.sequence = sequence;
  identity.qpn = qpn;
  identity.rail = kNoRail;
  identity.created_ticks = ticks();
  publish_identity(m, index);
  point_at(*flow, m);
  publish_flow_counts(m);
  publish_unwitnessed(m);
  write_event({.kind = RAILWITNESS_CONTROL_QP_CREATED, .qpn = qpn});
  return flow;
}

void learn(Flow& flow, const FlowFacts& facts) {
  const Lock lock;
  if (!lock) return;
  const Memory& m = *base();
  railwitness_identity& i = recorder.identities[flow.index];
  if (facts.port) i.port = *facts.port;
  if (facts.peer_qpn) i.peer_qpn = *facts.peer_qpn;
  if (facts.peer_lid) i.peer_lid = *facts.peer_lid;
  if (facts.local_gid) memcpy(i.local_gid, facts.local_gid, sizeof i.local_gid);
  if (facts.peer_gid) memcpy(i.peer_gid, facts.peer_gid, sizeof i.peer_gid);
  if (facts.qp_state) i.qp_state = *facts.qp_state;
  if (facts.timeout) i.timeout = *facts.timeout;
  if (facts.retry_count) i.retry_count = *facts.retry_count;
  if (facts.path_mtu) i.path_mtu = *facts.path_mtu;
  for (uint32_t r = 0; facts.device && i.rail == kNoRail && r < recorder.rail_count; r++) {
    const railwitness_rail& rail = m.rails[r];
    if (rail.port != i.port || strncmp(rail.device, facts.device, sizeof rail.device - 1)) continue;
    i.rail = r;
    i.link_layer = rail.link_layer;
    i.lid = rail.lid;
    static constexpr uint8_t kNone[16] = {};
    if (!memcmp(i.local_gid, kNone, sizeof kNone)) memcpy(i.local_gid, rail.gid, sizeof i.local_gid);
  }
  publish_identity(m, flow.index);
}

void close_flow(Flow& flow) {
  const Lock lock;
  if (!lock || flow.is_destroyed) return;
  flow.is_destroyed = 1;
  recorder.destroyed[recorder.destroyed_head++ % kMostFlows] = flow.index;
  update_room(*base());
  recorder.identities[flow.index].destroyed_ticks = ticks();
  publish_identity(*base(), flow.index);
  write_event({.kind = RAILWITNESS_CONTROL_QP_DESTROYED, .rail = recorder.identities[flow.index].rail, .qpn = flow.qpn});
}

void settle_role(Flow& flow, railwitness_direction direction, railwitness_role role, uint64_t now) {
  const Lock lock;
  if (!lock) return;
  bring_flow_home(flow);
  if (!is_role_known(flow)) {
    railwitness_identity& identity = recorder.identities[flow.index];
    identity.direction = static_cast<uint8_t>(direction);
    identity.role = static_cast<uint8_t>(role);
    store_relaxed(flow.state->first_post_ticks, now);
    publish_identity(*base(), flow.index);
  }
  flow.memory = flow.home;
}

uint32_t rail_of(const Flow& flow) {
  const Lock lock;
  return lock ? recorder.identities[flow.index].rail : kNoRail;
}

bool is_peer_known(const Flow& flow) {
  const Lock lock;
  return lock && recorder.identities[flow.index].peer_qpn != 0;
}

// The limit has been reached: it has grown meanwhile, or the oldest record is about to be overwritten without a completion.
void make_room(Flow& flow) {
  const uint64_t tail = tail_of(flow);
  if (load_relaxed(flow.state->records) < tail + kRecords) return set_tail(flow, tail);
  const railwitness_record& r = flow.records[tail % kRecords];
  if ((load_relaxed(r.flags) & RAILWITNESS_RECORD_SIGNALLED) && flow.evicted) {
    if (flow.evicted_head - flow.evicted_tail >= kEvicted) flow.evicted_tail++;  // more than a queue pair can hold
    flow.evicted[flow.evicted_head++ % kEvicted] = {load_relaxed(r.wr_id), load_relaxed(r.post_ticks),
                                                    load_relaxed(r.posted_through), load_relaxed(r.bytes_through)};
  }
  set_tail(flow, tail + 1);
}

void complete_send_slowly(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status) {
  store_relaxed(flow.state->last_completion_ticks, now);
  // Neither: posted before the queue pair was found, or a receive that failed.
  if (!finish_evicted(flow, wr_id, now) && !finish_recorded(flow, wr_id, now, status)) {
    if (!status) count_unwitnessed_events(1);
    return;
  }
  update_oldest(flow);
}

void count_error(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status, uint32_t vendor_error) {
  railwitness_state& state = *flow.state;
  const uint16_t errors = load_relaxed(state.errors);
  if (errors == 0) {
    store_relaxed(state.first_error_status, status);
    store_relaxed(state.first_error_vendor, vendor_error);
    store_release(state.first_error_ticks, now);
  }
  if (errors < 0xFFFF) store_release(state.errors, static_cast<uint16_t>(errors + 1));
  if (flow.error_events >= kErrorEvents) return;
  flow.error_events++;
  const uint32_t rail = rail_of(flow);
  record_event({.kind = RAILWITNESS_CONTROL_ERROR_COMPLETION, .rail = rail, .qpn = flow.qpn,
                .value = {status, vendor_error, wr_id}});
}

void complete_with_error(Flow& flow, uint64_t wr_id, uint64_t now, uint16_t status, uint32_t vendor_error) {
  count_error(flow, wr_id, now, status, vendor_error);
  complete_send_slowly(flow, wr_id, now, status);
}

}  // namespace railwitness::witness
