#include "probes/fabric/readers/ibdiagnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::PortState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DbCsv : public testing::Test {
 protected:
  const model::FabricFacts facts_ = facts_of(read_ibdiagnet, text_of("ibdiagnet/two_nodes.db_csv"));
};

TEST_F(DbCsv, NodesPortsAndLinksAreJoinedByGuid) {
  EXPECT_THAT(links_of(facts_), ElementsAre(" 1 - MF0;leaf, \"a\":MQM9700/U1 3 2x10312 ?",
                                            "MF0;leaf, \"a\":MQM9700/U1 1 - node-01 mlx5_0 1 4x106250",
                                            "MF0;leaf, \"a\":MQM9700/U1 65 - Mellanox Technologies Aggregation Node 1 4x106250"));
  EXPECT_EQ(facts_.devices[0].device_id, 0xd2f2u);
  EXPECT_EQ(facts_.devices[0].vendor_id, 0x2c9u);
  EXPECT_EQ(facts_.devices[0].lid, 7u);
  EXPECT_EQ(facts_.devices[2].kind, DeviceKind::kAggregation);
  EXPECT_EQ(facts_.ports[0].mtu_bytes, 4096u);
}

TEST_F(DbCsv, AnEmptyPortHasDefaultsAndNoSpeed) {
  EXPECT_EQ(facts_.ports[1].number, 2u);
  EXPECT_EQ(facts_.ports[1].state, PortState::kDown);
  EXPECT_FALSE(facts_.ports[1].lanes);
}

TEST_F(DbCsv, EndsThatDisagreeAreRemarked) {
  EXPECT_THAT(remarks_of(facts_), ElementsAre(HasSubstr("says 4 lanes of 106250 Mb/s, node-01 mlx5_0 [1] says 1 lanes of 53125")));
}

TEST_F(DbCsv, CountersThatWereNotAskedAreNotThere) {
  const auto& counters = facts_.ports[0].counters;
  EXPECT_THAT(counters, SizeIs(2));
  EXPECT_TRUE(counters.at("LinkDownedCounter").saturated);
  EXPECT_EQ(counters.at("SymbolErrorCounter").value, 16u);
}

TEST(Ibdiagnet, ASectionAloneIsKnownByItsColumns) {
  const auto links = facts_of(read_ibdiagnet, "PortNum1,NodeGuid1,NodeGuid2,PortNum2\n1,0x000000000060365e,0x0000000000cd48c0,33\n");
  EXPECT_THAT(links.links, SizeIs(1));
  EXPECT_FALSE(links.links[0].one_sided);
  EXPECT_THAT(links.devices, SizeIs(2));
}

TEST(Ibdiagnet, ANetDumpMayHaveColonsInNames) {
  const auto facts = facts_of(read_ibdiagnet, text_of("ibdiagnet/switch.net_dump"));
  EXPECT_THAT(links_of(facts), ElementsAre("MF0;leaf01:MQM8700/U1 1 - node : 1 mlx5_0 1 4x53125 ?"));
  EXPECT_EQ(facts.ports[0].label, "Blackbox[1]:A");
  ASSERT_THAT(facts.ports, SizeIs(3));
  EXPECT_EQ(facts.ports.back().state, PortState::kDown);
  EXPECT_THAT(remarks_of(facts), IsEmpty());
}

TEST(Ibdiagnet, ASpeedOf200IsHdrsPortOrXdrsLane) {
  const auto dump = [](const std::string& model) {
    return facts_of(read_ibdiagnet, "\"MF0;leaf01:" + model + "/U1\", Mellanox, 0x1, LID 10\n"
                                    "# : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC : RTR : Neighbor Guid : N# : NLID : Neighbor Description\n"
                                    "p1 : 1 : ACT : LINK_UP : 5 : 4x : 200 : RS : NO-RTR : 0x2 : 1 : 20 : \"server01 mlx5_0\"\n");
  };
  EXPECT_EQ(dump("MQM9700").ports[0].lane_mbps, 53125u);
  EXPECT_THAT(remarks_of(dump("MQM9700")), ElementsAre("3: speed 200 is taken for the whole port: HDR"));
  EXPECT_EQ(dump("Q3400").ports[0].lane_mbps, 212500u);
}

TEST(Ibdiagnet, ACutFileIsRefused) {
  EXPECT_THAT(refusal_of(read_ibdiagnet, "START_NODES\nNodeDesc,NodeType,NodeGUID\n\"a\",2,0x1\n"), HasSubstr("section NODES has no end: cut"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "START_NODES\nNodeDesc,NodeType,NodeGUID\n\"a\",2\nEND_NODES\n"), HasSubstr("file:3: 2 fields below a header of 3"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "START_NODES\nNodeDesc,NodeType\n"), HasSubstr("file:2: section NODES without column NodeGUID"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "NodeDesc,NodeType,NodeGUID\n\"a,2,0x1\n"), HasSubstr("file:2: fields that cannot be read"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "NodeDesc,NodeType,NodeGUID\n\"a\",2,0xzz\n"), HasSubstr("file:2: \"0xzz\" is no GUID"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "# : IB# : Sta : Sta : LWA\n"), HasSubstr("file:1: a header with one column twice"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "a,b\n"), HasSubstr("file:1: neither a section"));
  EXPECT_THAT(refusal_of(read_ibdiagnet, "START_X\nEND_X\n"), HasSubstr("no section NODES"));
  read_every_beginning(read_ibdiagnet, text_of("ibdiagnet/two_nodes.db_csv"), 11);
}

}  // namespace
}  // namespace railwitness::fabric
