#include "probes/fabric/findings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hand_fabric.h"
#include "probes/fabric/counter_kind.h"

namespace railwitness::fabric {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Findings, AWholeFabricHasNone) {
  EXPECT_THAT(told(judged({whole_fabric().facts})), IsEmpty());
  EXPECT_THAT(told(judged({whole_fabric({20, 25, 8, 1, {0, 1, 2, 3, 6, 7, 8, 9}}).facts})), IsEmpty());
}

TEST(Findings, TwoNicsInEachOthersPlaceAreSwapped) {
  HandFabric fabric = whole_fabric();
  fabric.move("node-03 mlx5_3", "leaf-r3", 3);
  fabric.move("node-03 mlx5_4", "leaf-r2", 3);
  fabric.cut("leaf-r3", 3), fabric.cut("leaf-r2", 3);
  fabric.link("node-03 mlx5_3", 1, "leaf-r3", 3);
  fabric.link("node-03 mlx5_4", 1, "leaf-r2", 3);
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("swapped: node-03 mlx5_3, node-03 mlx5_4"));
  EXPECT_THAT(judgement.findings[0].wanted, ElementsAre("leaf-r2:3", "leaf-r3:3"));
}

TEST(Findings, AWrongLeafComesWithTheLeafAndPortThatAreWanted) {
  HandFabric fabric = whole_fabric();
  fabric.move("node-05 mlx5_5", "leaf-r2", 20);
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("wrong-leaf: node-05 mlx5_5, leaf-r2:20"));
  EXPECT_THAT(judgement.findings[0].wanted, ElementsAre("leaf-r4:5"));
  EXPECT_THAT(judgement.findings[0].evidence, testing::Contains("7 of 8 hosts of this unit have mlx5_5 in leaf-r4"));
}

TEST(Findings, ALeafOfAnotherUnitIsSaidSo) {
  HandFabric fabric = whole_fabric({8, 2, 4, 2, {0, 3, 4, 5}});
  fabric.move("node-05u1 mlx5_5", "leaf-u2-r4", 20);
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("other-unit: node-05u1 mlx5_5, leaf-u2-r4:20"));
}

TEST(Findings, AHostThatLacksARailOfItsTwinsIsNamedWithItsPlace) {
  HandFabric fabric = whole_fabric();
  fabric.cut("node-07 mlx5_5", 1);
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("missing-link: node-07 mlx5_5"));
  EXPECT_THAT(judgement.findings[0].wanted, ElementsAre("leaf-r4:7"));
}

TEST(Findings, ALeafThatIsGoneIsOneFindingOfAllItsHosts) {
  HandFabric fabric = whole_fabric({4, 3, 4, 2, {0, 3, 4, 5}});
  for (uint32_t port = 1; port <= 40; ++port) fabric.cut("leaf-u2-r3", port);
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("missing-link: node-01u2 mlx5_4, node-02u2 mlx5_4, node-03u2 mlx5_4, node-04u2 mlx5_4"));
  EXPECT_THAT(judgement.findings[0].rails, ElementsAre(2));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("the 4 hosts of unit 1 have no rail 2: node-01u2 mlx5_4 to node-04u2 mlx5_4 are not there"));
}

// Rails with spines of their own: the plane of the leaf that is gone lacks nothing else.
TEST(Findings, APlaneThatLacksALeafWhichIsToldIsNoFurtherFinding) {
  HandFabric fabric = whole_fabric({4, 3, 0, 2, {0, 3, 4}});
  for (uint32_t rail = 1; rail <= 3; ++rail) {
    for (uint32_t unit = 1; unit <= 3; ++unit) {
      for (uint32_t s = 1; s <= 4; ++s) fabric.link(fmt::format("leaf-u{}-r{}", unit, rail), 32 + s, fmt::format("spine-{}-{}", rail, s), unit);
    }
  }
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
  for (uint32_t port = 1; port <= 40; ++port) fabric.cut("leaf-u2-r3", port);
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre(HasSubstr("missing-link: node-01u2 mlx5_4")));
}

// As it would be where one unit was built with a NIC more.
TEST(Findings, ALeafThatOneOfTwoUnitsHasNotIsANote) {
  HandFabric fabric = whole_fabric({4, 2, 4, 2, {0, 3, 4, 5}});
  for (uint32_t port = 1; port <= 40; ++port) fabric.cut("leaf-u2-r3", port);
  const Judgement judgement = judged({fabric.facts});
  EXPECT_THAT(told(judgement), IsEmpty());
  EXPECT_THAT(judgement.notes, ElementsAre(HasSubstr("the 4 hosts of unit 1 have no rail 2")));
}

