// Ports that are down and paths that lose what is sent.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "tests/probes/diagnose/cluster.h"
#include "tests/probes/diagnose/findings.h"

namespace railwitness::diagnose {
namespace {

using model::Class;
using model::ComponentKind;
using model::Finding;
using model::IncidentState;
using model::ProcessState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- ports

TEST(PortDown, NamesTheEdgeWithTheSwitchPortThatWasKnownLast) {
  Cluster c(4, 2);
  c.port_down(2, 1, 1.1).stick(1, 2, 1, 1.05).stick(2, 3, 1, 1.0);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_EQ(found[0].subclass, "port_down");
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
  ASSERT_THAT(found[0].culprit, SizeIs(1));
  const model::Component& culprit = found[0].culprit[0];
  EXPECT_EQ(edge(culprit), "host2/1");
  EXPECT_EQ(culprit.device, "rxe_h2r1");
  EXPECT_EQ(culprit.netdev, "h2r1");
  EXPECT_EQ(culprit.switch_name, "leaf-r1");
  EXPECT_EQ(culprit.switch_port, "swp3");
  EXPECT_EQ(culprit.edge_source, "lldp");
  EXPECT_FALSE(culprit.edge_present);
  EXPECT_EQ(culprit.edge_age_ns, 4 * kSecond);
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(1, 2, 3));
  EXPECT_TRUE(says(found[0], "port rxe_h2r1/1 of host2 is DOWN (Disabled) for 1.1 s"));
  EXPECT_TRUE(says(found[0], "3 posts from host1 to host2 on rail 1 unfinished"));
  EXPECT_THAT(edges(found[0].exonerated), ElementsAre("host1/1", "host2/0", "host3/1"));
  EXPECT_TRUE(exonerates(found[0], ComponentKind::kRank, "host2"));
}

TEST(PortDown, IsSeenBelowTheThresholdOfTheWire) {
  Cluster c(4, 2);
  c.port_down(2, 1, 0.5).stick(1, 2, 1, 0.4);
  EXPECT_THAT(c.diagnose(), SizeIs(1));
}

TEST(PortDown, WithNothingButAReceiveOutstandingIsSeenToo) {
  Cluster c(4, 2);
  c.port_down(2, 1, 3).wait(3, 2, 1, 2.5);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].subclass, "port_down");
}

TEST(PortDown, OneNodeAloneCanSayIt) {
  Cluster c(4, 2);
  c.port_down(2, 1, 2).stick(2, 3, 1, 1.5);
  const auto found = diagnose(c.heard_from({2}), Thresholds{}, kNow);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
  EXPECT_EQ(edge(found[0].culprit[0]), "host2/1");
}

TEST(PortDown, OfAllNodesOfARailIsTheSwitch) {
  Cluster c(4, 2);
  for (int h = 0; h < 4; ++h) c.port_down(h, 1, 1.2).stick(h, (h + 1) % 4, 1, 1.1);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kSwitch);
  EXPECT_EQ(found[0].subclass, "down");
  EXPECT_EQ(found[0].culprit[0].switch_name, "leaf-r1");
}

// --- the wire

TEST(SilentLoss, EdgeThatFailsWithTwoPeersIsSuspected) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4).stick(2, 3, 1, 1.3);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_EQ(found[0].subclass, "silent_loss");
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/1"));
  EXPECT_TRUE(says(found[0], "3 posts from host1 to host2 on rail 1 unfinished, oldest 1.4 s"));
  EXPECT_TRUE(says(found[0], "it fails with 2 others"));
}

TEST(SilentLoss, IsNotSuspectedBeforeTheOtherEndsNodeHasSpokenSince) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 2.5);
  c.heard(2).age_ns = ns(2.2);
  EXPECT_THAT(c.diagnose(), IsEmpty()) << "rank 2 may be stopped since then, or gone";
  c.heard(2).age_ns = ns(0.4);
  EXPECT_THAT(c.diagnose(), SizeIs(1));
}

TEST(SilentLoss, OnePairAloneCannotBeToldApart) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host1/1", "host2/1"));
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
}

