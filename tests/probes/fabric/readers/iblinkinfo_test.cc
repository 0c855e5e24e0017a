#include "probes/fabric/readers/iblinkinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/fabric/readers/ibnetdiscover.h"
#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::PortState;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Iblinkinfo, EveryFormGivesTheLinksThatIbnetdiscoverGives) {
  const auto expected = links_of(facts_of(read_ibnetdiscover, text_of("ibnetdiscover/three_nodes.txt")));
  for (const char* form : {"", ".lines", ".details"}) {
    const auto facts = facts_of(read_iblinkinfo, text_of(std::string("iblinkinfo/three_nodes") + form + ".txt"));
    EXPECT_EQ(links_of(facts), expected) << form;
    EXPECT_THAT(remarks_of(facts), IsEmpty());
  }
}

TEST(Iblinkinfo, WithoutTheBlocksOfCasTheirLinksAreOneSided) {
  const auto links = links_of(facts_of(read_iblinkinfo, text_of("iblinkinfo/three_nodes.switches.txt")));
  EXPECT_THAT(links, SizeIs(14));
  EXPECT_THAT(links, Contains("node000 mlx5_0 1 - rail0-leaf0 1 4x53125 ?"));
  EXPECT_THAT(links, Contains("rail0-leaf0 5 - spine0 1 4x53125"));
}

TEST(Iblinkinfo, WhatGrepLeavesIsJoinedByLid) {
  const auto facts = facts_of(read_iblinkinfo,
      "      0x00000000000000b1      4    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2   17[  ] \"MF0;leaf:MSB7700/U1\" ( )\n"
      "           2   17[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       4    1[  ] \"n02 HCA-1\" ( )\n");
  EXPECT_THAT(links_of(facts), ElementsAre("MF0;leaf:MSB7700/U1 17 - n02 HCA-1 1 4x25781"));
  ASSERT_THAT(facts.devices, SizeIs(2));
  EXPECT_EQ(facts.devices[0].kind, DeviceKind::kNic);
  EXPECT_EQ(facts.devices[0].host, "n02");
  EXPECT_EQ(facts.devices[1].kind, DeviceKind::kSwitch);
}

TEST(Iblinkinfo, NamesArePaddedInTheirQuotesAndSpeedIsOfOneLane) {
  const auto facts = facts_of(read_iblinkinfo,
      "0x00000000000000b1 \"              node-7 mlx5_0\"     37    1[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>  "
      "0x00000000000000a0      5   16[  ] \"MF0;leaf:MQM9700/U1\" ( )\n");
  EXPECT_THAT(links_of(facts), ElementsAre("MF0;leaf:MQM9700/U1 16 - node-7 mlx5_0 1 4x106250 ?"));
  EXPECT_EQ(facts.devices[0].guid, "");
  EXPECT_EQ(facts.ports[0].guid, "00000000000000b1");
  EXPECT_EQ(facts.devices[1].guid, "00000000000000a0");
}

TEST(Iblinkinfo, WhatALinkCouldBeIsKept) {
  const auto facts = facts_of(read_iblinkinfo,
      "Switch: 0x00000000000000a0 leaf:\n"
      "           4    1[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>       8    1[  ] \"n1 mlx5_0\" (Could be 4X Could be 106.25 Gbps)\n"
      "           4    2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
      "           4    3[  ] ==(                Down/Disabled)==>             [  ] \"\" ( )\n"
      "           4    4[  ] ==( 4X         10.0 Gbps   Init/  LinkUp)==>      9    1[  ] \"n2 mlx5_0\" ( )\n");
  ASSERT_THAT(facts.ports, SizeIs(6));
  EXPECT_EQ(facts.ports[0].could_be_lanes, 4u);
  EXPECT_EQ(facts.ports[0].could_be_lane_mbps, 106250u);
  EXPECT_EQ(facts.ports[1].state, PortState::kDown);
  EXPECT_EQ(facts.ports[2].state, PortState::kDisabled);
  EXPECT_EQ(facts.ports[3].state, PortState::kTraining);
}

TEST(Iblinkinfo, TwoNodesWithOneLidAreNotJoinedByIt) {
  const auto facts = facts_of(read_iblinkinfo,
      "CA: n1 mlx5_0:\n      0x00000000000000b1      4    1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>       2   17[  ] \"leaf-a\" ( )\n"
      "CA: n2 mlx5_0:\n      0x00000000000000c1      4    1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>       3   17[  ] \"leaf-b\" ( )\n"
      "Switch: 0x00000000000000a0 leaf-c:\n           5   17[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>       4    1[  ] \"n1 mlx5_0\" ( )\n");
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("LID 4 is claimed by two nodes")));
  EXPECT_THAT(facts.links, SizeIs(3));
}

TEST(Iblinkinfo, ADamagedLineIsRefused) {
  EXPECT_THAT(refusal_of(read_iblinkinfo, "Switch: 0xa0 leaf:\n  4    1[  ] ==( 1X  53.125 Gb"), HasSubstr("file:2: the line of a port"));
  EXPECT_THAT(refusal_of(read_iblinkinfo, "iblinkinfo: command not found\n"), HasSubstr("no line of a port"));
  EXPECT_THAT(refusal_of(read_iblinkinfo, "  4  999[  ] ==( Down/ Polling)==> [  ] \"\" ( )\n"), HasSubstr("file:1: a port beyond 254"));
  read_every_beginning(read_iblinkinfo, text_of("iblinkinfo/three_nodes.txt"), 5);
}

}  // namespace
}  // namespace railwitness::fabric
