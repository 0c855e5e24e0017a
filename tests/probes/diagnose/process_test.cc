// Healthy jobs, and processes that ended or stopped.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "tests/probes/diagnose/cluster.h"
#include "tests/probes/diagnose/findings.h"

namespace railwitness::diagnose {
namespace {

using model::Class;
using model::ComponentKind;
using model::IncidentState;
using model::ProcessState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- nothing is wrong

TEST(Diagnose, NoFactsAreNoFindings) {
  EXPECT_THAT(diagnose({}, Thresholds{}, kNow), IsEmpty());
  EXPECT_THAT(diagnose({model::Heard{}}, Thresholds{}, kNow), IsEmpty());
}

TEST(Diagnose, HealthyIdleJobIsNothing) {
  EXPECT_THAT(Cluster(4, 2).diagnose(), IsEmpty());
}

TEST(Diagnose, HealthyBusyJobIsNothing) {
  Cluster c(4, 2);
  for (int r = 0; r < 2; ++r) {
    c.everybody_waits(r, 0.01);
    for (int h = 0; h < 4; ++h) c.stick(h, (h + 1) % 4, r, 0.02).completed(h, (h + 1) % 4, r, 0.001);
  }
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, CheckpointOfAllRanksIsNothing) {
  Cluster c(4, 2);
  for (int h = 0; h < 4; ++h) c.state(h, ProcessState::kDiskSleep, 60);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, JobThatEndedIsNothing) {
  Cluster c(4, 2);
  for (int h = 0; h < 4; ++h) c.state(h, ProcessState::kGone, 5).everybody_waits(0, 30);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, RankThatEndsBeforeTheOthersAtTheEndOfTheJobIsNothing) {
  Cluster c(4, 2);
  c.state(1, ProcessState::kGone, 5);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, IdleJobWithAStoppedProcessOrAPortDownIsNothing) {
  Cluster c(4, 2);
  c.state(2, ProcessState::kStopped, 30).port_down(1, 1, 30);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, DestroyedFlowsAreNothing) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 5);
  for (int h = 0; h < 4; ++h) {
    for (model::Flow& flow : c.process_of(h).flows) flow.destroyed = true;
  }
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(Diagnose, PostThatIsTheFirstOfItsQueuePairGetsMoreTime) {
  Cluster c(4, 1);
  c.stick(1, 2, 0, 2, 1);
  c.data(1, 2, 0).completed = 0;
  EXPECT_THAT(incidents(c.diagnose()), IsEmpty());
  c.stick(1, 2, 0, 3.5, 1);
  EXPECT_THAT(incidents(c.diagnose()), SizeIs(1));
}

// --- processes

TEST(RankDead, ProcessThatExitedWhilePeersDependOnItIsTheCulprit) {
  Cluster c(4, 2);
  c.state(2, ProcessState::kGone, 3.1).stick(1, 2, 1, 2.9);
  c.wait(3, 2, 1, 3).wait(0, 3, 1, 3).wait(1, 0, 1, 3);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
  EXPECT_EQ(found[0].subclass, "exited");
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
  ASSERT_THAT(found[0].culprit, SizeIs(1));
  EXPECT_EQ(found[0].culprit[0].rank, 2);
  EXPECT_EQ(found[0].culprit[0].node, "host2");
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(0, 1, 3));
  EXPECT_EQ(found[0].job, "train");
  EXPECT_TRUE(says(found[0], "rank 2 on host2 (pid 1002) has exited"));
  EXPECT_TRUE(says(found[0], "3 posts unfinished, oldest 2.9 s"));
  EXPECT_TRUE(exonerates(found[0], ComponentKind::kEdge, "host2"));
  EXPECT_NEAR(static_cast<double>(kNow - found[0].onset_wall_ns) / 1e9, 3.1, 0.01);
}

TEST(RankDead, ZombieCountsAsExited) {
  Cluster c(2, 1);
  c.state(1, ProcessState::kZombie, 2).wait(0, 1, 0, 2);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
}

TEST(RankDead, ProcessThatClosedItsQueuePairsAndLeftEarlyIsTheCulprit) {
  Cluster c(4, 1);
  c.state(2, ProcessState::kGone, 4).wait(3, 2, 0, 3);
  for (model::Flow& flow : c.process_of(2).flows) flow.destroyed = true;
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
}

