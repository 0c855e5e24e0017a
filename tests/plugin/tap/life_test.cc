// Contexts and queue pairs: opened, modified, destroyed, used again.
#include "tests/plugin/fake_provider.h"

#include <gtest/gtest.h>

#include <memory>

namespace railwitness::test {
namespace {

int fake_query_port(ibv_context*, uint8_t port, _compat_ibv_port_attr* out) {
  if (port > 2) return EINVAL;
  auto* a = reinterpret_cast<ibv_port_attr*>(out);
  a->state = IBV_PORT_ACTIVE;
  a->link_layer = IBV_LINK_LAYER_ETHERNET;
  a->lid = static_cast<uint16_t>(40 + port);
  a->active_speed = 64;
  a->active_width = 2;
  return 0;
}
int fake_query_gid(ibv_context*, uint8_t port, int index, ibv_gid* gid) {
  memset(gid->raw, 0, sizeof gid->raw);
  gid->raw[14] = static_cast<uint8_t>(index);
  gid->raw[15] = port;
  return 0;
}
__be64 fake_guid(ibv_device*) { return 0x1122; }

int query_qp_calls = 0;
int fake_query_qp(ibv_qp* qp, ibv_qp_attr* a, int, ibv_qp_init_attr* init) {
  query_qp_calls++;
  a->dest_qp_num = qp->qp_num + 1000;
  a->qp_state = IBV_QPS_RTS;
  a->port_num = 2;
  a->timeout = 18;
  a->retry_cnt = 7;
  a->path_mtu = IBV_MTU_4096;
  a->ah_attr.is_global = 1;
  a->ah_attr.port_num = 2;
  a->ah_attr.grh.sgid_index = 3;
  a->ah_attr.grh.dgid.raw[15] = 99;
  init->sq_sig_all = 0;
  return 0;
}

struct Life : testing::Test {
  FreshRecorder fresh;
  FakeContext nic;

