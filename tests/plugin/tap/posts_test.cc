#include "tests/plugin/fake_provider.h"

#include <gtest/gtest.h>

#include <memory>

namespace railwitness::test {
namespace {

struct Posts : testing::Test {
  FreshRecorder fresh;
  FakeContext nic;
  FakeQp qp{nic, 17};

  Posts() { EXPECT_TRUE(tap::tap_context(&nic.context)); }
};

TEST_F(Posts, ReachTheProviderOnceWithTheCallersArguments) {
  Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 100, 1);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(&qp.qp, &r.wr, &bad), 0);
  EXPECT_EQ(FakeProvider::post_calls, 1);
  EXPECT_EQ(FakeProvider::last_list, &r.wr);
  EXPECT_EQ(FakeProvider::last_bad, &bad);
}

TEST_F(Posts, OfAnEmptyListAreHarmless) {
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr* bad_recv = nullptr;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(ibv_post_send(&qp.qp, nullptr, &bad_send), 0);
    EXPECT_EQ(ibv_post_recv(&qp.qp, nullptr, &bad_recv), 0);
    Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 100, 1);
    post(qp, r);  // the second time the flow is known
  }
  EXPECT_EQ(state_of(0).posted, 2u);
}

TEST_F(Posts, CountRequestsBytesAndTheRecord) {
  Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 4096, 77);
  post(qp, r);
  const railwitness_state& s = state_of(0);
  EXPECT_EQ(s.posted, 1u);
  EXPECT_EQ(s.posted_bytes, 4096u);
  EXPECT_EQ(s.completed, 0u);
  EXPECT_EQ(s.records, 1u);
  EXPECT_NE(s.first_post_ticks, 0u);
  EXPECT_EQ(s.last_post_ticks, s.oldest_post_ticks);
  const railwitness_record& record = record_of(0, 0);
  EXPECT_EQ(record.sequence, 1u);
  EXPECT_EQ(record.wr_id, 77u);
  EXPECT_EQ(record.bytes, 4096u);
  EXPECT_EQ(record.requests, 1u);
  EXPECT_EQ(record.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(record.flags, RAILWITNESS_RECORD_SIGNALLED | RAILWITNESS_RECORD_IMMEDIATE);
  EXPECT_EQ(record.posted_through, 1u);
  EXPECT_EQ(record.bytes_through, 4096u);
  EXPECT_EQ(record.done_ticks, 0u);
}

TEST_F(Posts, OfAListEndingInASignalledRequestAreOneRecord) {
  Request a(IBV_WR_RDMA_WRITE, 1000, 1, false), b(IBV_WR_RDMA_WRITE, 2000, 2, false), c(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 3);
  c.wr.num_sge = 0;
  a.wr.next = &b.wr;
  b.wr.next = &c.wr;
  for (int i = 0; i < 2; i++) post(qp, a);  // by the rare way, then by the frequent one
  EXPECT_EQ(state_of(0).posted, 6u);
  EXPECT_EQ(state_of(0).posted_bytes, 6000u);
  EXPECT_EQ(state_of(0).records, 2u);
  for (uint64_t i = 0; i < 2; i++) {
    EXPECT_EQ(record_of(0, i).requests, 3u);
    EXPECT_EQ(record_of(0, i).bytes, 3000u);
    EXPECT_EQ(record_of(0, i).wr_id, 3u);
    EXPECT_EQ(record_of(0, i).posted_through, 3 * (i + 1));
  }
  EXPECT_EQ(identity_of(0).role, RAILWITNESS_ROLE_DATA);
}

TEST_F(Posts, OfAListWithASignalledRequestInTheMiddleAreTwoRecords) {
  Request a(IBV_WR_RDMA_WRITE_WITH_IMM, 1000, 1, true), b(IBV_WR_RDMA_WRITE, 2000, 2, false);
  a.wr.next = &b.wr;
  for (int i = 0; i < 2; i++) post(qp, a);
  EXPECT_EQ(state_of(0).records, 4u);
  EXPECT_EQ(record_of(0, 2).posted_through, 3u);
  FakeProvider::queue = {completion(17, 1)};
  poll(nic);
  EXPECT_EQ(state_of(0).completed, 1u) << "the unsignalled one behind it is not known to be finished";
}

TEST_F(Posts, SumAllPiecesOfARequest) {
  ibv_sge pieces[3] = {{0, 10, 0}, {0, 20, 0}, {0, 30, 0}};
  Request r(IBV_WR_SEND, 0, 1);
  r.wr.sg_list = pieces;
  r.wr.num_sge = 3;
  for (int i = 0; i < 2; i++) post(qp, r);
  EXPECT_EQ(state_of(0).posted_bytes, 120u);
}

