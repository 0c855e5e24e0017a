// What recording costs: how it is timed, and what is left of it where only counters are kept.
#include "plugin/witness/cost.h"

#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_provider.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::test {
namespace {

using witness::Detail;

struct Cost : testing::Test {
  FreshRecorder fresh;
  FakeContext nic;
  FakeQp qp{nic, 17};
  uint64_t next = 0;

  Cost() {
    EXPECT_TRUE(tap::tap_context(&nic.context));
    transfer();
  }
  void post_one() {
    Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 100, ++next);
    EXPECT_EQ(post(qp, r), 0);
  }
  void finish(uint64_t id) {
    FakeProvider::queue.push_back(completion(17, id));
    EXPECT_EQ(poll(nic), 1);
  }
  void transfer() {
    post_one();
    finish(next);
  }
  uint64_t latencies() const {
    uint64_t n = 0;
    for (const uint32_t bucket : witness::lines_of(*witness::base(), 0).histogram->bucket) n += bucket;
    return n;
  }
};

TEST_F(Cost, TheNextCallsAreTimedAndThenNoMore) {
  witness::time_next_calls();
  EXPECT_EQ(witness::current()->detail, Detail::kTimed);
  for (int i = 0; i < (witness::kWarmCalls + witness::kTimedCalls) / 2; i++) {
    EXPECT_EQ(witness::current()->detail, Detail::kTimed) << i;
    transfer();
  }
  EXPECT_EQ(witness::current()->detail, Detail::kFull);
  EXPECT_EQ(state_of(0).posted, 41u);
  EXPECT_EQ(state_of(0).completed, 41u);
  EXPECT_EQ(latencies(), 41u) << "a call that is timed is recorded like any other";
}

TEST_F(Cost, ACallThatIsTimedIsRecordedLikeAnyOther) {
  post_one();
  witness::time_next_calls();
  post_one();
  const railwitness_record& before = record_of(0, 1);
  const railwitness_record& timed = record_of(0, 2);
  EXPECT_EQ(timed.sequence, 3u);
  EXPECT_GE(timed.post_ticks, before.post_ticks);
  EXPECT_EQ(timed.bytes_through, 300u);
  EXPECT_EQ(writer().flows, 1u);
}

TEST_F(Cost, WhereOnlyCountersAreKeptCountsGoOnAndTheClockIsNotRead) {
  witness::record_in(Detail::kCounters);
  const uint64_t tick = witness::hot.coarse_ticks;
  EXPECT_NE(tick, 0u);
  for (int i = 0; i < 300; i++) transfer();  // twice around the ring
  EXPECT_EQ(state_of(0).posted, 301u);
  EXPECT_EQ(state_of(0).completed, 301u);
  EXPECT_EQ(state_of(0).posted_bytes, 30'100u);
  EXPECT_EQ(state_of(0).completed_bytes, 30'100u);
  EXPECT_EQ(state_of(0).last_post_ticks, tick);
  EXPECT_EQ(state_of(0).last_completion_ticks, tick);
  EXPECT_EQ(latencies(), 1u) << "only that of before";
  EXPECT_EQ(writer().unwitnessed_events, 0u);
  post_one();
  EXPECT_EQ(state_of(0).oldest_post_ticks, tick) << "a request that hangs is seen";
}

TEST_F(Cost, ReceivesAreCountedToo) {
  witness::record_in(Detail::kCounters);
  EXPECT_EQ(post_receive(qp, 2), 0);
  EXPECT_EQ(state_of(0).receives_posted, 2u);
  EXPECT_EQ(state_of(0).receive_wait_ticks, witness::hot.coarse_ticks);
  FakeProvider::queue.push_back(completion(17, 0, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 500));
  FakeProvider::queue.push_back(completion(17, 0, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 500));
  EXPECT_EQ(poll(nic), 2);
  EXPECT_EQ(state_of(0).receives_completed, 2u);
  EXPECT_EQ(state_of(0).received_bytes, 1000u);
}

TEST_F(Cost, TheContextGetsTheFunctionThatReadsNoClockAndTheOtherOneBack) {
  const auto stamped = nic.context.ops.post_send;
  witness::record_in(Detail::kCounters);
  transfer();
  EXPECT_NE(nic.context.ops.post_send, stamped);
  EXPECT_TRUE(tap::is_tapped(&nic.context));
  EXPECT_FALSE(tap::tap_context(&nic.context)) << "or it would be tapped twice";
  transfer();
  EXPECT_EQ(state_of(0).posted, 3u);
  witness::record_in(Detail::kFull);
  transfer();
  EXPECT_EQ(nic.context.ops.post_send, stamped);
  transfer();
  EXPECT_EQ(state_of(0).posted, 5u);
  EXPECT_EQ(state_of(0).completed, 5u);
  EXPECT_GT(state_of(0).last_post_ticks, witness::hot.coarse_ticks);
}

TEST_F(Cost, ALibraryThatWrappedTheContextAfterUsKeepsItsFunction) {
  static decltype(nic.context.ops.post_send) wrapped;
  wrapped = nic.context.ops.post_send;
  int (*const theirs)(ibv_qp*, ibv_send_wr*, ibv_send_wr**) = [](ibv_qp* q, ibv_send_wr* list, ibv_send_wr** bad) {
    return wrapped(q, list, bad);
  };
  nic.context.ops.post_send = theirs;
  witness::record_in(Detail::kCounters);
  transfer();
  EXPECT_EQ(nic.context.ops.post_send, theirs);
  EXPECT_EQ(state_of(0).posted, 2u);
}

TEST_F(Cost, FailuresAreRecordedAsEver) {
  witness::record_in(Detail::kCounters);
  transfer();
  Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 100, 9);
  FakeProvider::result = ENOMEM;
  EXPECT_EQ(post(qp, r), ENOMEM);
  FakeProvider::result = 0;
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_POST_FAILED).size(), 1u);
  EXPECT_EQ(state_of(0).posted, 2u);
  post_one();
  FakeProvider::queue.push_back(completion(17, next, IBV_WC_RETRY_EXC_ERR));
  poll(nic);
  EXPECT_EQ(state_of(0).errors, 1u);
  EXPECT_EQ(state_of(0).completed, 3u);
}

