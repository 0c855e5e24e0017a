#include "tests/plugin/fake_provider.h"

#include <gtest/gtest.h>

namespace railwitness::test {
namespace {

struct Completions : testing::Test {
  FreshRecorder fresh;
  FakeContext nic;
  FakeQp qp{nic, 17};

  Completions() { EXPECT_TRUE(tap::tap_context(&nic.context)); }
  void send(uint64_t id, bool signalled = true, uint32_t bytes = 10) {
    Request r(IBV_WR_RDMA_WRITE_WITH_IMM, bytes, id, signalled);
    ASSERT_EQ(post(qp, r), 0);
  }
  void complete(uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS) {
    FakeProvider::queue.push_back(completion(17, id, status));
    ASSERT_EQ(poll(nic), 1);
  }
};

TEST_F(Completions, FinishTheirRecordAndCountTheWait) {
  send(1);
  complete(1);
  const railwitness_state& s = state_of(0);
  EXPECT_EQ(s.completed, 1u);
  EXPECT_EQ(s.completed_bytes, 10u);
  EXPECT_EQ(s.oldest_post_ticks, 0u);
  EXPECT_GE(s.last_completion_ticks, s.last_post_ticks);
  const railwitness_record& r = record_of(0, 0);
  EXPECT_EQ(r.done_ticks, s.last_completion_ticks);
  EXPECT_EQ(r.status, 0u);
  uint64_t counted = 0;
  for (uint32_t b : witness::current()->histograms[0].bucket) counted += b;
  EXPECT_EQ(counted, 1u);
  const int expected = 63 - __builtin_clzll(r.done_ticks - r.post_ticks);
  EXPECT_EQ(witness::current()->histograms[0].bucket[expected], 1u);
}

TEST_F(Completions, MoveTheOldestOn) {
  send(1), send(2), send(3);
  const uint64_t second = record_of(0, 1).post_ticks, third = record_of(0, 2).post_ticks;
  complete(1);
  EXPECT_EQ(state_of(0).oldest_post_ticks, second);
  complete(2);
  EXPECT_EQ(state_of(0).oldest_post_ticks, third);
  complete(3);
  EXPECT_EQ(state_of(0).oldest_post_ticks, 0u);
}

TEST_F(Completions, OfASignalledRequestFinishTheUnsignalledBeforeIt) {
  send(1, false), send(2, false), send(3), send(4, false);
  EXPECT_EQ(state_of(0).oldest_post_ticks, record_of(0, 2).post_ticks) << "only signalled ones are waited for";
  complete(3);
  EXPECT_EQ(state_of(0).completed, 3u);
  EXPECT_NE(record_of(0, 0).done_ticks, 0u);
  EXPECT_NE(record_of(0, 1).done_ticks, 0u);
  EXPECT_EQ(record_of(0, 3).done_ticks, 0u);
  EXPECT_EQ(state_of(0).oldest_post_ticks, 0u);
}

TEST_F(Completions, OfSeveralAtOnceAreAllSeen) {
  for (uint64_t i = 0; i < 20; i++) send(i);
  for (uint64_t i = 0; i < 20; i++) FakeProvider::queue.push_back(completion(17, i));
  EXPECT_EQ(poll(nic, 16), 16);
  EXPECT_EQ(state_of(0).completed, 16u);
  EXPECT_EQ(poll(nic, 16), 4);
  EXPECT_EQ(state_of(0).completed, 20u);
}

TEST_F(Completions, OfMoreThanARingOutstandingAreExact) {
  constexpr uint64_t kMany = 500;  // NCCL's queues hold 512
  std::vector<uint64_t> posted;
  for (uint64_t i = 0; i < kMany; i++) {
    send(i, true, 1);
    posted.push_back(state_of(0).last_post_ticks);
  }
  for (uint64_t i = 0; i < kMany; i++) {
    ASSERT_EQ(state_of(0).oldest_post_ticks, posted[i]) << i;
    complete(i);
    ASSERT_EQ(state_of(0).completed, i + 1);
    ASSERT_EQ(state_of(0).completed_bytes, i + 1);
  }
  EXPECT_EQ(state_of(0).oldest_post_ticks, 0u);
  send(1000);
  complete(1000);
  EXPECT_EQ(state_of(0).completed, kMany + 1) << "and the frequent way is open again";
  EXPECT_EQ(writer().unwitnessed_events, 0u);
}

TEST_F(Completions, WithOneIdForAllRequestsAreTakenInOrder) {
  for (int i = 0; i < 300; i++) send(0, true, 1);
  for (uint64_t i = 0; i < 300; i++) {
    complete(0);
    ASSERT_EQ(state_of(0).completed, i + 1);
  }
}

TEST_F(Completions, AfterManyUnsignalledRequestsAreRight) {
  // As CTS entries: one of 256 is signalled.
  for (uint64_t round = 0; round < 4; round++) {
    for (uint64_t i = 1; i < 256; i++) send(i, false, 1);
    send(7, true, 1);
    EXPECT_EQ(state_of(0).oldest_post_ticks, state_of(0).last_post_ticks);
    complete(7);
    EXPECT_EQ(state_of(0).completed, 256 * (round + 1));
    EXPECT_EQ(state_of(0).oldest_post_ticks, 0u);
  }
}

TEST_F(Completions, OfMoreThanAllThatIsKeptDoNotHang) {
  for (uint64_t i = 0; i < 3000; i++) send(i);
  for (uint64_t i = 0; i < 3000; i++) complete(i);
  EXPECT_EQ(state_of(0).completed, 3000u);
  EXPECT_EQ(state_of(0).oldest_post_ticks, 0u);
}

TEST_F(Completions, OfUnknownRequestsFinishNothing) {
  send(1);
  complete(99);
  EXPECT_EQ(state_of(0).completed, 0u);
  EXPECT_NE(state_of(0).oldest_post_ticks, 0u);
  EXPECT_EQ(writer().unwitnessed_events, 1u);
  complete(1);
  EXPECT_EQ(state_of(0).completed, 1u);
}

TEST_F(Completions, OfUnknownQueuePairsAreCounted) {
  FakeProvider::queue.push_back(completion(4711, 1));
  poll(nic);
  EXPECT_EQ(writer().unwitnessed_events, 1u);
}

// --- errors ---------------------------------------------------------------------------------------------------------

TEST_F(Completions, WithErrorAreKeptAndTheFirstWins) {
  send(1), send(2), send(3);
  complete(1);
  FakeProvider::queue.push_back(completion(17, 2, IBV_WC_RETRY_EXC_ERR));
  FakeProvider::queue.back().vendor_err = 129;
  poll(nic);
  const uint64_t first = state_of(0).first_error_ticks;
  complete(3, IBV_WC_WR_FLUSH_ERR);
  const railwitness_state& s = state_of(0);
  EXPECT_EQ(s.first_error_status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(s.first_error_vendor, 129u);
  EXPECT_EQ(s.first_error_ticks, first);
  EXPECT_EQ(s.errors, 2u);
  EXPECT_EQ(record_of(0, 1).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(record_of(0, 2).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(s.oldest_post_ticks, 0u) << "nothing is waited for any more";
  const auto events = events_of_kind(RAILWITNESS_CONTROL_ERROR_COMPLETION);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].value[0], static_cast<uint64_t>(IBV_WC_RETRY_EXC_ERR));
  EXPECT_EQ(events[0].value[1], 129u);
  EXPECT_EQ(events[0].value[2], 2u);
}

TEST_F(Completions, OfAFlushedQueueDoNotFloodTheControlRing) {
  for (uint64_t i = 0; i < 100; i++) send(i);
  for (uint64_t i = 0; i < 100; i++) complete(i, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(state_of(0).errors, 100u);
  const auto events = events_of_kind(RAILWITNESS_CONTROL_ERROR_COMPLETION);
  EXPECT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].value[0], static_cast<uint64_t>(IBV_WC_RETRY_EXC_ERR));
}

TEST_F(Completions, OfAFlushedReceiveFinishNoSend) {
  post_receive(qp);
  send(1, false);
  complete(55, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(0).completed, 0u);
  EXPECT_EQ(state_of(0).errors, 1u);
}

// --- receives -------------------------------------------------------------------------------------------------------

TEST_F(Completions, OfReceivesCountBytesAndTheWait) {
  auto arrive = [&](uint32_t bytes) {
    FakeProvider::queue.push_back(completion(17, 1, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, bytes));
    poll(nic);
  };
  EXPECT_EQ(state_of(0).receive_wait_ticks, 0u);
  post_receive(qp, 2);
  const uint64_t since = state_of(0).receive_wait_ticks;
  EXPECT_NE(since, 0u);
  post_receive(qp);
  EXPECT_EQ(state_of(0).receive_wait_ticks, since) << "a further receive does not make the wait younger";
  arrive(5000);
  EXPECT_EQ(state_of(0).receives_completed, 1u);
  EXPECT_EQ(state_of(0).received_bytes, 5000u);
  EXPECT_GT(state_of(0).receive_wait_ticks, since) << "something arrived: the wait begins anew";
  EXPECT_EQ(state_of(0).receive_wait_ticks, state_of(0).last_receive_ticks);
  arrive(1), arrive(1);
  EXPECT_EQ(state_of(0).receive_wait_ticks, 0u) << "nothing is outstanding";
  post_receive(qp);
  EXPECT_NE(state_of(0).receive_wait_ticks, 0u);
}

}  // namespace
}  // namespace railwitness::test