  Life() {
    query_qp_calls = 0;
    tap::real_verbs = {nullptr, nullptr, fake_guid, fake_query_port, fake_query_gid, fake_query_qp};
    EXPECT_TRUE(tap::tap_context(&nic.context));
    tap::add_rails(*tap::find_slot(&nic.context));
  }
};

TEST_F(Life, AContextOpenedGivesARailForEachPort) {
  ASSERT_EQ(writer().rails, 2u);
  const railwitness_rail& rail = witness::current()->rails[1];
  EXPECT_STREQ(rail.device, "fake_0");
  EXPECT_EQ(rail.port, 2);
  EXPECT_EQ(rail.guid, 0x1122u);
  EXPECT_EQ(rail.lid, 42);
  EXPECT_EQ(rail.link_layer, RAILWITNESS_LINK_ETHERNET);
  EXPECT_EQ(rail.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(rail.gid[15], 2);
  EXPECT_EQ(writer().contexts, 1u);
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_CONTEXT_OPENED).size(), 2u);
}

TEST_F(Life, ASecondContextOfADeviceSharesItsRails) {
  FakeContext again;
  EXPECT_TRUE(tap::tap_context(&again.context));
  tap::add_rails(*tap::find_slot(&again.context));
  EXPECT_EQ(writer().rails, 2u);
  EXPECT_EQ(writer().contexts, 2u);
}

TEST_F(Life, AContextIsTappedOnce) {
  const auto ours = nic.context.ops.post_send;
  EXPECT_FALSE(tap::tap_context(&nic.context));
  EXPECT_EQ(nic.context.ops.post_send, ours);
  EXPECT_NE(ours, FakeProvider::post_send);
}

TEST_F(Life, AContextOfTheOldAbiIsLeftAlone) {
  FakeContext old;
  old.context.abi_compat = nullptr;
  EXPECT_FALSE(tap::tap_context(&old.context));
  EXPECT_EQ(old.context.ops.post_send, FakeProvider::post_send);
}

TEST_F(Life, ContextsBeyondTheLastSlotAreLeftAlone) {
  std::vector<std::unique_ptr<FakeContext>> many;
  int tapped = 0;
  for (int i = 0; i < tap::kSlots + 5; i++) {
    many.push_back(std::make_unique<FakeContext>());
    tapped += tap::tap_context(&many.back()->context);
  }
  EXPECT_EQ(tapped, tap::kSlots - 1);
  FakeQp qp(*many.back(), 5);
  Request r(IBV_WR_SEND, 1, 1);
  EXPECT_EQ(post(qp, r), 0);
}

TEST_F(Life, ModificationsTellThePeer) {
  FakeQp qp(nic, 17);
  tap::flow_created(&qp.qp, nullptr);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 2;
  tap::flow_modified(&qp.qp, &a, IBV_QP_STATE | IBV_QP_PORT, 0);
  a = {};
  a.qp_state = IBV_QPS_RTR;
  a.dest_qp_num = 4242;
  a.path_mtu = IBV_MTU_1024;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 2;
  a.ah_attr.dlid = 7;
  a.ah_attr.grh.sgid_index = 3;
  a.ah_attr.grh.dgid.raw[15] = 55;
  tap::flow_modified(&qp.qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN, 0);
  a = {};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 20;
  a.retry_cnt = 7;
  tap::flow_modified(&qp.qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT, 0);
  const railwitness_identity& i = identity_of(0);
  EXPECT_EQ(i.qpn, 17u);
  EXPECT_EQ(i.peer_qpn, 4242u);
  EXPECT_EQ(i.port, 2);
  EXPECT_EQ(i.rail, 1u);
  EXPECT_EQ(i.link_layer, RAILWITNESS_LINK_ETHERNET);
  EXPECT_EQ(i.lid, 42);
  EXPECT_EQ(i.peer_lid, 7);
  EXPECT_EQ(i.local_gid[14], 3);
  EXPECT_EQ(i.local_gid[15], 2);
  EXPECT_EQ(i.peer_gid[15], 55);
  EXPECT_EQ(i.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(i.timeout, 20);
  EXPECT_EQ(i.retry_count, 7);
  EXPECT_EQ(i.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(i.sequence % 2, 0u);
  const auto events = events_of_kind(RAILWITNESS_CONTROL_QP_MODIFIED);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].value[1], 4242u);
  Request r(IBV_WR_SEND, 1, 1);
  post(qp, r);
  EXPECT_EQ(query_qp_calls, 0) << "what is known is not asked for";
}

TEST_F(Life, AModificationThatFailsChangesNothing) {
  FakeQp qp(nic, 17);
  tap::flow_created(&qp.qp, nullptr);
  ibv_qp_attr a{};
  a.dest_qp_num = 4242;
  tap::flow_modified(&qp.qp, &a, IBV_QP_DEST_QPN, EINVAL);
  EXPECT_EQ(identity_of(0).peer_qpn, 0u);
  EXPECT_EQ(events_of_kind(RAILWITNESS_CONTROL_QP_MODIFIED).at(0).value[2], static_cast<uint64_t>(EINVAL));
}

TEST_F(Life, AQueuePairMetLateIsAskedOnce) {
  FakeQp qp(nic, 17);
  Request r(IBV_WR_RDMA_WRITE_WITH_IMM, 1, 1);
  post(qp, r), post(qp, r), post_receive(qp);
  EXPECT_LE(query_qp_calls, 2) << "how it signals, and its peer";
  const railwitness_identity& i = identity_of(0);
  EXPECT_EQ(i.peer_qpn, 1017u);
  EXPECT_EQ(i.rail, 1u);
  EXPECT_EQ(i.peer_gid[15], 99);
  EXPECT_EQ(i.timeout, 18);
  EXPECT_EQ(i.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(state_of(0).posted, 2u);
}

TEST_F(Life, ANumberUsedAgainIsANewFlow) {
  FakeQp qp(nic, 17);
  Request r(IBV_WR_SEND, 100, 1);
  post(qp, r);
  void* token = tap::flow_destroying(&qp.qp);
  ASSERT_NE(token, nullptr);
  tap::flow_destroyed(token, 0);
  EXPECT_NE(identity_of(0).destroyed_ticks, 0u);
  FakeQp again(nic, 17);
  tap::flow_created(&again.qp, nullptr);
  post_receive(again);
  EXPECT_EQ(writer().flows, 2u);
  EXPECT_EQ(state_of(0).posted, 1u);
  EXPECT_EQ(state_of(1).posted, 0u);
  EXPECT_EQ(state_of(1).receives_posted, 1u);
  EXPECT_EQ(identity_of(1).role, RAILWITNESS_ROLE_CTS);
}

TEST_F(Life, ANumberThatIsInUseAgainBeforeDestroyReturnsIsKept) {
  FakeQp qp(nic, 17);
  tap::flow_created(&qp.qp, nullptr);
  void* token = tap::flow_destroying(&qp.qp);
  FakeQp again(nic, 17);
  tap::flow_created(&again.qp, nullptr);  // another thread; the kernel has the number free already
  tap::flow_destroyed(token, 0);
  Request r(IBV_WR_SEND, 100, 1);
  post(again, r);
  EXPECT_EQ(state_of(1).posted, 1u);
  EXPECT_EQ(identity_of(1).destroyed_ticks, 0u);
}

TEST_F(Life, ADestructionThatFailsKeepsTheFlow) {
  FakeQp qp(nic, 17);
  Request r(IBV_WR_SEND, 100, 1);
  post(qp, r);
  tap::flow_destroyed(tap::flow_destroying(&qp.qp), EBUSY);
  post(qp, r);
  EXPECT_EQ(writer().flows, 1u);
  EXPECT_EQ(state_of(0).posted, 2u);
  EXPECT_EQ(identity_of(0).destroyed_ticks, 0u);
}

TEST_F(Life, LinesOfDestroyedFlowsAreTakenOnlyWhenNoneIsFreeOldestFirst) {
  refuse_parts();
  std::vector<std::unique_ptr<FakeQp>> many;
  Request r(IBV_WR_SEND, 10, 5);
  for (uint32_t i = 0; i < RAILWITNESS_FLOW_CAPACITY; i++) {
    many.push_back(std::make_unique<FakeQp>(nic, 1000 + i));
    post(*many.back(), r);
  }
  tap::flow_destroyed(tap::flow_destroying(&many[9]->qp), 0);
  tap::flow_destroyed(tap::flow_destroying(&many[4]->qp), 0);
  FakeQp a(nic, 5000), b(nic, 5001), c(nic, 5002);
  Request other(IBV_WR_RDMA_WRITE, 1, 1);
  post(a, other), post(b, other), post(c, other);
  EXPECT_EQ(identity_of(9).qpn, 5000u);
  EXPECT_EQ(identity_of(4).qpn, 5001u);
  EXPECT_EQ(identity_of(9).destroyed_ticks, 0u);
  EXPECT_EQ(identity_of(9).role, RAILWITNESS_ROLE_CTS);
  EXPECT_EQ(state_of(9).posted, 1u);
  EXPECT_EQ(state_of(9).posted_bytes, 1u);
  EXPECT_EQ(record_of(9, 0).sequence, 1u);
  EXPECT_EQ(writer().unwitnessed_flows, 1u);
}

TEST_F(Life, AThousandQueuePairsInARowLeaveTheTableUsable) {
  Request r(IBV_WR_SEND, 10, 5);
  for (uint32_t i = 0; i < 5000; i++) {
    FakeQp qp(nic, 100 + 3 * i);
    tap::flow_created(&qp.qp, nullptr);
    ASSERT_EQ(post(qp, r), 0);
    tap::flow_destroyed(tap::flow_destroying(&qp.qp), 0);
  }
  EXPECT_EQ(writer().unwitnessed_flows, 0u);
  EXPECT_EQ(writer().unwitnessed_events, 0u);
}

TEST_F(Life, AContextClosedFreesItsSlotAndEndsItsFlows) {
  FakeQp qp(nic, 17);
  Request r(IBV_WR_SEND, 10, 5);
  post(qp, r);
  tap::Slot* slot = tap::begin_close(&nic.context);
  ASSERT_NE(slot, nullptr);
  // The same address is opened before close has returned: another slot takes it.
  FakeContext reopened;
  nic.context.ops = reopened.context.ops;
  EXPECT_TRUE(tap::tap_context(&nic.context));
  tap::end_close(*slot, true);
  EXPECT_EQ(slot->context, nullptr);
  EXPECT_NE(identity_of(0).destroyed_ticks, 0u);
  post(qp, r);
  EXPECT_EQ(writer().flows, 2u);
  EXPECT_EQ(state_of(1).posted, 1u);
}

TEST_F(Life, AsynchronousEventsNameThePortOrTheQueuePair) {
  FakeQp qp(nic, 17);
  ibv_async_event event{};
  event.event_type = IBV_EVENT_PORT_ERR;
  event.element.port_num = 2;
  tap::async_event(&nic.context, &event);
  event.event_type = IBV_EVENT_QP_FATAL;
  event.element.qp = &qp.qp;
  tap::async_event(&nic.context, &event);
  const auto events = events_of_kind(RAILWITNESS_CONTROL_ASYNC_EVENT);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].value[0], static_cast<uint64_t>(IBV_EVENT_PORT_ERR));
  EXPECT_EQ(events[0].value[1], 2u);
  EXPECT_EQ(events[0].rail, 1u);
  EXPECT_EQ(events[1].qpn, 17u);
}

}  // namespace
}  // namespace railwitness::test
