#include "probes/fabric/readers/ibqueryerrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Ibqueryerrors, TheSumOverAllPortsIsLeftOut) {
  const auto facts = facts_of(read_ibqueryerrors, text_of("ibqueryerrors/two_errors.details_data.txt"));
  ASSERT_THAT(facts.ports, SizeIs(2));
  EXPECT_EQ(facts.ports[0].number, 1u);
  EXPECT_EQ(facts.ports[0].counters.at("SymbolErrorCounter").value, 7u);
  EXPECT_EQ(facts.ports[0].counters.at("PortXmitData").value, 14760u);
  EXPECT_EQ(facts.ports[0].counters.count("LinkDownedCounter"), 0u);
}

TEST(Ibqueryerrors, ACounterAtTheEndOfItsWidthMeansAtLeast) {
  const auto facts = facts_of(read_ibqueryerrors, text_of("ibqueryerrors/two_errors.details_data.txt"));
  EXPECT_TRUE(facts.ports[1].counters.at("LinkDownedCounter").saturated);
  EXPECT_FALSE(facts.ports[0].counters.at("SymbolErrorCounter").saturated);
}

TEST(Ibqueryerrors, ACaIsKnownByItsPortAndASwitchByItsNode) {
  const auto facts = facts_of(read_ibqueryerrors, text_of("ibqueryerrors/two_errors.details_data.txt"));
  EXPECT_EQ(facts.devices[0].guid, "506b4b0300b00001");
  EXPECT_EQ(facts.devices[1].guid, "");
  EXPECT_EQ(facts.devices[1].host, "node001");
  EXPECT_EQ(facts.ports[1].guid, "0002c90300010001");
}

TEST(Ibqueryerrors, LinksBelowAPortAreItsOwn) {
  const auto facts = facts_of(read_ibqueryerrors, text_of("ibqueryerrors/two_errors.links.txt"));
  EXPECT_THAT(links_of(facts), ElementsAre("node001 mlx5_0 1 - rail0-leaf0 2 4x53125 ?", "rail0-leaf0 7 - spine1 1 4x53125 ?"));
  EXPECT_EQ(facts.ports[0].could_be_lanes, 12u);
}

TEST(Ibqueryerrors, TheShortenedNumberIsNotRead) {
  const auto facts = facts_of(read_ibqueryerrors,
      "Data Counters for 0xe41d2d03007c1820 \"router-2 HCA-1\"\n"
      "   GUID 0xe41d2d03007c1820 port 1: [PortXmitData == 19892634015130 (  infPB)] [PortRcvData == 4 (16.000B)]\n");
  EXPECT_EQ(facts.ports[0].counters.at("PortXmitData").value, 19892634015130u);
  EXPECT_EQ(facts.devices[0].guid, "e41d2d03007c1820");
  EXPECT_EQ(facts.ports[0].guid, "");
}

TEST(Ibqueryerrors, NoErrorAnywhereIsASummaryAndNotNothing) {
  const auto facts = facts_of(read_ibqueryerrors, "\n## Summary: 84 nodes checked, 0 bad nodes found\n##          852 ports checked, 0 ports have errors beyond threshold\n## Thresholds: \n## Suppressed: PortXmitWait\n");
  EXPECT_THAT(facts.devices, SizeIs(0));
  EXPECT_THAT(remarks_of(facts), ElementsAre("2: 84 nodes checked, 0 bad nodes found", HasSubstr("3: 852 ports checked"), HasSubstr("Suppressed: PortXmitWait")));
}

TEST(Ibqueryerrors, ACutReportIsRefusedOrRemarked) {
  EXPECT_THAT(refusal_of(read_ibqueryerrors, "Errors for \"n1 mlx5_0\"\n   GUID 0xb1 port 1: [PortRcvErrors == 1"), HasSubstr("file:2: a counter"));
  EXPECT_THAT(refusal_of(read_ibqueryerrors, "   GUID 0xb1 port 1: [PortRcvErrors == 1]\n"), HasSubstr("file:1: counters of a port before"));
  EXPECT_THAT(refusal_of(read_ibqueryerrors, ""), HasSubstr("no block of a node"));
  const auto facts = facts_of(read_ibqueryerrors, "Errors for \"n1 mlx5_0\"\n   GUID 0xb1 port 1: [PortRcvErrors == 1]\n");
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("no summary at the end")));
  read_every_beginning(read_ibqueryerrors, text_of("ibqueryerrors/two_errors.links.txt"), 3);
}

}  // namespace
}  // namespace railwitness::fabric
