#include "tests/faults/scenes.h"

#include "plugin/witness/net_hot.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/shared_word.h"

#include <cstring>

namespace railwitness::faults {
namespace {

constexpr uint32_t kQ = kFirstQueuePair;

void connect(Writer& w) {
  w.add_rails();
  w.connect_all();
}

// The ring of records has gone round, so a torn one would show the old one's words.
void go_round(Writer& w) {
  connect(w);
  for (int i = 0; i < 300; i++) w.post(kQ), w.complete(kQ);
}

void fill_ring(Writer& w) {
  connect(w);
  for (int i = 0; i < 130; i++) w.post(kQ);
}

void go_round_net(Writer& w) {
  connect(w);
  for (int i = 0; i < 300; i++) w.net_post(0), w.net_complete(0);
}

void fail_some(Writer& w) {
  connect(w);
  for (int i = 0; i < 3; i++) w.post(kFailing);
}

void use_all_lines(Writer& w) {
  connect(w);
  for (int i = 0; i < RAILWITNESS_FLOW_CAPACITY; i++) w.live_shortly(130);
}

void go_round_events(Writer& w) {
  for (int i = 0; i < RAILWITNESS_CONTROL_CAPACITY + 50; i++) w.push_event();
}

void use_all_comms(Writer& w) {
  for (int i = 0; i < RAILWITNESS_COMM_CAPACITY; i++) w.open_comm();
  w.close_comm();
}

// --- wrong orders. Each does what the plugin's function of that name does, but for the one thing that its name says. ----

void post_number_first(Writer& w) {
  witness::Flow& flow = *w.connection(0);
  railwitness_state& state = *flow.state;
  const uint64_t index = state.records;
  railwitness_record& record = flow.records[index % witness::kRecords];
  store_release(record.sequence, index + 1);
  store_release(state.records, index + 1);
  store_release(record.bytes, bytes_of(kFirstConnection, index));
  store_release(record.post_ticks, witness::ticks());
  store_release(record.done_ticks, 0);
  store_relaxed(state.posted, index + 1);
  store_relaxed(state.posted_bytes, bytes_through(kFirstConnection, index + 1));
}

void bytes_of_another_count(Writer& w) {
  railwitness_state& state = *w.connection(0)->state;
  for (int i = 0; i < 3; i++) store_release(state.posted_bytes, bytes_through(kFirstConnection, state.posted + 1 + static_cast<uint64_t>(i)));
}

// A line that is in use becomes another's, without an odd sequence meanwhile.
void identity_without_odd_sequence(Writer& w) {
  railwitness_identity& line = *witness::lines_of(*witness::current(), w.connection(1)->index).identity;
  const uint32_t q = kFirstConnection;  // connection 0's, so all of it must be
  store_release(line.qpn, q);
  store_release(line.peer_qpn, peer_of(q));
  store_release(line.port, port_of(q));
  uint64_t gid[2];
  fill_peer_gid(q, reinterpret_cast<uint8_t*>(gid));
  store_word_release(line.peer_gid, gid[0]);
  store_word_release(line.peer_gid + 8, gid[1]);
}

void event_number_first(Writer&) {
  const witness::Memory& m = *witness::current();
  const uint64_t index = load_relaxed(m.writer->control_reserved), k = 77'777;
  railwitness_control& c = m.control[index & (m.control_capacity - 1)];
  store_release(m.writer->control_reserved, index + 1);
  store_release(c.sequence, index + 1);
  store_release(c.ticks, witness::ticks());
  store_release(c.kind, uint16_t{RAILWITNESS_CONTROL_ASYNC_EVENT});
  store_release(c.rail, static_cast<uint16_t>(k % 32));
  store_release(c.qpn, static_cast<uint32_t>(k) | 1);
  store_release(c.value[0], k);
  store_release(c.value[1], ~k);
  store_release(c.value[2], k * kGolden);
}

void comm_stays_open(Writer&) {
  railwitness_comm& line = witness::current()->comms[0];
  const uint64_t k = 88'888;
  char name[64];
  comm_name(k, name);
  store_release(line.open, 1);
  store_release(line.comm_hash, kCommBase + k);
  store_release(line.rank, comm_rank(k));
  store_release(line.nranks, comm_ranks(k));
  store_release(line.nnodes, comm_nodes(k));
  for (size_t i = 0; i < sizeof name; i += 8) {
    uint64_t word;
    memcpy(&word, name + i, sizeof word);
    store_word_release(line.name + i, word);
  }
}

void rail_counted_first(Writer&) {
  const witness::Memory& m = *witness::current();
  const railwitness_rail rail = rail_of(0);
  store_release(m.writer->rails, 1);
  copy_words(&m.rails[0], &rail, sizeof rail);
}

void thread_counts_twice(Writer&) { add_relaxed(witness::this_thread.line->posts, 2); }

void bucket_counts_thrice(Writer& w) {
  for (int i = 0; i < 3; i++) add_relaxed(w.connection(0)->histogram->bucket[3], 1);
}

// The counts of the line's last owner under the new one's name.
void lines_cleared_late(Writer& w) {
  railwitness_identity& line = *witness::lines_of(*witness::current(), w.connection(0)->index).identity;
  railwitness_identity now = line;
  now.qpn = kFirstConnection + 1;
  now.peer_qpn = peer_of(now.qpn);
  now.port = port_of(now.qpn);
  fill_peer_gid(now.qpn, now.peer_gid);
  now.local_gid[0] = 0;
  fill_local_gid(now.port, now.local_gid);
  uint64_t word;
  memcpy(&word, &now, sizeof word);
  store_word(&line, word | 1);
  for (size_t i = 8; i < sizeof now; i += 8) {
    memcpy(&word, reinterpret_cast<const char*>(&now) + i, sizeof word);
    store_word_release(reinterpret_cast<char*>(&line) + i, word);
  }
  memcpy(&word, &now, sizeof word);
  store_word_release(&line, word + 2);
  clear_words(w.connection(0)->state, sizeof(railwitness_state));
}

}  // namespace

std::span<const Scene> scenes() {
  static constexpr Scene kScenes[] = {
      {"post and completion", go_round, [](Writer& w) { w.post(kQ), w.complete(kQ); }, 1},
      {"connect", [](Writer& w) { w.add_rails(); }, [](Writer& w) { w.connect_one(); }, 1},
      {"control event", go_round_events, [](Writer& w) { w.push_event(); }, 1},
      {"send on a connection", go_round_net, [](Writer& w) { w.net_post(0), w.net_complete(0); }, 1},
      {"post into a full ring", fill_ring, [](Writer& w) { w.post(kQ), w.complete(kQ); }, 3},
      {"failed completion", fail_some, [](Writer& w) { w.complete(kFailing), w.complete(kFailing); }, 3},
      {"receive", connect, [](Writer& w) { w.receive(kQ); }, 3},
      {"communicator", use_all_comms, [](Writer& w) { w.open_comm(), w.close_comm(); }, 1},
      {"rails", [](Writer&) {}, [](Writer& w) { w.add_rails(3); }, 3},
      {"connect in another's line", use_all_lines, [](Writer& w) { w.live_shortly(); }, 3},
      {"change to a sidecar's segment", go_round, [](Writer& w) { w.adopt(); }, 61, true},
  };
  return kScenes;
}

std::span<const Scene> broken_scenes() {
  static constexpr Scene kScenes[] = {
      {"record: its number first", go_round_net, post_number_first, 1},
      {"state: bytes without their count", go_round_net, bytes_of_another_count, 1},
      {"identity: no odd sequence", connect, identity_without_odd_sequence, 1},
      {"identity: the old owner's counts", go_round_net, lines_cleared_late, 1},
      {"control event: its number first", go_round_events, event_number_first, 1},
      {"communicator: never closed", use_all_comms, comm_stays_open, 1},
      {"rail: counted before it is filled", [](Writer&) {}, rail_counted_first, 1},
      {"thread line: counts twice", go_round, thread_counts_twice, 1},
      {"histogram: counts thrice", go_round_net, bucket_counts_thrice, 1},
  };
  return kScenes;
}

}  // namespace railwitness::faults
