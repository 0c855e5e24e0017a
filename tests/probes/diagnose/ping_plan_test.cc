#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "tests/probes/diagnose/cluster.h"

namespace railwitness::diagnose {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<model::PingRequest> plan(const Cluster& c) {
  return plan_pings(c.all(), c.diagnose(), Thresholds{}, 5);
}

TEST(PingPlan, NothingIsProbedInAHealthyCluster) {
  EXPECT_THAT(plan(Cluster(4, 2)), IsEmpty());
}

TEST(PingPlan, SmallRailIsProbedCompletelyAndOnlyTheSuspectedOne) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4);
  const auto requests = plan(c);
  EXPECT_THAT(requests, SizeIs(12));
  for (const auto& request : requests) {
    EXPECT_EQ(request.id, 5u);
    EXPECT_NE(request.from_node, request.to_node);
    EXPECT_EQ(request.device.substr(request.device.size() - 2), "r1");
    EXPECT_EQ(request.to.gid, Cluster::gid(request.to_node.back() - '0', 1));
  }
}

TEST(PingPlan, LargeRailIsProbedFromTheSuspectsWithWitnesses) {
  Cluster c(40, 1);
  c.stick(11, 12, 0, 1.4);
  const auto requests = plan(c);
  EXPECT_LE(requests.size(), 64u);
  std::map<std::string, std::set<std::string>> asked;
  for (const auto& request : requests) asked[request.from_node].insert(request.to_node);
  EXPECT_GE(asked["host11"].size(), 3u);
  EXPECT_GE(asked["host12"].size(), 3u);
  size_t among_witnesses = 0;
  for (const auto& request : requests) {
    const auto suspected = [](const std::string& name) { return name == "host11" || name == "host12"; };
    among_witnesses += !suspected(request.from_node) && !suspected(request.to_node);
  }
  EXPECT_GE(among_witnesses, 2u);
}

TEST(PingPlan, ManySuspectsOnManyRailsStayBelowTheBound) {
  Cluster c(40, 4);
  for (int r = 0; r < 4; ++r) c.everybody_waits(r, 3);
  const auto requests = plan(c);
  EXPECT_EQ(requests.size(), 64u);
  std::set<std::string> rails;
  for (const auto& request : requests) rails.insert(request.device.substr(request.device.find("r", 4)));
  EXPECT_THAT(rails, SizeIs(4));
}

TEST(PingPlan, PortThatIsDownNeedsNoProbe) {
  Cluster c(4, 2);
  c.port_down(2, 1, 2).stick(1, 2, 1, 1.5);
  EXPECT_THAT(plan(c), IsEmpty());
}

TEST(PingPlan, WaitForARankIsProbedOverThePairsThatWait) {
  Cluster c(4, 2);
  c.wait(3, 2, 1, 3);
  const auto requests = plan(c);
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].device.substr(6), "r1");
}

TEST(PingPlan, NodesThatDoNotAnswerProbesOrAreSilentAreNotAsked) {
  Cluster c(4, 2);
  c.stick(1, 2, 1, 1.4);
  c.facts(0).ping_ports.clear();
  c.heard(3).age_ns = 60 * kSecond;
  EXPECT_THAT(plan(c), SizeIs(2));
}

}  // namespace
}  // namespace railwitness::diagnose