TEST(SilentLoss, EndThatStillWorksWithOthersIsExonerated) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.6).completed(0, 1, 1, 0.1);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/1"));
  EXPECT_THAT(edges(found[0].exonerated), testing::Contains("host1/1"));
}

TEST(SilentLoss, CompletionThatWasUnderWayAtTheOnsetExoneratesNobody) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4).completed(0, 1, 1, 1.35);
  EXPECT_THAT(edges(c.diagnose()[0].culprit), ElementsAre("host1/1", "host2/1"));
}

TEST(SilentLoss, ProbesThatFailThroughItAndPassBesideItConfirm) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 2.4).ping_all(1, {2}).ping_all(0);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
  EXPECT_GE(found[0].confidence, 0.9);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/1"));
  EXPECT_TRUE(says(found[0], "probes through it get no answer"));
  EXPECT_TRUE(says(found[0], "probes beside it are answered"));
  EXPECT_TRUE(exonerates(found[0], ComponentKind::kEdge, "host1"));
  EXPECT_TRUE(exonerates(found[0], ComponentKind::kSwitch, ""));
}

TEST(SilentLoss, BothDirectionsAtOnceAreOneIncident) {
  Cluster c(4, 1);
  c.stick(1, 2, 0, 2).stick(2, 3, 0, 2);
  for (const auto& [at, other] : {std::pair{2, 1}, std::pair{3, 2}}) {
    c.cts(at, other, 0).posted += 1;
    c.cts(at, other, 0).oldest_post_mono_ns = c.ago(at, 2);
  }
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/0"));
}

TEST(SilentLoss, ProbesOlderThanTheFaultCountForNothing) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4).ping_all(1, {}, 5.0);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_TRUE(found[0].evidence_against.empty() || found[0].evidence_against[0].kind != "probe");
}

TEST(SilentLoss, StuckQueuePairThoughProbesPassIsUnknown) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 4).ping_all(1);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kUnknown);
  EXPECT_EQ(found[0].subclass, "flow_stuck");
}

TEST(SilentLoss, RailOnWhichAllFailIsTheSwitch) {
  Cluster c(4, 2);
  for (int h = 0; h < 4; ++h) c.stick(h, (h + 1) % 4, 1, 1.5);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kSwitch);
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
  EXPECT_EQ(found[0].culprit[0].switch_name, "leaf-r1");
}

TEST(SilentLoss, SwitchIsConfirmedByProbesThatPassOnAnotherRail) {
  Cluster c(4, 2);
  for (int h = 0; h < 4; ++h) c.stick(h, (h + 1) % 4, 1, 1.5);
  c.ping_all(1, {0, 1, 2, 3}).ping_all(0);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kSwitch);
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
}

TEST(SilentLoss, TwoFaultsOnTwoRailsAreTwoFindings) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4).stick(2, 3, 1, 1.3).stick(3, 0, 0, 1.9).stick(0, 1, 0, 1.9);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(2));
  std::vector<std::string> culprits = {edge(found[0].culprit[0]), edge(found[1].culprit[0])};
  EXPECT_THAT(culprits, testing::UnorderedElementsAre("host2/1", "host0/0"));
}

TEST(SilentLoss, TwoFaultsOnOneRailAreTwoFindingsOnceProbed) {
  Cluster c(6, 1);
  c.stick(0, 1, 0, 2).stick(1, 2, 0, 2).stick(3, 4, 0, 2).stick(4, 5, 0, 2).ping_all(0, {1, 4});
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(2));
  for (const Finding& finding : found) EXPECT_EQ(finding.state, IncidentState::kConfirmed);
  EXPECT_EQ(edge(found[0].culprit[0]), "host1/0");
  EXPECT_EQ(edge(found[1].culprit[0]), "host4/0");
}

TEST(SilentLoss, ErrorCompletionOfExhaustedRetriesIsEvidenceToo) {
  Cluster c(4, 2);
  c.data(1, 2, 1).first_error = model::FlowError{12, 0, c.ago(1, 2)};
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].subclass, "silent_loss");
  EXPECT_TRUE(says(found[0], "gave up after their retries"));
}

