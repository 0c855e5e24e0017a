#include "probes/fabric/readers/ibnetdiscover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/fabric/readers/text.h"
#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::PortState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLeaf =
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0xa0\nswitchguid=0xa0(a0)\n"
    "Switch\t65 \"S-00000000000000a0\"\t\t# \"MF0;leaf:MQM9700/U1\" enhanced port 0 lid 7 lmc 0\n";

std::string leaf_with(const std::string& ports) { return kLeaf + ports; }

TEST(Ibnetdiscover, EveryFormOfOneFabricGivesTheSameLinks) {
  const auto facts = facts_of(read_ibnetdiscover, text_of("ibnetdiscover/three_nodes.txt"));
  EXPECT_THAT(facts.links, SizeIs(14));
  EXPECT_THAT(links_of(facts), testing::Contains("node000 mlx5_0 1 - rail0-leaf0 1 4x53125"));
  EXPECT_EQ(facts.source.time_text, "Mon Nov 30 09:46:42 2026");
  for (const char* form : {"full", "grouped", "ports"}) {
    const auto other = facts_of(read_ibnetdiscover, text_of(std::string("ibnetdiscover/three_nodes.") + form + ".txt"));
    EXPECT_EQ(links_of(other), links_of(facts)) << form;
    EXPECT_THAT(remarks_of(other), IsEmpty()) << form;
  }
}

TEST(Ibnetdiscover, AnAggregationNodeIsNoHostAndMayHaveNoBlockOfItsOwn) {
  const auto facts = facts_of(read_ibnetdiscover,
                              leaf_with("[65]\t\"H-00000000000000a8\"[1](a9) \t\t# \"Mellanox Technologies Aggregation Node\" lid 9 4xNDR\n"));
  ASSERT_THAT(facts.devices, SizeIs(2));
  EXPECT_EQ(facts.devices[1].kind, DeviceKind::kAggregation);
  EXPECT_EQ(facts.devices[1].line, 0u);
  ASSERT_THAT(facts.links, SizeIs(1));
  EXPECT_TRUE(facts.links[0].one_sided);
  EXPECT_EQ(facts.ports[1].guid, "00000000000000a9");
}

TEST(Ibnetdiscover, ARenamedAggregationNodeIsOneByItsDeviceId) {
  const auto facts = facts_of(read_ibnetdiscover, "devid=0xcf09\ncaguid=0xa8\nCa\t1 \"H-00000000000000a8\"\t\t# \"sharp-1\"\n");
  ASSERT_THAT(facts.devices, SizeIs(1));
  EXPECT_EQ(facts.devices[0].kind, DeviceKind::kAggregation);
}

TEST(Ibnetdiscover, GuidsWithAndWithoutLeadingZerosAreOneNode) {
  const auto facts = facts_of(read_ibnetdiscover, leaf_with("[1]\t\"H-000000000000abcd\"[1](abce) # \"n1 mlx5_0\" lid 8 4xNDR s=4 w=2 v=4 e=4\n\n"
                                                            "caguid=0xabcd\nCa 1 \"H-000000000000abcd\" # \"n1 mlx5_0\"\n"
                                                            "[1](abce)  \"S-00000000000000a0\"[1] # lid 8 lmc 1 \"MF0;leaf:MQM9700/U1\" lid 7 4xNDR\n"));
  EXPECT_THAT(links_of(facts), ElementsAre("MF0;leaf:MQM9700/U1 1 - n1 mlx5_0 1 4x106250"));
  EXPECT_THAT(remarks_of(facts), IsEmpty());
  EXPECT_EQ(facts.devices[1].host, "n1");
  EXPECT_EQ(facts.ports[1].lmc, 1u);
  EXPECT_EQ(facts.ports[1].lid, 8u);
}

TEST(Ibnetdiscover, EndsThatDisagreeInWidthAreRemarkedAndBothKept) {
  const auto facts = facts_of(read_ibnetdiscover, leaf_with("[1] \"S-00000000000000b0\"[2] # \"b\" lid 8 4xSDR\n"
                                                            "Switch 8 \"S-00000000000000b0\" # \"b\" base port 0 lid 8 lmc 0\n"
                                                            "[2] \"S-00000000000000a0\"[1] # \"MF0;leaf:MQM9700/U1\" lid 7 1xSDR\n"));
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("MF0;leaf:MQM9700/U1 [1] says 4 lanes of 2500 Mb/s, b [2] says 1 lanes")));
  EXPECT_EQ(facts.ports[0].lanes, 4u);
  EXPECT_EQ(facts.ports[1].lanes, 1u);
}

