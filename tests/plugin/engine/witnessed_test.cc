#include "plugin/engine/engine.h"
#include "plugin/engine/witnessed.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_transport.h"

#include <gtest/gtest.h>

namespace railwitness {
namespace {

using engine::Result;

struct Pair {
  void *context = nullptr, *listener = nullptr, *send = nullptr, *recv = nullptr;
};

class Witnessed : public testing::Test {
 protected:
  void SetUp() override {
    witness::forget_everything();
    engine::forget_transport();
    witness::start(witness::map_private());
    fake = {};
    engine::choose_transport(&fake);
  }
  void TearDown() override {
    for (Pair& p : pairs) close(p);
    engine::forget_transport();
  }

  void close(Pair p) {
    for (Pair& open : pairs) {
      if (open.send != p.send) continue;
      open = {};
      EXPECT_EQ(engine::close_send(p.send), nccl::kSuccess);
      EXPECT_EQ(engine::close_recv(p.recv), nccl::kSuccess);
      EXPECT_EQ(engine::close_listen(p.listener), nccl::kSuccess);
    }
  }

  Pair connect() {
    Pair p;
    EXPECT_EQ(engine::init(&p.context, 7, {nccl::kUndefined}, nullptr, nullptr), nccl::kSuccess);
    char handle[nccl::kHandleBytes], theirs[nccl::kHandleBytes];
    EXPECT_EQ(engine::listen(p.context, 0, handle, &p.listener), nccl::kSuccess);
    memcpy(theirs, handle, sizeof handle);
    for (int i = 0; !p.send && i < 9; i++)
      EXPECT_EQ(engine::connect(p.context, 0, theirs, &p.send, nullptr), nccl::kSuccess);
    EXPECT_EQ(engine::accept(p.listener, &p.recv, nullptr), nccl::kSuccess);
    pairs.push_back(p);
    return p;
  }
  static void* send(const Pair& p, size_t bytes) {
    void* request = &request;
    EXPECT_EQ(engine::isend(p.send, nullptr, bytes, 3, nullptr, nullptr, &request), nccl::kSuccess);
    return request;
  }
  static void* receive(const Pair& p, int n = 1) {
    void* request = nullptr;
    size_t bytes[8] = {100, 100, 100, 100, 100, 100, 100, 100};
    int tags[8] = {};
    EXPECT_EQ(engine::irecv(p.recv, n, nullptr, bytes, tags, nullptr, nullptr, &request), nccl::kSuccess);
    return request;
  }
  static bool is_done(void* request, int* bytes) {
    int done = -1;
    EXPECT_EQ(engine::test(request, &done, bytes), nccl::kSuccess);
    EXPECT_TRUE(done == 0 || done == 1);
    return done == 1;
  }
  static const railwitness_state& state_of(void* comm) { return *static_cast<engine::Connection*>(comm)->state; }
  static const railwitness_identity& identity_of(void* comm) {
    return witness::current()->identities[static_cast<engine::Connection*>(comm)->flow->index];
  }