TEST(Findings, ACableInTheWrongSpineIsTheEvidenceOfTheMissingOne) {
  HandFabric fabric = whole_fabric();
  fabric.cut("leaf-r4", 35);                  // to spine-2
  fabric.link("leaf-r4", 35, "spine-3", 40);  // and is in spine-3
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("missing-switch-link: leaf-r4, spine-2"));
  EXPECT_THAT(judgement.findings[0].evidence, Contains("leaf-r4 and spine-3 have 3: a cable may be in the wrong switch"));
}

TEST(Findings, AHostOfAnotherKindLacksNothing) {
  HandFabric fabric = whole_fabric({8, 1, 4, 2, {0, 1, 2, 3, 6, 7, 8, 9}});
  fabric.link("mgmt-01 mlx5_1", 1, "leaf-r5", 20);
  fabric.link("mgmt-02 mlx5_0", 1, "leaf-r3", 21);
  fabric.link("mgmt-02 mlx5_1", 1, "leaf-r4", 21);
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, FewerCablesBetweenTwoSwitchesThanBetweenTheirTwinsAreMissing) {
  HandFabric fabric = whole_fabric();
  fabric.cut("leaf-r4", 35);  // to spine-2
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("missing-switch-link: leaf-r4, spine-2"));
  EXPECT_THAT(judgement.findings[0].wanted, ElementsAre("leaf-r4:35", "spine-2:7"));
}

TEST(Findings, TwoSwitchesWithoutAnyCableAreToldWhereTheirTwinsHaveOne) {
  HandFabric fabric = whole_fabric();
  fabric.cut("leaf-r4", 35), fabric.cut("leaf-r4", 36);
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("missing-switch-link: leaf-r4, spine-2"));
}

// 2110 switches; more than 2048 were not compared before.
TEST(Findings, TwoSwitchesWithoutAnyCableAreToldInALargeFabricToo) {
  HandFabric fabric = whole_fabric({2, 260, 30, 1, {0, 3, 4, 5, 6, 7, 8, 9}});
  fabric.cut("leaf-u7-r4", 40);  // to spine-8
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("missing-switch-link: leaf-u7-r4, spine-8"));
}

TEST(Findings, SwitchesInARingLackNothing) {
  HandFabric fabric;
  for (int i = 0; i < 6; ++i) fabric.link(fmt::format("sw-{}", i), 1, fmt::format("sw-{}", (i + 1) % 6), 2);
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, ALinkBelowTheOthersOfBothEndsIsSlowOrNarrow) {
  HandFabric fabric = whole_fabric();
  for (const char* name : {"node-02 mlx5_0", "leaf-r1"}) fabric.at(name, name[0] == 'n' ? 1 : 2).lane_mbps = 53'125;
  fabric.at("leaf-r1", 38).lanes = fabric.at("spine-3", 2).lanes = 1;
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("narrow: leaf-r1:38, spine-3:2", "slow: leaf-r1:2, node-02 mlx5_0"));
}

TEST(Findings, AHostThatIsSlowerAsAWholeIsAnOlderOneAndNoFinding) {
  HandFabric fabric = whole_fabric();
  for (int rail = 0; rail < 4; ++rail) {
    fabric.at(fmt::format("node-02 mlx5_{}", Shape{}.nics[static_cast<size_t>(rail)]), 1).lane_mbps = 53'125;
    fabric.at(fmt::format("leaf-r{}", rail + 1), 2).lane_mbps = 53'125;
  }
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, ASplitPortOfTwoLanesAmongItsLikeIsWhole) {
  HandFabric fabric = whole_fabric();
  for (model::FabricPort& port : fabric.facts.ports) port.lanes = 2;
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, WhatMostCablesCouldBeIsNoFaultOfEachAndIsNoted) {
  HandFabric fabric = whole_fabric();
  for (model::FabricPort& port : fabric.facts.ports) port.could_be_lanes = 12, port.could_be_lane_mbps = 212'500;
  fabric.at("node-02 mlx5_0", 1).lanes = fabric.at("leaf-r1", 2).lanes = 2;
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("narrow: leaf-r1:2, node-02 mlx5_0"));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("runs at 2xNDR, 4xNDR is usual"));
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("most cables could be wider (64) or faster (64)")));
}

