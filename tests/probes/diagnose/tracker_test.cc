#include "probes/diagnose/tracker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace railwitness::diagnose {
namespace {

using model::Class;
using model::Component;
using model::ComponentKind;
using model::Finding;
using model::IncidentState;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kNow = 1'790'000'000'000'000'000;
constexpr int64_t kStep = 500'000'000;

Component edge(const char* node, const char* device = "d0") {
  Component c;
  c.kind = ComponentKind::kEdge;
  c.node = node;
  c.device = device;
  c.port = 1;
  c.rail = 0;
  c.switch_name = "leaf";
  return c;
}

Component rank(int32_t r) {
  Component c;
  c.kind = ComponentKind::kRank;
  c.node = "n" + std::to_string(r);
  c.rank = r;
  return c;
}

Finding finding(Class cls, std::vector<Component> culprit, IncidentState state = IncidentState::kSuspected) {
  Finding out;
  out.cls = cls;
  out.culprit = std::move(culprit);
  out.state = state;
  out.job = "job";
  out.onset_wall_ns = kNow - 1'000'000'000;
  return out;
}

// A suspicion that has been there for as long as it takes to be said at `now`; everything that was said on the way.
Changes said(Tracker& tracker, const std::vector<Finding>& findings, int64_t now) {
  Changes all;
  for (int64_t at = now - Tracker::kPersistNs; at <= now; at += Tracker::kPersistNs / 4) {
    const Changes changes = tracker.update(findings, at);
    all.incidents.insert(all.incidents.end(), changes.incidents.begin(), changes.incidents.end());
    all.waits.insert(all.waits.end(), changes.waits.begin(), changes.waits.end());
  }
  return all;
}

TEST(Tracker, SaysNothingOfASuspicionThatHealsWithinASecond) {
  Tracker tracker("t");
  const auto found = finding(Class::kLink, {edge("a"), edge("b")});
  EXPECT_THAT(tracker.update({found}, kNow).incidents, IsEmpty());
  EXPECT_THAT(tracker.update({found}, kNow + Tracker::kPersistNs - 1).incidents, IsEmpty());
  EXPECT_THAT(tracker.update({}, kNow + 2 * Tracker::kPersistNs).incidents, IsEmpty());
  EXPECT_THAT(tracker.update({found}, kNow + 3 * Tracker::kPersistNs).incidents, IsEmpty());
  EXPECT_THAT(tracker.open(), IsEmpty());
}

TEST(Tracker, SaysAtOnceWhatIsConfirmed) {
  Tracker tracker("t");
  const auto found = finding(Class::kLink, {edge("a")}, IncidentState::kConfirmed);
  EXPECT_THAT(tracker.update({found}, kNow).incidents, SizeIs(1));
}

TEST(Tracker, SaysANewIncidentOnce) {
  Tracker tracker("t");
  const auto found = finding(Class::kLink, {edge("a"), edge("b")});
  const Changes first = said(tracker, {found}, kNow);
  ASSERT_THAT(first.incidents, SizeIs(1));
  EXPECT_EQ(first.incidents[0].id, "20260921T141320-t-0001");
  EXPECT_EQ(first.incidents[0].onset_wall_ns, kNow - 1'000'000'000);
  for (int i = 1; i < 20; ++i) EXPECT_THAT(tracker.update({found}, kNow + i * kStep).incidents, IsEmpty());
  EXPECT_THAT(tracker.open(), SizeIs(1));
}

TEST(Tracker, SharperCulpritContinuesTheSameIncident) {
  Tracker tracker("t");
  const std::string id = said(tracker, {finding(Class::kLink, {edge("a"), edge("b")})}, kNow).incidents[0].id;
  const auto sharper = tracker.update({finding(Class::kLink, {edge("b")}, IncidentState::kConfirmed)}, kNow + kStep);
  ASSERT_THAT(sharper.incidents, SizeIs(1));
  EXPECT_EQ(sharper.incidents[0].id, id);
  EXPECT_EQ(sharper.incidents[0].state, IncidentState::kConfirmed);
  EXPECT_THAT(sharper.incidents[0].finding.culprit, SizeIs(1));
}

TEST(Tracker, WhatWasKnownBetterBeforeStays) {
  Tracker tracker("t");
  said(tracker, {finding(Class::kLink, {edge("b")}, IncidentState::kConfirmed)}, kNow);
  EXPECT_THAT(tracker.update({finding(Class::kLink, {edge("a"), edge("b")})}, kNow + kStep).incidents, IsEmpty());
  EXPECT_EQ(tracker.open()[0].state, IncidentState::kConfirmed);
  EXPECT_THAT(tracker.open()[0].finding.culprit, SizeIs(1));
}

TEST(Tracker, SwitchAndItsEdgesAreOneCause) {
  Tracker tracker("t");
  const std::string id = said(tracker, {finding(Class::kLink, {edge("a"), edge("b")})}, kNow).incidents[0].id;
  Component leaf;
  leaf.kind = ComponentKind::kSwitch;
  leaf.switch_name = "leaf";
  const auto changes = tracker.update({finding(Class::kSwitch, {leaf})}, kNow + kStep);
  ASSERT_THAT(changes.incidents, SizeIs(1));
  EXPECT_EQ(changes.incidents[0].id, id);
  EXPECT_EQ(changes.incidents[0].finding.cls, Class::kSwitch);
}

TEST(Tracker, TwoCausesAreTwoIncidentsAndKeepTheirIds) {
  Tracker tracker("t");
  const auto a = finding(Class::kLink, {edge("a", "d0")}), b = finding(Class::kLink, {edge("b", "d1")});
  const auto first = said(tracker, {a, b}, kNow).incidents;
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_THAT(tracker.update({b, a}, kNow + kStep).incidents, IsEmpty());
  EXPECT_THAT(tracker.open(), SizeIs(2));
}

TEST(Tracker, SuspicionThatTurnsOutToBeADeadRankIsOneIncident) {
  Tracker tracker("t");
  Component at = edge("n2");
  const std::string id = said(tracker, {finding(Class::kLink, {edge("n1"), at})}, kNow).incidents[0].id;
  const auto changes = tracker.update({finding(Class::kRankDead, {rank(2)}, IncidentState::kConfirmed)}, kNow + kStep);
  ASSERT_THAT(changes.incidents, SizeIs(1));
  EXPECT_EQ(changes.incidents[0].id, id);
  EXPECT_EQ(changes.incidents[0].finding.cls, Class::kRankDead);
}

TEST(Tracker, ConfirmedIncidentRecovers) {
  Tracker tracker("t");
  said(tracker, {finding(Class::kLink, {edge("a")}, IncidentState::kConfirmed)}, kNow);
  EXPECT_THAT(tracker.update({}, kNow + Tracker::kQuietNs - 1).incidents, IsEmpty());
  const auto changes = tracker.update({}, kNow + Tracker::kQuietNs);
  ASSERT_THAT(changes.incidents, SizeIs(1));
  EXPECT_EQ(changes.incidents[0].state, IncidentState::kRecovered);
  EXPECT_EQ(changes.incidents[0].recovered_wall_ns, kNow);
  EXPECT_THAT(tracker.open(), IsEmpty());
}

TEST(Tracker, SuspicionIsWithdrawnIfItsJobIsStuckForAnotherReason) {
  Tracker tracker("t");
  said(tracker, {finding(Class::kLink, {edge("a")})}, kNow);
  Finding wait = finding(Class::kWait, {rank(3)});
  const auto changes = tracker.update({wait}, kNow + Tracker::kQuietNs);
  ASSERT_THAT(changes.incidents, SizeIs(1));
  EXPECT_EQ(changes.incidents[0].state, IncidentState::kWithdrawn);
}

TEST(Tracker, SuspicionRecoversIfItsJobMovesAgain) {
  Tracker tracker("t");
  said(tracker, {finding(Class::kLink, {edge("a")})}, kNow);
  EXPECT_EQ(tracker.update({}, kNow + Tracker::kQuietNs).incidents[0].state, IncidentState::kRecovered);
}

TEST(Tracker, SameCauseAfterRecoveryIsANewIncident) {
  Tracker tracker("t");
  const auto found = finding(Class::kLink, {edge("a")}, IncidentState::kConfirmed);
  const std::string first = said(tracker, {found}, kNow).incidents[0].id;
  tracker.update({}, kNow + Tracker::kQuietNs);
  EXPECT_NE(tracker.update({found}, kNow + 2 * Tracker::kQuietNs).incidents[0].id, first);
}

TEST(Tracker, WaitsAreSaidOnceAndAgainForAnotherCulprit) {
  Tracker tracker("t");
  EXPECT_THAT(said(tracker, {finding(Class::kWait, {rank(2)})}, kNow).waits, SizeIs(1));
  EXPECT_THAT(tracker.update({finding(Class::kWait, {rank(2)})}, kNow + kStep).waits, IsEmpty());
  EXPECT_THAT(said(tracker, {finding(Class::kWait, {rank(1)})}, kNow + 2 * kStep).waits, SizeIs(1));
  EXPECT_THAT(tracker.open(), IsEmpty());
}

TEST(Tracker, AWaitThatIsSeenOnceIsNotSaid) {
  Tracker tracker("t");
  const auto wait = finding(Class::kWait, {rank(2)});
  EXPECT_THAT(tracker.update({wait}, kNow).waits, IsEmpty());
  EXPECT_THAT(tracker.update({}, kNow + Tracker::kSeenAgainNs).waits, IsEmpty());
  EXPECT_THAT(tracker.update({wait}, kNow + Tracker::kSeenAgainNs + Tracker::kQuietNs).waits, IsEmpty()) << "another one";
  EXPECT_THAT(tracker.update({wait}, kNow + 2 * Tracker::kSeenAgainNs + Tracker::kQuietNs).waits, SizeIs(1));
}

}  // namespace
}  // namespace railwitness::diagnose