TEST(RankDead, SuccessorWithTheSameQueuePairNumbersIsNotMistakenForTheDead) {
  Cluster c(2, 1);
  c.facts(1).processes.push_back(c.process_of(1));  // the same flows again: an earlier life of the job
  c.facts(1).processes[1].state = ProcessState::kGone;
  c.facts(1).processes[1].pid = 900;
  c.wait(0, 1, 0, 3);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kWait);
}

TEST(RankDead, ProcessThatGaveUpBecauseItsPathFailedIsNotTheCulprit) {
  Cluster c(4, 1);
  for (const auto& [at, other] : {std::pair{1, 2}, std::pair{2, 3}}) {
    c.data(at, other, 0).first_error = model::FlowError{12, 0, c.ago(at, 5)};
  }
  c.state(1, ProcessState::kGone, 4).state(2, ProcessState::kGone, 4).wait(3, 2, 0, 40).wait(0, 3, 0, 40);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kLink);
  EXPECT_THAT(edges(found[0].culprit), ElementsAre("host2/0"));
}

TEST(RankDead, ProcessThatGaveUpBecauseItsPeerDiedIsAnEcho) {
  Cluster c(4, 1);
  c.state(2, ProcessState::kGone, 40).data(1, 2, 0).first_error = model::FlowError{12, 0, c.ago(1, 5)};
  c.state(1, ProcessState::kGone, 4).wait(3, 2, 0, 40);
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankDead);
  EXPECT_EQ(found[0].culprit[0].rank, 2);
}

TEST(RankHung, StoppedProcessThatPeersWaitForIsTheCulpritAndTheFabricIsNot) {
  Cluster c(4, 2);
  c.state(2, ProcessState::kStopped, 2.5);
  for (int r = 0; r < 2; ++r) c.wait(3, 2, r, 2.2).wait(0, 3, r, 2.2).wait(1, 0, r, 2.2);
  c.wait(2, 1, 0, 2.2);  // it had a receive outstanding itself
  const auto found = c.diagnose();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankHung);
  EXPECT_EQ(found[0].subclass, "stopped");
  EXPECT_EQ(found[0].state, IncidentState::kConfirmed);
  EXPECT_EQ(found[0].culprit[0].rank, 2);
  EXPECT_THAT(found[0].ranks_blocked, ElementsAre(0, 1, 3));
  EXPECT_THAT(edges(found[0].exonerated), ElementsAre("host2/0", "host2/1"));
}

TEST(RankHung, UnfinishedPostsOfAStoppedProcessSayNothingOfTheWire) {
  Cluster c(4, 1);
  c.state(2, ProcessState::kStopped, 9).stick(2, 3, 0, 8);
  const auto found = incidents(c.diagnose());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankHung);
}

TEST(RankHung, BriefStopIsNothing) {
  Cluster c(4, 1);
  c.state(2, ProcessState::kStopped, 0.3).wait(3, 2, 0, 0.3);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

TEST(RankHung, OneNodeAloneSuspectsItsStoppedProcessWithUnfinishedWork) {
  Cluster c(4, 1);
  c.state(2, ProcessState::kStopped, 3).wait(2, 1, 0, 3);
  const auto found = diagnose(c.heard_from({2}), Thresholds{}, kNow);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankHung);
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
}

TEST(RankHung, ProcessThatNoLongerPollsIsSuspectedAndTheWireIsNot) {
  Cluster c(4, 1);
  c.stick(2, 3, 0, 4);
  model::CallThread thread;
  thread.polls = 1000;
  thread.last_change_mono_ns = c.ago(2, 4);
  c.process_of(2).threads.push_back(thread);
  const auto found = incidents(c.diagnose());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cls, Class::kRankHung);
  EXPECT_EQ(found[0].subclass, "not_polling");
  EXPECT_EQ(found[0].state, IncidentState::kSuspected);
  c.facts(2).late_ns = 2'000'000'000;
  EXPECT_THAT(incidents(c.diagnose()), IsEmpty()) << "its sidecar was starved, and so was it";
}

// --- what a job may claim

TEST(Trust, QueuePairsThatSeveralProcessesClaimAreNotJoined) {
  Cluster c(3, 1);
  for (int i = 0; i < 40; ++i) {
    c.facts(1).processes.push_back(c.process_of(1));
    c.facts(1).processes.back().pid = 5000 + i;
  }
  c.wait(2, 1, 0, 5);
  EXPECT_THAT(c.diagnose(), IsEmpty());
}

}  // namespace
}  // namespace railwitness::diagnose
