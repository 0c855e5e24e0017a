#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hand_fabric.h"
#include "probes/fabric/same_port.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

model::FabricFacts plan_of(HandFabric fabric) {
  fabric.facts.is_plan = true;
  fabric.facts.source = {"plan", "plan.csv", {}, {}};
  for (model::FabricDevice& device : fabric.facts.devices) device.guid.clear();
  return fabric.facts;
}

TEST(Plan, AFabricAsPlannedHasNoFinding) {
  EXPECT_THAT(told(judged({whole_fabric().facts, plan_of(whole_fabric())})), IsEmpty());
}

TEST(Plan, FindingsAreThoseOfTheRailPatternWithTheSameIdentities) {
  HandFabric fabric = whole_fabric();
  fabric.cut("node-03 mlx5_3", 1), fabric.cut("node-03 mlx5_4", 1);
  fabric.link("node-03 mlx5_3", 1, "leaf-r3", 3);
  fabric.link("node-03 mlx5_4", 1, "leaf-r2", 3);
  fabric.move("node-05 mlx5_5", "leaf-r2", 20);
  fabric.cut("node-07 mlx5_5", 1);
  fabric.cut("leaf-r4", 35);
  const Judgement without = judged({fabric.facts}), with = judged({fabric.facts, plan_of(whole_fabric())});
  EXPECT_THAT(told(with), ElementsAre("swapped: node-03 mlx5_3, node-03 mlx5_4", "wrong-leaf: node-05 mlx5_5, leaf-r2:20", "missing-link: node-07 mlx5_5",
                                      "missing-switch-link: leaf-r4, spine-2"));
  ASSERT_EQ(told(with), told(without));
  for (size_t i = 0; i < with.findings.size(); ++i) {
    EXPECT_EQ(with.findings[i].id, without.findings[i].id);
    EXPECT_EQ(with.findings[i].wanted, without.findings[i].wanted);
  }
}

TEST(Plan, WhatIsPlannedAgainstThePatternIsRight) {
  HandFabric fabric = whole_fabric();
  fabric.move("node-05 mlx5_5", "leaf-r2", 20);
  EXPECT_THAT(told(judged({fabric.facts, plan_of(fabric)})), IsEmpty());
}

TEST(Plan, ThePortOfTheRightLeafCanBeAnother) {
  HandFabric fabric = whole_fabric();
  fabric.move("node-05 mlx5_5", "leaf-r4", 20);
  EXPECT_THAT(told(judged({fabric.facts, plan_of(whole_fabric())})), ElementsAre("wrong-port: node-05 mlx5_5, leaf-r4:20"));
  EXPECT_THAT(told(judged({fabric.facts})), IsEmpty());
}

TEST(Plan, NicsOfOnePortAreNamedAsWithoutAPlanWhateverItCallsThePort) {
  for (const char* label : {"1", "Port 1"}) {
    HandFabric fabric = whole_fabric(), as_planned = whole_fabric();
    fabric.move("node-05 mlx5_5", "leaf-r4", 20);
    as_planned.at("node-05 mlx5_5", 1).label = label;
    EXPECT_THAT(told(judged({fabric.facts, plan_of(as_planned)})), ElementsAre("wrong-port: node-05 mlx5_5, leaf-r4:20")) << label;
  }
}

TEST(Plan, NamesThatNoSourceHasAreNotedAsTheirCablesAreNotCompared) {
  HandFabric other = whole_fabric();
  for (model::FabricDevice& device : other.facts.devices) device.name = "rack " + device.name, device.host.clear(), device.nic.clear();
  EXPECT_THAT(judged({whole_fabric().facts, plan_of(other)}).notes, ElementsAre(testing::HasSubstr("40 of the plan's 40 devices are in no source")));
  EXPECT_THAT(judged({whole_fabric().facts, plan_of(whole_fabric())}).notes, IsEmpty());
}

TEST(Plan, AHostThatNobodySawIsOneFinding) {
  HandFabric fabric = whole_fabric({7, 1, 4, 2, {0, 3, 4, 5}});
  EXPECT_THAT(told(judged({fabric.facts, plan_of(whole_fabric())})), ElementsAre("missing-link: node-08"));
}

TEST(Plan, ASourceOfOneHostSaysNothingOfOthers) {
  HandFabric one;
  one.facts.source.kind = "lldp";
  for (size_t r = 0; r < 4; ++r) one.link(fmt::format("node-01 mlx5_{}", Shape{}.nics[r]), 1, fmt::format("leaf-r{}", r + 1), 1);
  EXPECT_THAT(told(judged({one.facts, plan_of(whole_fabric())})), IsEmpty());
}

TEST(Plan, NamesOfOnePortAreKnownAcrossMakers) {
  for (const char* name : {"3", "Ethernet3/1", "Ethernet1/3", "etp3", "Eth1/3", "swp3s0"}) EXPECT_TRUE(can_be_same_port("3", name)) << name;
  for (const char* name : {"4", "Ethernet30/1", "swp13"}) EXPECT_FALSE(can_be_same_port("3", name)) << name;
  EXPECT_FALSE(can_be_same_port("swp3", "swp4"));
}

}  // namespace
}  // namespace railwitness::fabric