TEST(Findings, ACableThatCouldBeMoreThanItsTwinsIsOneWithoutAMajority) {
  HandFabric fabric = whole_fabric();
  for (model::FabricPort* port : {&fabric.at("node-02 mlx5_0", 1), &fabric.at("leaf-r1", 2)}) port->could_be_lane_mbps = 212'500;
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("slow: leaf-r1:2, node-02 mlx5_0"));
}

TEST(Findings, EachSaysTheRailsThatItTakesANicFrom) {
  HandFabric fabric = whole_fabric();
  fabric.move("node-05 mlx5_5", "leaf-r2", 20);             // rail 3
  fabric.cut("node-07 mlx5_0", 1);                          // rail 0
  fabric.cut("leaf-r4", 35), fabric.cut("leaf-r4", 36);     // rail 3
  fabric.at("leaf-r2", 4).counters["SymbolErrorCounter"] = {912, false};  // rail 1
  std::map<std::string, std::vector<int>> rails;
  for (const Finding& finding : judged({fabric.facts}).findings) rails[std::string(word(finding.kind))] = finding.rails;
  EXPECT_EQ(rails, (std::map<std::string, std::vector<int>>{
                       {"wrong-leaf", {3}}, {"missing-link", {0}}, {"missing-switch-link", {3}}, {"cable-errors", {1}}}));
}

TEST(Findings, EndsThatDisagreeAreToldAndNotChosenBetween) {
  HandFabric fabric = whole_fabric();
  fabric.at("leaf-r1", 38).lanes = 1;
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("ends-disagree: leaf-r1:38, spine-3:2"));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("leaf-r1:38 says 1xNDR, spine-3:2 says 4xNDR"));
}

TEST(Findings, ErrorsAtBothEndsOfACableAreOne) {
  HandFabric fabric = whole_fabric();
  fabric.at("node-04 mlx5_3", 1).counters["PortRcvErrors"] = {120, false};
  fabric.at("leaf-r2", 4).counters["SymbolErrorCounter"] = {65'535, true};
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(told(judgement), ElementsAre("cable-errors: leaf-r2:4, node-04 mlx5_3"));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("65535 or more (saturated)"));
}

