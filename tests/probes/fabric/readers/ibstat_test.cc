#include "probes/fabric/readers/ibstat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using model::PortState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Ibstat, ARateOfAPortThatIsDownIsNone) {
  const auto facts = facts_of(read_ibstat,
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tNode GUID: 0xb0\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
      "\t\tRate: 400\n\t\tBase lid: 287\n\t\tPort GUID: 0xb1\n\t\tLink layer: InfiniBand\n"
      "CA 'mlx5_1'\n\tCA type: MT4125\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n\t\tBase lid: 0\n"
      "\t\tPort GUID: 0x0000000000000000\n\t\tLink layer: Ethernet\n");
  ASSERT_THAT(facts.ports, SizeIs(2));
  EXPECT_EQ(facts.ports[0].rate_mbps, 400000u);
  EXPECT_EQ(facts.ports[0].guid, "00000000000000b1");
  EXPECT_EQ(facts.ports[0].lid, 287u);
  EXPECT_EQ(facts.ports[1].state, PortState::kDisabled);
  EXPECT_FALSE(facts.ports[1].rate_mbps);
  EXPECT_FALSE(facts.ports[1].lid);
  EXPECT_EQ(facts.ports[1].guid, "");
}

TEST(Ibstat, TheRealToolOverASimulatedFabricIsRead) {
  const auto facts = facts_of(read_ibstat, text_of("ibstat/simulated.txt"));
  ASSERT_THAT(facts.ports, SizeIs(1));
  EXPECT_EQ(facts.ports[0].link_layer, "InfiniBand");
  EXPECT_EQ(facts.ports[0].state, PortState::kUp);
}

TEST(Ibstat, IbvDevinfoGivesLanesMtuAndGids) {
  const auto facts = facts_of(read_ibstat,
      "hca_id:\tmlx5_0\n\tnode_guid:\t\t0000:0000:0000:00b0\n\tvendor_id:\t\t0x02c9\n\tvendor_part_id:\t\t4129\n\tphys_port_cnt:\t\t1\n"
      "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t2048 (4)\n\t\t\tport_lid:\t\t7\n"
      "\t\t\tport_lmc:\t\t0x01\n\t\t\tlink_layer:\t\tInfiniBand\n\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t106.25 Gbps (128)\n"
      "\t\t\tphys_state:\t\tLINK_UP (5)\n\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:0000:0000:00b1\n");
  const auto& port = facts.ports.at(0);
  EXPECT_EQ(port.state, PortState::kUp);
  EXPECT_EQ(port.lanes, 4u);
  EXPECT_EQ(port.lane_mbps, 106250u);
  EXPECT_EQ(port.mtu_bytes, 2048u);
  EXPECT_EQ(port.max_mtu_bytes, 4096u);
  EXPECT_EQ(port.lmc, 1u);
  EXPECT_THAT(port.gids, ElementsAre("fe80:0000:0000:0000:0000:0000:0000:00b1"));
  EXPECT_EQ(facts.devices[0].vendor_id, 0x2c9u);
}

TEST(Ibstat, Ibdev2netdevTellsLinkLayersByTheNamesOfInterfaces) {
  const auto facts = facts_of(read_ibstat, text_of("ibstat/verbose.ibdev2netdev.txt"));
  ASSERT_THAT(facts.ports, SizeIs(3));
  EXPECT_EQ(facts.devices[0].nic, "mlx5_0");
  EXPECT_EQ(facts.ports[0].label, "ibp26s0");
  EXPECT_EQ(facts.ports[0].link_layer, "InfiniBand");
  EXPECT_EQ(facts.ports[1].state, PortState::kDown);
  EXPECT_EQ(facts.ports[1].link_layer, "Ethernet");
  EXPECT_EQ(facts.ports[2].number, 2u);
  EXPECT_EQ(facts.ports[2].link_layer, "");
}

TEST(Ibstat, AListOfGuidsBelongsToTheHostAboveIt) {
  const auto facts = facts_of(read_ibstat, "VM_hostname vm1\n0ff08c4321664e96\nVM_hostname vm2\n0ff08c43217299f2\n0ff08c43217299f2");
  ASSERT_THAT(facts.devices, SizeIs(2));
  EXPECT_EQ(facts.devices[1].host, "vm2");
  EXPECT_EQ(facts.ports[1].guid, "0ff08c43217299f2");
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("5: port 0ff08c43217299f2 is there again")));
}

TEST(Ibstat, NonsenseIsRefused) {
  EXPECT_THAT(refusal_of(read_ibstat, "\tPort 1:\n"), HasSubstr("file:1: port 1 before any device"));
  EXPECT_THAT(refusal_of(read_ibstat, "mlx5_0 port 1 ==> ibp"), HasSubstr("file:1: a port and its interface"));
  EXPECT_THAT(refusal_of(read_ibstat, "No IB devices found\n"), HasSubstr("no device as ibstat"));
  read_every_beginning(read_ibstat, text_of("ibstat/simulated.txt"), 3);
}

}  // namespace
}  // namespace railwitness::fabric
