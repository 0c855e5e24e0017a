#include "probes/fabric/readers/ufm_events.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

using Kind = model::FabricEvent::Kind;

std::string down(const char* time, bool turned) {
  const std::string a = "(Switch:leaf-1:1/17/1)00000000000000a1:33", b = "(Computer:n1 mlx5_0:1)00000000000000b1:1";
  return std::string("2024-06-21 07:46:") + time +
         " [1] [329] WARNING [Fabric_Topology] LINK [Source x TO Dest: y]: Link went down: " + (turned ? b : a) +
         " - " + (turned ? a : b) + ", cable S/N: C7\n";
}

TEST(UfmEvents, ALinkThatWentDownNamesBothEndsAndItsCable) {
  const auto facts = read_ufm_events("e", down("24.442", false));
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->events.size(), 1u);
  EXPECT_EQ(facts->events[0].kind, Kind::kDown);
  EXPECT_EQ(facts->events[0].device + " " + facts->events[0].port, "leaf-1 1/17/1");
  EXPECT_EQ(facts->events[0].peer_device, "n1 mlx5_0");
  EXPECT_FALSE(facts->events[0].wall_ns);
  ASSERT_EQ(facts->links.size(), 1u);
  EXPECT_EQ(facts->links[0].cable, "C7");
  EXPECT_EQ(facts->ports[facts->links[0].a].number, 33u);
  EXPECT_EQ(facts->devices[1].host, "n1");
}

TEST(UfmEvents, OneFlapThatBothEndsLogIsOneEventAndALaterOneAnother) {
  const auto facts = read_ufm_events("e", down("24.442", false) + down("24.600", true) + down("29.000", false));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->events.size(), 2u);
  EXPECT_EQ(facts->links.size(), 1u);
  EXPECT_EQ(facts->remarks.at(0).text, "1 lines repeat an event");
}

TEST(UfmEvents, UnhealthyPortsAndCountersAreKindsOfTheirOwnAndOthersAreKept) {
  const auto facts = read_ufm_events("e",
                                     "2024-06-21 07:46:25 [2] [702] WARNING [Hardware] IBPORT [Default(2) / Switch: s1 "
                                     "/ 1/3/1] [dev_id: 1]: Peer Port s2:1/19/2 is unhealthy\n"
                                     "something else\n"
                                     "2024-06-21 07:46:26 [3] [112] CRITICAL [Hardware] IBPORT [Default(2) / Switch: "
                                     "s1 / 1/3/1] [dev_id: 1]: Link-Downed counter\n"
                                     "2024-06-21 07:46:27 [4] [602] INFO [Logical] GRID [Grid]: UFM Server Failover\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->events.size(), 3u);
  EXPECT_EQ(facts->events[0].kind, Kind::kUnhealthy);
  EXPECT_EQ(facts->events[0].peer_device + " " + facts->events[0].peer_port, "s2 1/19/2");
  EXPECT_EQ(facts->events[1].kind, Kind::kCounter);
  EXPECT_EQ(facts->events[1].device + " " + facts->events[1].port, "s1 1/3/1");
  EXPECT_EQ(facts->events[2].text, "[602] UFM Server Failover");
  EXPECT_EQ(facts->remarks.at(0).line, 2u);
}

TEST(UfmEvents, ATextWithoutALineOfTheLogIsRefused) {
  EXPECT_EQ(read_ufm_events("e.log", "hello\n").status().message(),
            "e.log:1: no line \"TIME [ID] [EVENT] SEVERITY [CATEGORY] TYPE [OBJECT]: TEXT\"");
  EXPECT_FALSE(read_ufm_events("e.log", "").ok());
}

}  // namespace
}  // namespace railwitness::fabric
