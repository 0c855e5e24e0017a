// Waits, circles of waits, and several faults at once.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "tests/probes/diagnose/cluster.h"
#include "tests/probes/diagnose/findings.h"

namespace railwitness::diagnose {
namespace {

using model::Class;
using model::IncidentState;
using model::ProcessState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// --- waits

TEST(Wait, ForARankThatComputesIsNoIncident) {
  Cluster c(4, 2);
  c.process_of(2).cpu_share = 0.98;
  c.wait(3, 2, 0, 3.1).wait(0, 3, 0, 3.1).wait(1, 0, 0, 3.1);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kWait);
  EXPECT_EQ(found[0].subclass, "rank_busy");
  EXPECT_EQ(found[0].culprit[0].rank, 2);
  EXPECT_EQ(found[0].evidence_for[0].text, "busy, 0.98 of a core");
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(0, 1, 3));
  EXPECT_NEAR(static_cast<double>(kNow - found[0].onset_wall_ns) / 1e9, 3.1, 0.01);
}

TEST(Wait, ForARankThatDoesNothingSaysSo) {
  Cluster c(4, 1);
  c.wait(3, 2, 0, 3.1);
  EXPECT_EQ(c.diagnose()[0].subclass, "rank_idle");
}

TEST(Wait, IsOverWhenTheOtherEndHasSentSomethingSinceTheWaiterSpoke) {
  Cluster c(4, 1);
  c.wait(3, 2, 0, 19.8);
  c.data(2, 3, 0).last_post_mono_ns = c.ago(2, 0.1);
  EXPECT_THAT(c.diagnose(), SizeIs(1)) << "what was sent has not helped";
  c.heard(3).age_ns = ns(0.4);
  EXPECT_THAT(c.diagnose(), IsEmpty()) << "the waiter's word is older than the post";
}

TEST(Wait, ASenderWithoutClearToSendWaitsForItsPeer) {
  Cluster c(4, 1);
  for (int h = 0; h < 4; ++h) c.data(h, (h + 1) % 4, 0).connection = true;
  c.data(1, 2, 0).receive_wait_mono_ns = c.ago(1, 3.1);
  c.wait(1, 0, 0, 0.1);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kWait);
  EXPECT_EQ(found[0].culprit[0].rank, 2);
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(1));
  EXPECT_THAT(found[0].evidence_for.back().text, HasSubstr("no clear-to-send for 3.1 s"));
}

TEST(Wait, ASendersQueuePairWaitsForNobody) {
  Cluster c(4, 1);
  c.data(1, 2, 0).receive_wait_mono_ns = c.ago(1, 3.1);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Wait, ShorterThanTheThresholdIsNothing) {
  Cluster c(4, 1);
  c.wait(3, 2, 0, 1.9);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Wait, BehindALinkFaultIsExplainedByIt) {
  Cluster c(4, 1);
  c.stick(1, 2, 0, 3).wait(3, 2, 0, 3).wait(0, 3, 0, 3);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(0, 1, 2, 3));
}

TEST(Wait, ForASilentNodeIsABlindSpot) {
  Cluster c(4, 1);
  c.wait(3, 2, 0, 3);
  c.heard(2).age_ns = 20 * kSecond;
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kUnknown);
  EXPECT_EQ(found[0].subclass, "blind");
  EXPECT_EQ(found[0].culprit[0].node, "host2");
  EXPECT_LE(found[0].confidence, 0.3);
}

TEST(Wait, ForSomebodyUnknownIsNothing) {
  Cluster c(4, 1);
  c.wait(3, 2, 0, 30);
  EXPECT_THAT(diagnose(c.heard_from({3}), Thresholds{}, kNow), IsEmpty());
}

TEST(Wait, OverARailOnWhichProbesFailIsThePathsFault) {
  Cluster c(4, 1);
  c.process_of(2).cpu_share = 0.98;
  c.wait(3, 2, 0, 3).ping_all(0, {3});
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host3/0"));
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
}

TEST(Wait, ProbesThatNobodyWasThereToAnswerSayNothing) {
  const auto probed = [](Cluster& c) {
    c.wait(3, 2, 0, 5).ping(3, 2, 0, false, 1.0).ping(1, 2, 0, false, 1.0).ping(1, 3, 0, true, 1.0);
  };
  Cluster there(4, 1);
  probed(there);
  EXPECT_EQ(there.diagnose()[0].cls, Class::kLink);
  Cluster silent(4, 1);
  probed(silent);
  silent.heard(2).age_ns = 2 * kSecond;  // its sidecar has not spoken since
  EXPECT_EQ(silent.diagnose()[0].cls, Class::kWait);
  Cluster restarted(4, 1);
  probed(restarted);
  restarted.facts(2).sidecar_start_mono_ns = restarted.ago(2, 1.5);
  EXPECT_EQ(restarted.diagnose()[0].cls, Class::kWait);
  Cluster closed(4, 1);
  probed(closed);
  closed.facts(2).ping_ports.clear();
  EXPECT_EQ(closed.diagnose()[0].cls, Class::kWait);
}