TEST(Findings, DiscardsAreCongestionAndRelayErrorsAndWaitsAreNothing) {
  HandFabric fabric = whole_fabric();
  fabric.at("spine-1", 5).counters = {{"PortXmitDiscards", {48'233, false}}, {"PortXmitWait", {4'294'967'295, true}}};
  fabric.at("leaf-r2", 5).counters = {{"PortXmitWait", {4'294'967'295, true}}};
  fabric.at("leaf-r1", 1).counters["PortRcvSwitchRelayErrors"] = {3'000, false};
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("congestion: leaf-r3:33, spine-1:5"));
}

TEST(Findings, GrowthOfACounterIsToldAndAnOldOneThatStandsStillIsNot) {
  HandFabric before = whole_fabric(), after = whole_fabric();
  after.facts.source.wall_ns = *before.facts.source.wall_ns + 3'600'000'000'000;
  for (HandFabric* fabric : {&before, &after}) {
    fabric->at("leaf-r1", 1).counters["LinkDownedCounter"] = {40, false};
    fabric->at("leaf-r1", 2).counters["SymbolErrorCounter"] = {fabric == &before ? 40u : 90u, false};
  }
  const Judgement judgement = judged({before.facts, after.facts});
  ASSERT_THAT(told(judgement), ElementsAre("cable-errors: leaf-r1:2, node-02 mlx5_0"));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("50 more than before"));
}

TEST(Findings, CountersAreKnownUnderAllTheirNames) {
  for (const char* name : {"SymbolErrorCounter", "symbol_error", "SymbolErrors", "port_rcv_errors", "LinkDownedCounterExt"}) {
    EXPECT_EQ(kind_of_counter(name).of, CounterKind::Of::kCable) << name;
  }
  EXPECT_EQ(kind_of_counter("port_xmit_discards").of, CounterKind::Of::kCongestion);
  for (const char* name : {"PortXmitData", "PortRcvSwitchRelayErrors", "PortXmitWait", ""}) {
    EXPECT_EQ(kind_of_counter(name).of, CounterKind::Of::kOther) << name;
  }
}

TEST(Findings, EmptyAndDisabledPortsAreNone) {
  HandFabric fabric = whole_fabric();
  fabric.at("leaf-r1", 20).state = model::PortState::kDown;
  fabric.at("leaf-r1", 21).state = model::PortState::kDisabled;
  fabric.at("node-01 mlx5_0", 2).state = model::PortState::kDown;
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, ASelfLoopAndADanglingPeerBreakNothing) {
  HandFabric fabric = whole_fabric();
  fabric.link("leaf-r1", 25, "leaf-r1", 26);
  fabric.link("leaf-r1", 27, "leaf-r1", 27);
  fabric.facts.links.push_back({fabric.port("leaf-r2", 25), 1'000'000, true, {}, 0});
  const Judgement judgement = judged({fabric.facts});
  EXPECT_THAT(told(judgement), IsEmpty());
  EXPECT_THAT(judgement.notes, ElementsAre(HasSubstr("leaf-r1:25 - leaf-r1:26")));
}

TEST(Findings, OneHostAloneIsNoFabricAndNotAHealthyOne) {
  HandFabric fabric;
  fabric.device("node-01 mlx5_0");
  const Judgement judgement = judged({fabric.facts});
  EXPECT_FALSE(judgement.is_fabric_seen);
  EXPECT_THAT(told(judgement), ElementsAre("no-fabric: node-01 mlx5_0"));
}

TEST(Findings, LldpWithoutNeighboursIsNoInformation) {
  model::FabricFacts facts;
  facts.source.kind = "lldp";
  const Judgement judgement = judged({facts});
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_THAT(judgement.notes, ElementsAre(HasSubstr("no information")));
}

TEST(Findings, TwoSwitchesOfOneNameAreTwoAndTold) {
  HandFabric fabric = whole_fabric();
  const size_t twin = fabric.device("other");
  fabric.link("node-01 mlx5_9", 1, "other", 9);
  fabric.facts.devices[twin].name = "leaf-r1";
  const Judgement judgement = judged({fabric.facts});
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_EQ(judgement.findings[0].kind, FindingKind::kDuplicateName);
}

TEST(Findings, FactoryNamesAreNobodysAndNoDuplicates) {
  HandFabric fabric = whole_fabric();
  for (uint32_t i = 0; i < 3; ++i) {
    fabric.link(fmt::format("x mlx5_{}", i + 90), 1, "leaf-r1", 20 + i);
    model::FabricDevice& device = fabric.facts.devices[fabric.device(fmt::format("x mlx5_{}", i + 90))];
    device.host.clear(), device.nic.clear(), device.name = "MT4129 ConnectX7   Mellanox Technologies";
  }
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Findings, PlanesThatAreNotAlikeAreTold) {
  HandFabric fabric;
  for (int plane = 0; plane < 3; ++plane) {
    for (uint32_t h = 1; h <= 4; ++h) fabric.link(fmt::format("node-{} mlx5_{}", h, plane), 1, fmt::format("leaf-{}", plane), h);
    for (uint32_t s = 1; s <= 3; ++s) {
      if (plane == 2 && s == 3) continue;
      fabric.link(fmt::format("leaf-{}", plane), 30 + s, fmt::format("spine-{}-{}", plane, s), 1);
    }
  }
  EXPECT_THAT(told(judged({fabric.facts})), ElementsAre("unequal-planes: plane of leaf-2"));
}

TEST(Findings, IdentitiesAreTheSameFromEverySourceAndInEveryOrder) {
  HandFabric fabric = whole_fabric(), other = whole_fabric();
  for (HandFabric* one : {&fabric, &other}) {
    one->move("node-05 mlx5_5", "leaf-r2", 20);
    one->cut("leaf-r4", 35);
  }
  other.facts.source.kind = "iblinkinfo";
  for (model::FabricDevice& device : other.facts.devices) device.guid.clear();
  const auto ids = [](const Judgement& judgement) {
    std::vector<std::string> out;
    for (const Finding& finding : judgement.findings) out.push_back(finding.id);
    return out;
  };
  const std::vector<std::string> one = ids(judged({fabric.facts}));
  EXPECT_THAT(one, SizeIs(2));
  EXPECT_EQ(one, ids(judged({other.facts})));
  EXPECT_EQ(one, ids(judged({fabric.facts, other.facts})));
  EXPECT_EQ(one, ids(judged({other.facts, fabric.facts})));
}

}  // namespace
}  // namespace railwitness::fabric