  FakeTransport fake;
  std::vector<Pair> pairs;
  int bytes[64] = {};
};

TEST_F(Witnessed, CountsPostsCompletionsAndBytesOfASend) {
  const Pair p = connect();
  void* first = send(p, 1000);
  void* second = send(p, 24);
  const railwitness_state& s = state_of(p.send);
  EXPECT_EQ(s.posted, 2u);
  EXPECT_EQ(s.posted_bytes, 1024u);
  EXPECT_EQ(s.completed, 0u);
  EXPECT_NE(s.oldest_post_ticks, 0u);
  EXPECT_FALSE(is_done(first, bytes));
  fake.finish(0, {1000});
  const uint64_t oldest = s.oldest_post_ticks;
  EXPECT_TRUE(is_done(first, bytes));
  EXPECT_EQ(bytes[0], 1000);
  EXPECT_EQ(s.completed, 1u);
  EXPECT_EQ(s.completed_bytes, 1000u);
  EXPECT_GT(s.oldest_post_ticks, oldest) << "now that of the second";
  fake.finish(1, {24});
  EXPECT_TRUE(is_done(second, nullptr)) << "bootstrap asks for no sizes";
  EXPECT_EQ(s.oldest_post_ticks, 0u);
  EXPECT_EQ(s.completed, 2u);
  EXPECT_EQ(s.completed_bytes, 1024u);
}

TEST_F(Witnessed, ARecordIsOneSendOfOneRequest) {
  const Pair p = connect();
  void* request = send(p, 512);
  const auto* c = static_cast<engine::Connection*>(p.send);
  const railwitness_record& r = c->flow->records[0];
  EXPECT_EQ(r.sequence, 1u);
  EXPECT_EQ(r.bytes, 512u);
  EXPECT_EQ(r.requests, 1u);
  EXPECT_EQ(r.flags, RAILWITNESS_RECORD_SIGNALLED);
  EXPECT_EQ(r.done_ticks, 0u);
  fake.finish(0, {512});
  EXPECT_TRUE(is_done(request, bytes));
  EXPECT_GT(r.done_ticks, r.post_ticks);
  EXPECT_EQ(c->state->records, 1u);
  uint64_t counted = 0;
  for (const uint32_t n : c->histogram->bucket) counted += n;
  EXPECT_EQ(counted, 1u);
}

TEST_F(Witnessed, ASendThatIsNotTakenWaitsForThePeer) {
  const Pair p = connect();
  fake.gives_requests = false;
  EXPECT_EQ(send(p, 8), nullptr);
  const railwitness_state& s = state_of(p.send);
  const uint64_t since = s.receive_wait_ticks;
  EXPECT_NE(since, 0u);
  EXPECT_EQ(send(p, 8), nullptr);
  EXPECT_EQ(s.receive_wait_ticks, since) << "one wait";
  EXPECT_EQ(s.posted, 0u);
  fake.gives_requests = true;
  EXPECT_NE(send(p, 8), nullptr);
  EXPECT_GT(s.last_post_ticks, s.receive_wait_ticks) << "over";
  fake.gives_requests = false;
  EXPECT_EQ(send(p, 8), nullptr);
  EXPECT_GT(s.receive_wait_ticks, since) << "another wait";
}

TEST_F(Witnessed, CountsAGroupOfReceivesAndSinceWhenNothingArrives) {
  const Pair p = connect();
  void* request = receive(p, 3);
  const railwitness_state& s = state_of(p.recv);
  EXPECT_EQ(s.receives_posted, 3u);
  EXPECT_NE(s.receive_wait_ticks, 0u);
  EXPECT_FALSE(is_done(request, bytes));
  fake.finish(0, {10, 20, 30});
  EXPECT_TRUE(is_done(request, bytes));
  EXPECT_EQ(bytes[2], 30);
  EXPECT_EQ(s.receives_completed, 3u);
  EXPECT_EQ(s.received_bytes, 60u);
  EXPECT_EQ(s.receive_wait_ticks, 0u);
}

TEST_F(Witnessed, PassesOnThatNobodyNeedsToKnowOfAnArrival) {
  const Pair p = connect();
  void* request = reinterpret_cast<void*>(nccl::kOptionalCompletion);
  size_t capacity = 64;
  int tag = 0;
  for (const bool given : {true, false}) {
    fake.gives_requests = given;
    request = reinterpret_cast<void*>(nccl::kOptionalCompletion);
    EXPECT_EQ(engine::irecv(p.recv, 1, nullptr, &capacity, &tag, nullptr, nullptr, &request), nccl::kSuccess);
    EXPECT_EQ(fake.hint, reinterpret_cast<void*>(nccl::kOptionalCompletion));
    EXPECT_NE(request, reinterpret_cast<void*>(nccl::kOptionalCompletion));
  }
  EXPECT_EQ(request, nullptr);
}

TEST_F(Witnessed, FindsTheOldestSendWhenRequestsAreDoneOutOfOrder) {
  const Pair p = connect();
  std::vector<void*> requests;
  for (int i = 0; i < 5; i++) requests.push_back(send(p, 1));
  const railwitness_state& s = state_of(p.send);
  const uint64_t first = s.oldest_post_ticks;
  for (const size_t i : {3, 1}) {
    fake.finish(i, {1});
    EXPECT_TRUE(is_done(requests[i], bytes));
    EXPECT_EQ(s.oldest_post_ticks, first);
  }
  fake.finish(0, {1});
  EXPECT_TRUE(is_done(requests[0], bytes));
  const auto* c = static_cast<engine::Connection*>(p.send);
  EXPECT_EQ(s.oldest_post_ticks, c->flow->records[2].post_ticks);
  for (const size_t i : {2, 4}) {
    fake.finish(i, {1});
    EXPECT_TRUE(is_done(requests[i], bytes));
  }
  EXPECT_EQ(s.oldest_post_ticks, 0u);
  EXPECT_EQ(s.completed, 5u);
}

TEST_F(Witnessed, TakesAsManySendsAsNcclMayHaveOutstandingAndNoMore) {
  const Pair p = connect();
  std::vector<void*> requests;
  while (void* request = send(p, 2)) requests.push_back(request);
  EXPECT_EQ(requests.size(), 32u * 8) << "of a shared connection with groups of 8";
  const railwitness_state& s = state_of(p.send);
  EXPECT_EQ(s.posted, 256u);
  EXPECT_EQ(s.records, 128u);
  for (size_t i = 0; i < requests.size(); i++) {
    const size_t at = i % 2 ? i : requests.size() - 2 - i;  // neither forwards nor backwards
    fake.finish(at, {2});
    EXPECT_TRUE(is_done(requests[at], bytes));
  }
  EXPECT_EQ(s.completed, 256u);
  EXPECT_EQ(s.completed_bytes, 512u);
  EXPECT_EQ(s.oldest_post_ticks, 0u);
  for (int i = 0; i < 300; i++) {
    void* request = send(p, 1);
    ASSERT_NE(request, nullptr);
    fake.finish(fake.requests.size() - 1, {1});
    EXPECT_TRUE(is_done(request, bytes));
  }
  EXPECT_EQ(s.records, 428u);
  const auto* c = static_cast<engine::Connection*>(p.send);
  EXPECT_EQ(c->flow->records[427 % 128].sequence, 428u) << "records and slots stay in step";
}

TEST_F(Witnessed, AnErrorIsCountedAndHandedOn) {
  const Pair p = connect();
  void* request = send(p, 5);
  fake.result = nccl::kRemoteError;
  int done = 0;
  EXPECT_EQ(engine::test(request, &done, nullptr), nccl::kRemoteError);
  const railwitness_state& s = state_of(p.send);
  EXPECT_EQ(s.errors, 1u);
  EXPECT_EQ(s.first_error_status, nccl::kRemoteError);
  EXPECT_EQ(s.completed, s.posted);
  void* refused = &refused;
  EXPECT_EQ(engine::isend(p.send, nullptr, 1, 0, nullptr, nullptr, &refused), nccl::kRemoteError);
  EXPECT_EQ(refused, nullptr);
  EXPECT_EQ(s.errors, 2u);
}

TEST_F(Witnessed, BothEndsNameEachOther) {
  fake.tries_to_connect = 3;
  const Pair p = connect();
  const railwitness_identity &s = identity_of(p.send), &r = identity_of(p.recv);
  EXPECT_EQ(s.kind, RAILWITNESS_FLOW_CONNECTION);
  EXPECT_EQ(s.direction, RAILWITNESS_DIRECTION_SEND);
  EXPECT_EQ(r.direction, RAILWITNESS_DIRECTION_RECV);
  EXPECT_EQ(s.role, RAILWITNESS_ROLE_DATA);
  EXPECT_NE(s.qpn, r.qpn);
  EXPECT_EQ(s.qpn, r.peer_qpn);
  EXPECT_EQ(r.qpn, s.peer_qpn);
  EXPECT_EQ(memcmp(s.peer_gid, r.local_gid, 16), 0);
  EXPECT_EQ(memcmp(r.peer_gid, s.local_gid, 16), 0);
  EXPECT_STREQ(witness::current()->rails[s.rail].device, "fake0");
  const Pair other = connect();
  EXPECT_NE(identity_of(other.send).qpn, s.qpn);
}

TEST_F(Witnessed, TakesWhatTheTransportKnowsOfTheEnds) {
  fake.ends.number = 41;
  fake.ends.peer_number = 42;
  fake.ends.gid[15] = 1;
  fake.ends.peer_gid[15] = 2;
  const Pair p = connect();
  const railwitness_identity& s = identity_of(p.send);
  EXPECT_EQ(s.qpn, 41u);
  EXPECT_EQ(s.peer_qpn, 42u);
  EXPECT_EQ(s.local_gid[15], 1);
  EXPECT_EQ(s.peer_gid[15], 2);
}

TEST_F(Witnessed, FlushesAreAFlowOfTheirOwn) {
  const Pair p = connect();
  int sizes[2] = {10, 20};
  void* request = nullptr;
  EXPECT_EQ(engine::iflush(p.recv, 2, nullptr, sizes, nullptr, &request), nccl::kSuccess);
  auto* flush = static_cast<engine::Connection*>(p.recv)->flush;
  ASSERT_NE(flush, nullptr);
  EXPECT_EQ(identity_of(flush).role, RAILWITNESS_ROLE_FLUSH);
  EXPECT_EQ(flush->state->posted_bytes, 30u);
  EXPECT_FALSE(is_done(request, nullptr));
  fake.finish(0, {});
  EXPECT_TRUE(is_done(request, nullptr));
  EXPECT_EQ(flush->state->completed, 1u);
  fake.gives_requests = false;
  EXPECT_EQ(engine::iflush(p.recv, 2, nullptr, sizes, nullptr, &request), nccl::kSuccess);
  EXPECT_EQ(request, nullptr) << "nothing to wait for";
}

TEST_F(Witnessed, WhatTheGpuHasConsumedIsTheTransportsOwnRequest) {
  const Pair p = connect();
  void* request = receive(p);
  fake.finish(0, {1});
  EXPECT_TRUE(is_done(request, bytes));
  EXPECT_EQ(engine::irecv_consumed(p.recv, 1, request), nccl::kSuccess);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(fake.consumed), fake.requests[0]);
}

TEST_F(Witnessed, GoesOnInTheNextMemoryWithNothingLost) {
  const Pair p = connect();
  void* before = send(p, 1);
  witness::switch_memory(witness::map_private());
  EXPECT_NE(send(p, 2), nullptr);
  fake.finish(0, {1});
  EXPECT_TRUE(is_done(before, bytes));
  const auto* c = static_cast<engine::Connection*>(p.send);
  EXPECT_EQ(c->flow->memory, witness::current());
  EXPECT_EQ(c->state, &witness::current()->states[c->flow->index]);
  EXPECT_EQ(c->state->posted, 2u);
  EXPECT_EQ(c->state->completed, 1u);
  EXPECT_EQ(c->flow->records[1].requests, 1u);
}

TEST_F(Witnessed, WorksWithoutAWitness) {
  witness::forget_everything();
  const Pair p = connect();
  void* sent = send(p, 1);
  void* received = receive(p);
  EXPECT_FALSE(is_done(sent, bytes));
  fake.finish(0, {1});
  fake.finish(1, {1});
  EXPECT_TRUE(is_done(sent, bytes));
  EXPECT_TRUE(is_done(received, bytes));
  fake.gives_requests = false;
  EXPECT_EQ(send(p, 1), nullptr);
  EXPECT_EQ(receive(p), nullptr);
  close(p);
}

void take_all_lines() {
  witness::set_growth([](const witness::Memory&, bool, witness::Part&) { return false; });
  while (witness::current()->writer->flows < RAILWITNESS_FLOW_CAPACITY) witness::open_flow(77, false);
}

void add_lines() {
  witness::Part part{};
  ASSERT_TRUE(witness::map_private_part(1, part));
  ASSERT_TRUE(witness::add_part(part));
}

TEST_F(Witnessed, AConnectionThatFoundNoLineTakesOneWithItsFirstPostThereafter) {
  take_all_lines();
  const Pair p = connect();
  const railwitness_writer& w = *witness::current()->writer;
  EXPECT_EQ(w.unwitnessed_flows, 2u);
  for (const size_t done : {0u, 1u, 2u}) {
    ASSERT_NE(send(p, 1), nullptr);
    fake.finish(done, {1});
  }
  EXPECT_EQ(w.unwitnessed_flows, 2u) << "a connection is counted once";
  EXPECT_EQ(w.unwitnessed_events, 3u);
  close(p);

  const Pair late = connect();
  ASSERT_NE(send(late, 1), nullptr);
  add_lines();
  EXPECT_EQ(w.unwitnessed_flows, 4u);
  void* first = receive(late);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(w.unwitnessed_flows, 3u);
  EXPECT_EQ(state_of(late.recv).receives_posted, 1u);
  const auto& c = *static_cast<engine::Connection*>(late.recv);
  const railwitness_identity& i = *witness::lines_of(*witness::current(), c.flow->index).identity;
  EXPECT_EQ(i.kind, RAILWITNESS_FLOW_CONNECTION);
  EXPECT_EQ(i.direction, RAILWITNESS_DIRECTION_RECV);
  EXPECT_EQ(i.role, RAILWITNESS_ROLE_DATA);
  EXPECT_EQ(i.rail, witness::find_rail("fake0", 1));
  EXPECT_NE(i.peer_qpn, 0u);
  fake.finish(fake.requests.size() - 1, {55});
  EXPECT_TRUE(is_done(first, bytes));
  EXPECT_EQ(state_of(late.recv).receives_completed, 1u);
  EXPECT_EQ(state_of(late.recv).received_bytes, 55u);
}

// Where neither flow nor state can tell it, the process' events do.
TEST_F(Witnessed, ErrorsOfAConnectionWithoutALineAreCountedAndNamed) {
  take_all_lines();
  const Pair p = connect();
  const witness::Memory& m = *witness::current();
  void* request = send(p, 1);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(m.writer->unwitnessed_events, 1u);
  const uint64_t events = m.writer->control_reserved;
  fake.result = nccl::kRemoteError;
  int done = 0;
  EXPECT_EQ(engine::test(request, &done, bytes), nccl::kRemoteError);
  EXPECT_EQ(m.writer->unwitnessed_events, 2u);
  void* none = nullptr;
  EXPECT_EQ(engine::isend(p.send, nullptr, 1, 0, nullptr, nullptr, &none), nccl::kRemoteError);
  EXPECT_EQ(m.writer->unwitnessed_events, 3u);
  ASSERT_EQ(m.writer->control_reserved, events + 2);
  for (uint64_t i = events; i < events + 2; i++) {
    const railwitness_control& event = m.control[i & (m.control_capacity - 1)];
    EXPECT_EQ(event.kind, RAILWITNESS_CONTROL_ERROR_COMPLETION);
    EXPECT_EQ(event.value[0], static_cast<uint64_t>(nccl::kRemoteError));
    EXPECT_EQ(event.rail, witness::find_rail("fake0", 1));
    EXPECT_EQ(event.qpn, static_cast<engine::Connection*>(p.send)->awaited->number);
  }
  for (int i = 0; i < 9; i++) (void)engine::isend(p.send, nullptr, 1, 0, nullptr, nullptr, &none);
  EXPECT_EQ(m.writer->unwitnessed_events, 12u);
  EXPECT_EQ(m.writer->control_reserved, events + 4) << "the rest are its echo";
}

TEST_F(Witnessed, AConnectionTakesItsLineWithNothingOutstandingSoThatPostsAndCompletionsAgree) {
  take_all_lines();
  const Pair p = connect();
  void* before = send(p, 1);
  add_lines();
  void* between = send(p, 2);
  ASSERT_TRUE(before && between);
  EXPECT_EQ(static_cast<engine::Connection*>(p.send)->flow, nullptr);
  fake.finish(0, {1});
  fake.finish(1, {2});
  EXPECT_TRUE(is_done(before, bytes));
  EXPECT_TRUE(is_done(between, bytes));
  void* after = send(p, 40);
  const railwitness_state& s = state_of(p.send);
  EXPECT_EQ(s.posted, 1u);
  EXPECT_EQ(s.posted_bytes, 40u);
  const auto& c = *static_cast<engine::Connection*>(p.send);
  EXPECT_EQ(c.flow->records[0].bytes, 40u) << "records begin where a reader looks for the first one";
  EXPECT_EQ(c.flow->records[0].sequence, 1u);
  EXPECT_EQ(c.memory, witness::hot.tsc ? witness::current() : engine::nowhere()) << "the frequent path is open";
  fake.finish(2, {40});
  EXPECT_TRUE(is_done(after, bytes));
  EXPECT_EQ(s.completed, 1u);
  EXPECT_EQ(s.oldest_post_ticks, 0u);
}

TEST_F(Witnessed, FlushesTakeALineOnceTheReceiverHasOne) {
  take_all_lines();
  const Pair p = connect();
  int sizes[1] = {10};
  void* request = nullptr;
  EXPECT_EQ(engine::iflush(p.recv, 1, nullptr, sizes, nullptr, &request), nccl::kSuccess);
  const auto* flush = static_cast<engine::Connection*>(p.recv)->flush;
  ASSERT_NE(flush, nullptr);
  fake.finish(0, {});
  EXPECT_TRUE(is_done(request, nullptr));
  add_lines();
  receive(p);
  EXPECT_EQ(flush->flow, nullptr);
  EXPECT_EQ(engine::iflush(p.recv, 1, nullptr, sizes, nullptr, &request), nccl::kSuccess);
  ASSERT_NE(flush->flow, nullptr);
  EXPECT_EQ(flush->state->posted_bytes, 10u);
  EXPECT_EQ(witness::current()->writer->unwitnessed_flows, 1u) << "the sender, which has posted nothing";
}

TEST_F(Witnessed, ClosesWithRequestsOutstandingAndLeavesAFlowThatEnded) {
  const Pair p = connect();
  send(p, 1);
  receive(p);
  const auto* flow = static_cast<engine::Connection*>(p.send)->flow;
  close(p);
  EXPECT_EQ(fake.closed, 3);
  EXPECT_NE(witness::current()->identities[flow->index].destroyed_ticks, 0u);
}

TEST_F(Witnessed, ATransportThatDoesNotStartHasNoDevices) {
  fake.init_result = nccl::kSystemError;
  void* context = nullptr;
  EXPECT_EQ(engine::init(&context, 1, {nccl::kUndefined}, nullptr, nullptr), nccl::kSuccess);
  EXPECT_NE(context, nullptr);
  int count = -1;
  EXPECT_EQ(engine::devices(&count), nccl::kSuccess);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(engine::finalize(context), nccl::kSuccess);
}

TEST_F(Witnessed, AConnectionThatFailsGivesNoComm) {
  void* context = nullptr;
  engine::init(&context, 1, {nccl::kUndefined}, nullptr, nullptr);
  char handle[nccl::kHandleBytes] = {};
  fake.tries_to_connect = 1;
  void* comm = &comm;
  EXPECT_EQ(engine::connect(context, 0, handle, &comm, nullptr), nccl::kSuccess);
  EXPECT_EQ(comm, nullptr) << "not yet";
}

}  // namespace
}  // namespace railwitness