TEST(Ibnetdiscover, ACableFromASwitchToItselfIsALinkOfTwoPorts) {
  const auto facts = facts_of(read_ibnetdiscover, leaf_with("[25] \"S-00000000000000a0\"[26] # \"leaf\" lid 7 4xFDR10\n"
                                                            "[26] \"S-00000000000000a0\"[25] # \"leaf\" lid 7 4xFDR10\n"
                                                            "[30] \"S-00000000000000a0\"[30] # \"leaf\" lid 7 4xFDR\n"));
  EXPECT_THAT(facts.devices, SizeIs(1));
  EXPECT_THAT(facts.links, SizeIs(2));
  for (const auto& link : facts.links) EXPECT_FALSE(link.one_sided);
  EXPECT_EQ(facts.ports[0].lane_mbps, 10312u);
  EXPECT_THAT(remarks_of(facts), IsEmpty());
}

TEST(Ibnetdiscover, MaskedGuidsAreRemarkedByLineAndNeverMerged) {
  const auto facts = facts_of(read_ibnetdiscover, leaf_with("[1]\t\"H-946d<gone>\"[1](946d<gone>) # \"n1 mlx5_2\" lid 27 2xNDR\n"
                                                            "[2]\t\"H-946d<gone>\"[1](946d<gone>) # \"n2 mlx5_2\" lid 10 2xNDR\n"));
  EXPECT_THAT(facts.devices, SizeIs(3));
  EXPECT_THAT(facts.links, SizeIs(2));
  EXPECT_EQ(facts.ports[0].lanes, 2u);
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("6: GUID H-946d<gone> is masked or damaged: \"n1 mlx5_2\""), HasSubstr("7: GUID")));
}

TEST(Ibnetdiscover, AScanOfNothingButItsOwnPortSaysSo) {
  const auto facts = facts_of(read_ibnetdiscover, "caguid=0xb0\nCa\t1 \"H-00000000000000b0\"\t\t# \"n1 HCA-1\"");
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("no fabric seen from this port")));
}

TEST(Ibnetdiscover, APortWithoutFarEndIsDownAndItsSpeedIsNone) {
  const auto facts = facts_of(read_ibnetdiscover, "SW  2052 37 0x506b4b03005c2740 4x ???                                    'leaf 4'\n"
                                                  "SW  2052 38 0x506b4b03005c2740 4x SDR                                    'leaf 4'\n"
                                                  "SW  2052 39 0x506b4b03005c2740 4x NDR - CA   134  1 0x7cfe9003003b4bde ( 'leaf 4' - 'o1 - x HCA-1' )\n");
  ASSERT_THAT(facts.ports, SizeIs(4));
  for (const size_t port : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(facts.ports[port].state, PortState::kDown);
    EXPECT_FALSE(facts.ports[port].lanes);
  }
  EXPECT_THAT(links_of(facts), ElementsAre("leaf 4 39 - o1 - x HCA-1 1 4x106250 ?"));
  EXPECT_EQ(facts.ports[3].guid, "7cfe9003003b4bde");
  EXPECT_EQ(facts.devices[1].guid, "");
}

TEST(Ibnetdiscover, ADamagedFabricIsRefusedWithItsLine) {
  EXPECT_EQ(refusal_of(read_ibnetdiscover, leaf_with("[33]\t\"S-00000000")), "file:6: a port that cannot be read: cut or edited");
  EXPECT_THAT(refusal_of(read_ibnetdiscover, "[1] \"S-00000000000000a0\"[1] # \"x\" lid 7 4xNDR\n"), HasSubstr("file:1: a port before any node"));
  EXPECT_THAT(refusal_of(read_ibnetdiscover, leaf_with("[255] \"S-00000000000000b0\"[1] # \"x\" lid 7 4xNDR\n")), HasSubstr("port 255"));
  EXPECT_THAT(refusal_of(read_ibnetdiscover, "Switch\tmany \"S-0\"\n"), HasSubstr("file:1: a node"));
  EXPECT_THAT(refusal_of(read_ibnetdiscover, "SW 12 1 0x"), HasSubstr("file:1: a row of ports"));
  EXPECT_THAT(refusal_of(read_ibnetdiscover, "\nUnable to find\n"), HasSubstr("no node as ibnetdiscover prints one (line 2, left out: Unable to find"));
  EXPECT_THAT(refusal_of(read_ibnetdiscover, std::string(kMaxInputBytes + 1, '\n')), HasSubstr("at most"));
  read_every_beginning(read_ibnetdiscover, text_of("ibnetdiscover/three_nodes.txt"), 7);
}

TEST(Ibnetdiscover, RemarksAreBounded) {
  std::string text = kLeaf;
  for (int i = 0; i < 5000; ++i) text += "what is this\n";
  const auto facts = facts_of(read_ibnetdiscover, text);
  ASSERT_THAT(facts.remarks, SizeIs(1001));
  EXPECT_EQ(facts.remarks.back().text, "4000 more remarks");
}

}  // namespace
}  // namespace railwitness::fabric