// A ring on rail 1 in which everybody waits: all clear-to-send writes to and from host2 are lost, nothing is
// unfinished.
TEST(Cycle, BlackHoleWithoutAnyUnfinishedPostIsFoundByProbes) {
  Cluster c(4, 2);
  c.everybody_waits(1, 2.5);
  const auto before = c.diagnose();
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_EQ(before[0].cls, Class::kWait);
  EXPECT_EQ(before[0].subclass, "cycle");
  const auto requests = plan_pings(c.all(), before, Thresholds{}, 7);
  EXPECT_THAT(requests, SizeIs(12));
  for (const model::PingRequest& request : requests) EXPECT_THAT(request.device, HasSubstr("r1"));

  c.ping_all(1, {2});
  const auto after = c.diagnose();
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_EQ(after[0].cls, Class::kLink);
  EXPECT_EQ(after[0].subclass, "silent_loss");
  EXPECT_EQ(after[0].state, IncidentState::kConfirmed);
  EXPECT_THAT(edges(after[0].culprit), ElementsAre("host2/1"));
  EXPECT_THAT(after[0].ranks_blocked, ElementsAre(0, 1, 2, 3));
}

// Where nothing can be probed, a job that computes looks the same: no hardware is blamed, and after half a minute the
// stall is told with all that it may be.
TEST(Cycle, WithoutProbesIsAWaitAndLaterUnknown) {
  Cluster c(4, 2);
  c.everybody_waits(1, 20);
  ASSERT_THAT(c.diagnose(), SizeIs(1));
  EXPECT_EQ(c.diagnose()[0].cls, Class::kWait);
  c.everybody_waits(1, 40);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kUnknown);
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host0/1", "host1/1", "host2/1", "host3/1"));
  EXPECT_LE(found[0].confidence, 0.3);
}

// A sidecar that got no processor neither answered nor noticed an answer: its silence blames nobody.
TEST(Cycle, SilenceOfAStarvedSidecarBlamesNoHardware) {
  Cluster c(4, 2);
  c.everybody_waits(1, 8).ping_all(1, {2});
  ASSERT_EQ(c.diagnose()[0].cls, Class::kLink);
  c.facts(2).late_ns = 2'000'000'000;
  ASSERT_THAT(c.diagnose(), SizeIs(1));
  EXPECT_EQ(c.diagnose()[0].cls, Class::kWait);
}

// Two nodes only: probes fail between them, and there is nobody beside them to tell which end it is.
TEST(Cycle, ProbesThatDoNotTellThePortsApartMakeASuspicionOfBoth) {
  Cluster c(2, 1);
  c.everybody_waits(0, 8).ping_all(0, {1});
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host0/0", "host1/0"));
}

TEST(Cycle, OverHealthyRailsIsAWaitAndLaterUnknown) {
  Cluster c(4, 2);
  c.everybody_waits(0, 8).everybody_waits(1, 8).ping_all(0).ping_all(1);
  auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kWait);
  c.everybody_waits(0, 40).everybody_waits(1, 40);
  found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kUnknown);
  EXPECT_EQ(found[0].subclass, "cycle");
  EXPECT_THAT(found[0].culprit, IsEmpty());
  EXPECT_THAT(found[0].exonerated, SizeIs(8));
  EXPECT_FALSE(plan_pings(c.all(), found, Thresholds{}, 1).empty());
}

// --- several at once

TEST(Precedence, DeadRankAndDeadLinkAreTwoFindings) {
  Cluster c(6, 2);
  c.state(5, ProcessState::kGone, 3).wait(0, 5, 0, 3).stick(4, 5, 0, 3);
  c.port_down(2, 1, 3).stick(1, 2, 1, 3);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
  EXPECT_EQ(found[1].subclass, "port_down");
}

TEST(Precedence, StoppedProcessAndLinkFaultAreBothToldIfEachHasItsOwnEvidence) {
  Cluster c(6, 1);
  c.stick(0, 1, 0, 3).stick(1, 2, 0, 3);
  c.state(4, ProcessState::kStopped, 3).wait(5, 4, 0, 3);
  const auto found = incidents(c.diagnose());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].cls, Class::kRankHung);
  EXPECT_EQ(found[1].cls, Class::kLink);
  EXPECT_THAT(edges(found[1].culprit), ElementsAre("host1/0"));
}

}  // namespace
}  // namespace railwitness::diagnose