TEST_F(Cost, TheChangeIsWrittenDown) {
  witness::record_in(Detail::kCounters);
  EXPECT_EQ(writer().detail, RAILWITNESS_DETAIL_COUNTERS);
  EXPECT_EQ(writer().detail_reductions, 1u);
  EXPECT_NE(writer().detail_since_ticks, 0u);
  witness::record_in(Detail::kCounters);
  EXPECT_EQ(writer().detail_reductions, 1u) << "it is no change";
  const uint64_t since = writer().detail_since_ticks;
  witness::record_in(Detail::kFull);
  EXPECT_EQ(writer().detail, RAILWITNESS_DETAIL_FULL);
  EXPECT_GT(writer().detail_since_ticks, since);
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_DETAIL_REDUCED).size(), 1u);
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_DETAIL_RESTORED).size(), 1u);
}

TEST_F(Cost, TheNextSidecarIsToldAndCallsGoOnAsBefore) {
  witness::record_in(Detail::kCounters);
  transfer();
  ASSERT_TRUE(witness::switch_memory(witness::map_private()));
  EXPECT_EQ(witness::current()->detail, Detail::kCounters);
  EXPECT_EQ(writer().detail, RAILWITNESS_DETAIL_COUNTERS);
  transfer();
  EXPECT_EQ(state_of(0).posted, 3u);
  EXPECT_EQ(state_of(0).completed, 3u);
  witness::time_next_calls();
  transfer();
  ASSERT_TRUE(witness::switch_memory(witness::map_private()));
  witness::settle(true);
  EXPECT_EQ(witness::current()->detail, Detail::kCounters) << "timing ends with a memory";
  transfer();
  EXPECT_EQ(state_of(0).posted, 5u);
}

TEST_F(Cost, FullRecordingIsTimedWhileOnlyCountersAreKept) {
  witness::record_in(Detail::kCounters);
  transfer();
  witness::time_next_calls();
  uint64_t transfers = 0;
  for (; witness::current()->detail == Detail::kTimed && transfers < 100; transfers++) transfer();
  EXPECT_EQ(witness::current()->detail, Detail::kCounters);
  EXPECT_EQ(transfers, (witness::kWarmCalls + witness::kTimedCalls) / 2 + 1) << "the first post finds the other function";
  EXPECT_EQ(state_of(0).posted, transfers + 2);
  EXPECT_GE(latencies(), transfers) << "those that were timed are whole";
  transfer();
  transfer();
  EXPECT_EQ(state_of(0).last_post_ticks, witness::hot.coarse_ticks);
}

TEST_F(Cost, AForkedChildLeavesTheParentsCountsAloneHoweverCallsAreRecorded) {
  for (const Detail detail : {Detail::kTimed, Detail::kCounters}) {
    witness::forget_everything();
    char path[] = "/tmp/railwitness-cost-XXXXXX";
    close(mkstemp(path));
    Status status = Status::ok();
    witness::start(witness::map_file(path, status));  // as a sidecar's: somebody else reads it
    unlink(path);
    ASSERT_TRUE(status.is_ok());
    FakeContext other("fake_1");
    FakeQp theirs{other, 18};
    ASSERT_TRUE(tap::tap_context(&other.context));
    const auto post_theirs = [&theirs](uint64_t id) {
      Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 100, id);
      post(theirs, r);
    };
    post_theirs(1);
    if (detail == Detail::kTimed) witness::time_next_calls();
    else witness::record_in(detail);
    const pid_t child = fork();
    if (child == 0) {
      for (uint64_t i = 2; i < 100; i++) post_theirs(i);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(state_of(0).posted, 1u);
  }
}

