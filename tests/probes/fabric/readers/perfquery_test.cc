#include "probes/fabric/readers/perfquery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Perfquery, DotsSeparateNamesFromValues) {
  const auto facts = facts_of(read_perfquery, text_of("perfquery/classic.txt"));
  ASSERT_THAT(facts.ports, SizeIs(1));
  EXPECT_EQ(facts.devices[0].lid, 7u);
  EXPECT_EQ(facts.ports[0].counters.at("SymbolErrorCounter").value, 7u);
  EXPECT_EQ(facts.ports[0].counters.count("PortSelect"), 0u);
  EXPECT_EQ(facts.ports[0].counters.count("CounterSelect2"), 0u);
}

TEST(Perfquery, ExtendedCountersStopAt64Bits) {
  const char* text = "counters: Lid 7 port 1 (CapMask: 0x5300)\nLinkDownedCounter:...............255\n";
  EXPECT_TRUE(facts_of(read_perfquery, std::string("# Port ") + text).ports[0].counters.at("LinkDownedCounter").saturated);
  EXPECT_FALSE(facts_of(read_perfquery, std::string("# Port extended ") + text).ports[0].counters.at("LinkDownedCounter").saturated);
}

TEST(Perfquery, DetailsOfErrorsJoinTheCountersOfTheirPort) {
  const auto facts = facts_of(read_perfquery, text_of("perfquery/extended.txt") + text_of("perfquery/receive_errors.txt"));
  ASSERT_THAT(facts.ports, SizeIs(1));
  EXPECT_EQ(facts.ports[0].counters.count("PortXmitData"), 1u);
  EXPECT_EQ(facts.ports[0].counters.count("PortLoopingErrors"), 1u);
}

TEST(Perfquery, ASumOverAllPortsIsOfNone) {
  const auto facts = facts_of(read_perfquery, text_of("perfquery/sum.txt"));
  EXPECT_THAT(facts.ports, IsEmpty());
  EXPECT_THAT(remarks_of(facts), ElementsAre("1: a sum over all ports: left out"));
}

TEST(Perfquery, AFileNamedAfterAGuidGivesIt) {
  EXPECT_EQ(facts_of(read_perfquery, text_of("perfquery/classic.txt"), "/tmp/err-0x7cfe9003009ce5b0-1.out").devices[0].guid, "7cfe9003009ce5b0");
  EXPECT_EQ(facts_of(read_perfquery, text_of("perfquery/classic.txt"), "0x7cfe.out").devices[0].guid, "");
}

TEST(Perfquery, WarningsAreRemarkedAndNonsenseIsRefused) {
  const auto facts = facts_of(read_perfquery, "ibwarn: [7] mad_rpc: timeout\n" + text_of("perfquery/classic.txt"));
  EXPECT_THAT(remarks_of(facts), ElementsAre(HasSubstr("1: left out: ibwarn")));
  EXPECT_THAT(refusal_of(read_perfquery, "ibwarn: [7] can't open\n"), HasSubstr("no block of counters as perfquery prints one; left out: ibwarn"));
  EXPECT_THAT(refusal_of(read_perfquery, "# Port counters: Lid 7 port 1\nPortXmitData:....many\n"), HasSubstr("file:2: counter PortXmitData: many"));
  EXPECT_THAT(refusal_of(read_perfquery, "PortXmitData:....1\n"), HasSubstr("file:1: counter PortXmitData before any port"));
  EXPECT_THAT(refusal_of(read_perfquery, "# Port counters: Lid 7 port 900\n"), HasSubstr("file:1: port 900"));
  read_every_beginning(read_perfquery, text_of("perfquery/classic.txt"), 3);
}

}  // namespace
}  // namespace railwitness::fabric