TEST_F(Posts, OfAQueuePairThatSignalsAllAreSignalled) {
  ibv_qp_init_attr attributes{};
  attributes.sq_sig_all = 1;
  tap::flow_created(&qp.qp, &attributes);
  Request r(IBV_WR_SEND, 8, 1, false);
  post(qp, r);
  EXPECT_TRUE(record_of(0, 0).flags & RAILWITNESS_RECORD_SIGNALLED);
}

// --- role -----------------------------------------------------------------------------------------------------------

struct RoleCase {
  ibv_wr_opcode first, second;
  railwitness_role role;
  railwitness_direction direction;
};

TEST_F(Posts, TellTheRoleOfTheQueuePair) {
  const RoleCase cases[] = {
      {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, RAILWITNESS_ROLE_DATA, RAILWITNESS_DIRECTION_SEND},
      {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, RAILWITNESS_ROLE_DATA, RAILWITNESS_DIRECTION_SEND},
      {IBV_WR_SEND, IBV_WR_SEND, RAILWITNESS_ROLE_DATA, RAILWITNESS_DIRECTION_SEND},
      {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, RAILWITNESS_ROLE_CTS, RAILWITNESS_DIRECTION_RECV},
      {IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, RAILWITNESS_ROLE_FLUSH, RAILWITNESS_DIRECTION_RECV},
  };
  uint32_t flow = 0;
  for (const RoleCase& c : cases) {
    FakeQp one(nic, 100 + flow);
    Request a(c.first, 8, 1, false), b(c.second, 8, 2);
    a.wr.next = &b.wr;
    post(one, a);
    EXPECT_EQ(identity_of(flow).role, c.role) << flow;
    EXPECT_EQ(identity_of(flow).direction, c.direction) << flow;
    EXPECT_EQ(identity_of(flow).sequence % 2, 0u);
    flow++;
  }
}

TEST_F(Posts, OfAReceiveFirstMeanTheReceivingEnd) {
  post_receive(qp);
  Request cts(IBV_WR_RDMA_WRITE, 64, 1, false);
  post(qp, cts);
  EXPECT_EQ(identity_of(0).role, RAILWITNESS_ROLE_CTS);
  EXPECT_EQ(identity_of(0).direction, RAILWITNESS_DIRECTION_RECV);
  EXPECT_EQ(state_of(0).receives_posted, 1u);
  EXPECT_EQ(state_of(0).posted, 1u);
}

// --- failures -------------------------------------------------------------------------------------------------------

TEST_F(Posts, ThatFailCountOnlyWhatWasAccepted) {
  Request a(IBV_WR_RDMA_WRITE, 1000, 1, false), b(IBV_WR_RDMA_WRITE, 2000, 2, false), c(IBV_WR_RDMA_WRITE_WITH_IMM, 4000, 3);
  a.wr.next = &b.wr;
  b.wr.next = &c.wr;
  FakeProvider::result = ENOMEM;
  FakeProvider::accept = 2;
  EXPECT_EQ(post(qp, a), ENOMEM);
  EXPECT_EQ(state_of(0).posted, 2u);
  EXPECT_EQ(state_of(0).posted_bytes, 3000u);
  EXPECT_EQ(record_of(0, 0).requests, 2u);
  const auto events = events_of_kind(RAILWITNESS_CONTROL_POST_FAILED);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].value[0], static_cast<uint64_t>(ENOMEM));
  EXPECT_EQ(events[0].qpn, 17u);
}

TEST_F(Posts, ThatFailWithMinusOneTellErrnoAndKeepIt) {
  Request a(IBV_WR_SEND, 1000, 1);
  FakeProvider::result = -1;
  FakeProvider::accept = 0;
  errno = EINVAL;
  EXPECT_EQ(post(qp, a), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(state_of(0).posted, 0u);
  EXPECT_EQ(state_of(0).records, 0u);
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_POST_FAILED).at(0).value[0], static_cast<uint64_t>(EINVAL));
}

TEST_F(Posts, ThatFailWithoutSayingWhereCountNothing) {
  Request a(IBV_WR_SEND, 1000, 1), stranger(IBV_WR_SEND, 1, 1);
  FakeProvider::result = ENOMEM;
  FakeProvider::accept = 99;  // *bad stays what it was
  ibv_send_wr* bad = &stranger.wr;
  EXPECT_EQ(ibv_post_send(&qp.qp, &a.wr, &bad), ENOMEM);
  EXPECT_EQ(state_of(0).posted, 0u);
}

TEST_F(Posts, OfReceivesThatFailCountOnlyWhatWasAccepted) {
  FakeProvider::result = ENOMEM;
  FakeProvider::accept = 2;
  EXPECT_EQ(post_receive(qp, 5), ENOMEM);
  EXPECT_EQ(state_of(0).receives_posted, 2u);
  FakeProvider::result = 0;
  EXPECT_EQ(post_receive(qp, 5), 0);
  EXPECT_EQ(state_of(0).receives_posted, 7u);
}