TEST_F(Cost, ASecondOfCallsIsPublishedWithItsShareOfTheTime) {
  EXPECT_LE(witness::take_cost_turn(20), witness::kTurnMs + 1);  // looks where it begins
  usleep(1'010'000);
  witness::take_cost_turn(20);  // times the next calls
  EXPECT_EQ(witness::current()->detail, Detail::kTimed);
  for (int i = 0; i < 1000; i++) transfer();
  usleep(1'010'000);
  witness::take_cost_turn(20);
  EXPECT_GE(writer().cost_events, 32u);
  EXPECT_EQ(writer().cost_max_permille, 20u);
  EXPECT_GT(writer().cost_event_ticks, 0u);
  EXPECT_GT(writer().cost_ppm, 0u);
  EXPECT_LT(writer().cost_ppm, 20'000u) << "2000 events in a second would have to take 10 microseconds each";
  usleep(1'010'000);
  witness::take_cost_turn(20);
  EXPECT_EQ(writer().cost_ppm, 0u) << "nobody has called since";
}

TEST_F(Cost, OneCallIsTakenForTenMicrosecondsAtMost) {
  witness::take_cost_turn(20);
  usleep(1'010'000);
  witness::take_cost_turn(20);
  for (int i = 0; i < witness::kWarmCalls / 2; i++) transfer();
  for (int i = 0; i < witness::kTimedCalls; i++) {
    witness::CallTimer timer(Detail::kTimed);
    timer.begin();
    if (i < 32) usleep(20'000);  // as if the scheduler had taken the thread away
    timer.end();
    timer.count(1);
  }
  usleep(400'000);
  transfer();
  witness::take_cost_turn(20);
  ASSERT_GT(writer().cost_events, 0u);
  const double rate = static_cast<double>(writer().cost_ticks) / static_cast<double>(writer().cost_events);
  const double second = witness::hot.tsc ? 5e9 : 1e9;
  EXPECT_LT(rate, second * 6e-6) << "half of them at ten microseconds";
}

// A provider without anything shared: each thread completes what it posted last.
thread_local uint64_t posted_id = 0;
thread_local bool is_posted = false;
int accept_one(ibv_qp*, ibv_send_wr* list, ibv_send_wr**) {
  posted_id = list->wr_id;
  is_posted = true;
  return 0;
}
int complete_one(ibv_cq* cq, int, ibv_wc* wc) {
  if (!is_posted) return 0;
  is_posted = false;
  *wc = completion(static_cast<uint32_t>(cq->cqe), posted_id);
  return 1;
}

TEST(CostOfThreads, CallsGoOnWhileTheWayOfRecordingAndTheMemoryChangeUnderThem) {
  constexpr int kThreads = 3;
  constexpr uint64_t kTransfers = 200'000;
  const FreshRecorder fresh;
  std::vector<FakeContext> nics(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> working{kThreads};
  for (int t = 0; t < kThreads; t++) {
    FakeContext& nic = nics[static_cast<size_t>(t)];
    nic.context.device = &nic.device;
    nic.context.ops.post_send = accept_one;
    nic.context.ops.poll_cq = complete_one;
    nic.cq.context = &nic.context;
    nic.cq.cqe = 100 + t;
    ASSERT_TRUE(tap::tap_context(&nic.context));
    threads.emplace_back([&nic, &working] {
      FakeQp qp{nic, static_cast<uint32_t>(nic.cq.cqe)};
      for (uint64_t i = 1; i <= kTransfers; i++) {
        Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 10, i);
        EXPECT_EQ(post(qp, r), 0);
        EXPECT_EQ(poll(nic, 1), 1);
        EXPECT_EQ(poll(nic, 1), 0);
      }
      working--;
    });
  }
  uint64_t rounds = 0;
  for (; working > 0; rounds++) {
    witness::time_next_calls();
    if (rounds % 3 == 0) witness::record_in(rounds % 2 ? Detail::kFull : Detail::kCounters);
    if (rounds % 50 == 49 && rounds < 1000) {
      EXPECT_TRUE(witness::switch_memory(witness::map_private()));
      witness::settle(false);
    }
    usleep(100);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(rounds, 10u);
  for (uint32_t f = 0; f < kThreads; f++) {
    EXPECT_EQ(state_of(f).posted, kTransfers);
    EXPECT_EQ(state_of(f).completed, kTransfers);
    EXPECT_EQ(state_of(f).completed_bytes, kTransfers * 10);
    EXPECT_EQ(state_of(f).records, kTransfers);
    EXPECT_EQ(state_of(f).oldest_post_ticks, 0u);
  }
  EXPECT_EQ(writer().unwitnessed_events, 0u);
}

}  // namespace
}  // namespace railwitness::test
