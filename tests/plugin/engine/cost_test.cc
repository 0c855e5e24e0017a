// Calls of NCCL that are timed, and calls of which only counters are kept: plugin/witness/cost.h around a connection.
#include "plugin/witness/cost.h"

#include "plugin/engine/engine.h"
#include "plugin/engine/witnessed.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_transport.h"

#include <gtest/gtest.h>

#include <vector>

namespace railwitness {
namespace {

using witness::Detail;

class CostOfNetCalls : public testing::Test {
 protected:
  void SetUp() override {
    witness::forget_everything();
    engine::forget_transport();
    witness::start(witness::map_private());
    engine::choose_transport(&fake);
    void *context = nullptr, *made = nullptr;
    ASSERT_EQ(engine::init(&context, 7, {nccl::kUndefined}, nullptr, nullptr), nccl::kSuccess);
    char handle[nccl::kHandleBytes];
    ASSERT_EQ(engine::listen(context, 0, handle, &listener), nccl::kSuccess);
    ASSERT_EQ(engine::connect(context, 0, handle, &made, nullptr), nccl::kSuccess);
    sender = static_cast<engine::Connection*>(made);
    ASSERT_EQ(engine::accept(listener, &made, nullptr), nccl::kSuccess);
    receiver = static_cast<engine::Connection*>(made);
    transfer();
    receive();
  }
  void TearDown() override {
    engine::close_send(sender);
    engine::close_recv(receiver);
    engine::close_listen(listener);
    engine::forget_transport();
  }

  void* send() {
    void* request = nullptr;
    EXPECT_EQ(engine::isend(sender, nullptr, 100, 3, nullptr, nullptr, &request), nccl::kSuccess);
    return request;
  }
  void* post_receive() {
    void* request = nullptr;
    size_t bytes = 100;
    int tag = 0;
    EXPECT_EQ(engine::irecv(receiver, 1, nullptr, &bytes, &tag, nullptr, nullptr, &request), nccl::kSuccess);
    return request;
  }
  void finish(void* request, size_t number) {
    fake.finish(number, {100});
    int done = 0, bytes = 0;
    EXPECT_EQ(engine::test(request, &done, &bytes), nccl::kSuccess);
    EXPECT_EQ(done, 1);
  }
  void transfer() {
    void* request = send();
    finish(request, fake.requests.size() - 1);
  }
  void receive() {
    void* request = post_receive();
    finish(request, fake.requests.size() - 1);
  }
  uint64_t latencies() const {
    uint64_t n = 0;
    for (const uint32_t bucket : sender->histogram->bucket) n += bucket;
    return n;
  }

  FakeTransport fake;
  void* listener = nullptr;
  engine::Connection *sender = nullptr, *receiver = nullptr;
};

TEST_F(CostOfNetCalls, TimedCallsAreRecordedLikeAnyOther) {
  witness::time_next_calls();
  for (int i = 0; i < (witness::kWarmCalls + witness::kTimedCalls) / 4; i++) {
    ASSERT_EQ(witness::current()->detail, Detail::kTimed) << i;
    transfer();
    receive();
  }
  EXPECT_EQ(witness::current()->detail, Detail::kFull);
  EXPECT_EQ(sender->state->posted, 21u);
  EXPECT_EQ(sender->state->completed, 21u);
  EXPECT_EQ(sender->state->records, 21u);
  EXPECT_EQ(latencies(), 21u);
  EXPECT_EQ(receiver->state->receives_completed, 21u);
  EXPECT_EQ(receiver->state->received_bytes, 2100u);
  transfer();
  EXPECT_EQ(sender->state->completed, 22u);
}

TEST_F(CostOfNetCalls, SendsThatAreDoneOutOfOrderAreRecordedWhileTimed) {
  witness::time_next_calls();
  std::vector<void*> requests;
  const size_t first = fake.requests.size();
  for (int i = 0; i < 4; i++) requests.push_back(send());
  const uint64_t oldest = sender->flow->records[1].post_ticks;
  EXPECT_EQ(sender->state->oldest_post_ticks, oldest);
  finish(requests[2], first + 2);
  EXPECT_EQ(sender->state->oldest_post_ticks, oldest);
  finish(requests[0], first);
  EXPECT_EQ(sender->state->oldest_post_ticks, sender->flow->records[2].post_ticks);
  finish(requests[1], first + 1);
  EXPECT_EQ(sender->state->oldest_post_ticks, sender->flow->records[4].post_ticks);
  finish(requests[3], first + 3);
  EXPECT_EQ(sender->state->oldest_post_ticks, 0u);
  EXPECT_EQ(sender->state->completed, 5u);
}

TEST_F(CostOfNetCalls, WhereOnlyCountersAreKeptCountsGoOnAndTheClockIsNotRead) {
  witness::record_in(Detail::kCounters);
  const uint64_t tick = witness::hot.coarse_ticks;
  for (int i = 0; i < 300; i++) transfer(), receive();
  EXPECT_EQ(sender->state->posted, 301u);
  EXPECT_EQ(sender->state->completed, 301u);
  EXPECT_EQ(sender->state->posted_bytes, 30'100u);
  EXPECT_EQ(sender->state->completed_bytes, 30'100u);
  EXPECT_EQ(sender->state->last_post_ticks, tick);
  EXPECT_EQ(sender->state->last_completion_ticks, tick);
  EXPECT_EQ(latencies(), 1u) << "only that of before";
  EXPECT_EQ(receiver->state->receives_completed, 301u);
  EXPECT_EQ(receiver->state->last_receive_ticks, tick);
  send();
  EXPECT_EQ(sender->state->oldest_post_ticks, tick) << "a send that hangs is seen";
  post_receive();
  EXPECT_EQ(receiver->state->receive_wait_ticks, tick);
  fake.gives_requests = false;
  witness::hot.coarse_ticks = tick + 1000;
  send();
  EXPECT_EQ(sender->state->receive_wait_ticks, tick + 1000) << "and one that the peer does not take";
}

TEST_F(CostOfNetCalls, RecordsAreInOrderAgainAfterwards) {
  witness::record_in(Detail::kCounters);
  for (int i = 0; i < 5; i++) transfer();
  witness::record_in(Detail::kFull);
  transfer();
  EXPECT_EQ(sender->state->records, 7u);
  for (uint64_t i = 0; i < 7; i++) EXPECT_EQ(sender->flow->records[i].sequence, i + 1);
  EXPECT_GT(sender->flow->records[6].done_ticks, sender->flow->records[6].post_ticks);
  EXPECT_EQ(latencies(), 2u);
}

}  // namespace
}  // namespace railwitness