// --- threads and rare things ----------------------------------------------------------------------------------------

TEST_F(Posts, CountInTheThreadsLine) {
  Request r(IBV_WR_SEND, 1, 1);
  poll(nic);  // an unregistered thread's empty poll counts in nobody's line
  post(qp, r);
  post_receive(qp);
  poll(nic);
  FakeProvider::queue = {completion(17, 1)};
  poll(nic);
  const auto& line = *reinterpret_cast<railwitness_thread*>(witness::current()->threads);
  EXPECT_EQ(writer().threads, 1u);
  EXPECT_EQ(line.tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(line.posts, 2u);
  EXPECT_EQ(line.polls, 2u);
  EXPECT_EQ(line.completions, 1u);
  EXPECT_NE(line.first_call_ticks, 0u);
}

TEST_F(Posts, OfNumbersThatCollideInTheTableAreKeptApart) {
  FakeQp other(nic, 17 + tap::FlowTable::kEntries), third(nic, 17 + 2 * tap::FlowTable::kEntries);
  Request r(IBV_WR_SEND, 10, 5);
  for (int i = 0; i < 3; i++)
    for (FakeQp* q : {&qp, &other, &third}) post(*q, r);
  FakeProvider::queue = {completion(third.qp.qp_num, 5), completion(other.qp.qp_num, 5)};
  poll(nic);
  for (uint32_t flow = 0; flow < 3; flow++) EXPECT_EQ(state_of(flow).posted, 3u) << flow;
  EXPECT_EQ(state_of(0).completed, 0u);
  EXPECT_EQ(state_of(1).completed, 1u);
  EXPECT_EQ(state_of(2).completed, 1u);
}

TEST_F(Posts, BeyondTheLastLineAreCountedAsUnwitnessed) {
  refuse_parts();
  Request r(IBV_WR_SEND, 10, 5);
  std::vector<std::unique_ptr<FakeQp>> many;
  for (uint32_t i = 0; i < RAILWITNESS_FLOW_CAPACITY + 3; i++) {
    many.push_back(std::make_unique<FakeQp>(nic, 1000 + i));
    EXPECT_EQ(post(*many.back(), r), 0);
  }
  EXPECT_EQ(writer().flows, uint32_t{RAILWITNESS_FLOW_CAPACITY});
  EXPECT_EQ(writer().unwitnessed_flows, 3u);
  EXPECT_EQ(writer().unwitnessed_events, 3u);
  EXPECT_EQ(post(*many.back(), r), 0);
  EXPECT_EQ(writer().unwitnessed_flows, 3u) << "a flow is counted once";
  EXPECT_EQ(writer().unwitnessed_events, 4u);
  FakeProvider::queue = {completion(many.back()->qp.qp_num, 5)};
  EXPECT_EQ(poll(nic), 1);
  EXPECT_EQ(writer().unwitnessed_events, 5u);
}

TEST_F(Posts, OfAFlowThatFoundNoLineAreWitnessedOnceThereIsOne) {
  refuse_parts();
  Request r(IBV_WR_SEND, 10, 5);
  std::vector<std::unique_ptr<FakeQp>> many;
  for (uint32_t i = 0; i < RAILWITNESS_FLOW_CAPACITY + 3; i++) {
    many.push_back(std::make_unique<FakeQp>(nic, 1000 + i));
    tap::flow_created(&many.back()->qp, nullptr);
  }
  FakeQp& late = *many.back();
  EXPECT_EQ(post(late, r), 0);
  EXPECT_EQ(writer().unwitnessed_flows, 3u);
  witness::Part part{};
  ASSERT_TRUE(witness::map_private_part(1, part));
  ASSERT_TRUE(witness::add_part(part));
  EXPECT_EQ(post(late, r), 0);
  EXPECT_EQ(post(late, r), 0);
  EXPECT_EQ(writer().unwitnessed_flows, 2u);
  EXPECT_EQ(writer().unwitnessed_events, 1u);
  EXPECT_EQ(part.writer->flows, 1u);
  EXPECT_EQ(part.identities[0].qpn, late.qp.qp_num);
  EXPECT_EQ(part.states[0].posted, 2u);
  // A line of a destroyed flow does as well.
  FakeQp& later = *many[many.size() - 2];
  for (uint32_t i = 0; i < 511; i++) {
    many.push_back(std::make_unique<FakeQp>(nic, 5000 + i));
    tap::flow_created(&many.back()->qp, nullptr);
  }
  post(later, r);
  EXPECT_EQ(writer().unwitnessed_flows, 2u);
  tap::flow_destroyed(tap::flow_destroying(&many[0]->qp), 0);
  post(later, r);
  EXPECT_EQ(writer().unwitnessed_flows, 1u);
  EXPECT_EQ(identity_of(0).qpn, later.qp.qp_num);
}

}  // namespace
}  // namespace railwitness::test