TEST(SilentLoss, OldErrorCountsOnlyWhileSomebodyWaitsAndNoProbeIsAnswered) {
  Cluster c(4, 2);
  c.data(1, 2, 1).first_error = model::FlowError{12, 0, c.ago(1, 90)};
  EXPECT_THAT(c.diagnose(), IsEmpty());
  c.wait(2, 1, 1, 90);
  EXPECT_THAT(incidents(c.diagnose()), SizeIs(1));
  c.ping_all(1);
  EXPECT_THAT(incidents(c.diagnose()), IsEmpty());
}

TEST(SilentLoss, OneNodeAloneNamesItsEdgeAndThePeersGid) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4);
  const auto found = diagnose(c.heard_from({1}), Thresholds{}, kNow);
  ASSERT_THAT(found, SizeIs(1));
  ASSERT_THAT(found[0].culprit, SizeIs(2));
  EXPECT_EQ(found[0].culprit[0].node, "host1");
  EXPECT_EQ(found[0].culprit[1].gid, Cluster::gid(2, 1));
  EXPECT_THAT(edges(found[0].exonerated), ElementsAre("host1/0"));
  EXPECT_FALSE(found[0].evidence_against.empty());
}

TEST(SilentLoss, OneNodeAloneThatFailsWithTwoPeersSuspectsItsOwnEdge) {
  Cluster c(4, 1);
  c.stick(2, 3, 0, 1.4);
  c.cts(2, 1, 0).posted += 1;
  c.cts(2, 1, 0).oldest_post_mono_ns = c.ago(2, 1.4);
  const auto found = diagnose(c.heard_from({2}), Thresholds{}, kNow);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/0"));
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
}

TEST(SilentLoss, StaleFactsOfASilentNodeAreNotHeldAgainstIt) {
  Cluster c(4, 1);
  c.stick(2, 3, 0, 0.01);  // in flight as it spoke last
  c.heard(2).age_ns = 60 * kSecond;
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(SilentLoss, FlowLoopsOfFlushesAreNotPaths) {
  Cluster c(2, 1);
  model::Flow flush = c.data(0, 1, 0);
  flush.role = model::Role::kFlush;
  flush.qpn = 99;
  flush.peer_qpn = 99;
  flush.peer_gid = flush.local_gid;
  flush.oldest_post_mono_ns = c.ago(0, 9);
  c.process_of(0).flows.push_back(flush);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(SilentLoss, InfiniBandWithoutGidsIsJoinedByLid) {
  Cluster c(3, 1);
  for (int h = 0; h < 3; ++h) {
    for (model::Flow& flow : c.process_of(h).flows) {
      for (int other = 0; other < 3; ++other) {
        if (flow.peer_gid == Cluster::gid(other, 0)) flow.peer_lid = static_cast<uint16_t>(other + 1);
      }
      flow.lid = static_cast<uint16_t>(h + 1);
      flow.local_gid = flow.peer_gid = "0000:0000:0000:0000:0000:0000:0000:0000";
    }
  }
  c.state(1, ProcessState::kGone, 3);
  for (model::Flow& flow : c.process_of(2).flows) {
    if (flow.direction == model::Direction::kRecv) flow.receive_wait_mono_ns = c.ago(2, 3);
  }
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
}

TEST(NodeLost, SilentNodeThatAcknowledgesOnNoRailIsSuspectedDead) {
  Cluster c(4, 2);
  c.heard(2).age_ns = 12 * kSecond;
  for (int r = 0; r < 2; ++r) c.stick(1, 2, r, 12).wait(3, 2, r, 12);
  const auto found = c.diagnose();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cls, Class::kRankDead);
  EXPECT_EQ(found[0].subclass, "node_lost");
  EXPECT_EQ(found[0].culprit[0].node, "host2");
  EXPECT_THAT(found[0].blind, ElementsAre("host2"));
}

TEST(NodeLost, SilentNodeThatFailsOnOneRailOnlyIsALinkWithABlindSpot) {
  Cluster c(4, 2);
  c.heard(2).age_ns = 12 * kSecond;
  c.stick(1, 2, 1, 5);
  const auto found = incidents(c.diagnose());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_THAT(found[0].blind, ElementsAre("host2"));
}

}  // namespace
}  // namespace railwitness::diagnose
