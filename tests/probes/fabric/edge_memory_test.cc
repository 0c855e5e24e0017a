#include "probes/fabric/edge_memory.h"

#include "gtest/gtest.h"

namespace railwitness::fabric {
namespace {

model::Edge edge(const char* netdev, const char* name, const char* port, const char* id = "") {
  model::Edge out;
  out.netdev = netdev;
  out.switch_name = name;
  out.switch_port = port;
  out.switch_id = id;
  out.source = "lldp";
  return out;
}

TEST(EdgeMemory, KeepsWhatItsSourceForgot) {
  EdgeMemory memory;
  memory.update({edge("h1r0", "leaf-r0", "swp2"), edge("h1r1", "leaf-r1", "swp2")}, 100);
  memory.update({edge("h1r0", "leaf-r0", "swp2")}, 200);
  memory.update({}, 300);
  const auto edges = memory.edges();
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_FALSE(edges[0].present);
  EXPECT_EQ(edges[0].seen_mono_ns, 200);
  EXPECT_FALSE(edges[1].present);
  EXPECT_EQ(edges[1].seen_mono_ns, 100);
  EXPECT_EQ(edges[1].switch_port, "swp2");
}

TEST(EdgeMemory, NeighbourThatComesBackIsPresentAgain) {
  EdgeMemory memory;
  memory.update({edge("e", "leaf", "1")}, 1);
  memory.update({}, 2);
  memory.update({edge("e", "leaf", "1")}, 3);
  EXPECT_TRUE(memory.edges()[0].present);
  EXPECT_EQ(memory.edges()[0].seen_mono_ns, 3);
}

TEST(EdgeMemory, AnotherNeighbourReplacesTheOldOne) {
  EdgeMemory memory;
  memory.update({edge("e", "leaf-a", "1", "aa")}, 1);
  memory.update({edge("e", "leaf-b", "2", "bb")}, 2);
  ASSERT_EQ(memory.edges().size(), 1u);
  EXPECT_EQ(memory.edges()[0].switch_name, "leaf-b");
  memory.update({edge("e", "leaf-b", "3", "bb")}, 3);
  EXPECT_EQ(memory.edges()[0].switch_port, "3");
}

TEST(EdgeMemory, SwitchThatBootsDoesNotLoseItsName) {
  EdgeMemory memory;
  memory.update({edge("e", "leaf-a", "1", "aa")}, 1);
  memory.update({edge("e", "aa", "", "aa")}, 2);
  EXPECT_EQ(memory.edges()[0].switch_name, "leaf-a");
  EXPECT_EQ(memory.edges()[0].switch_port, "1");
}

TEST(EdgeMemory, IsBounded) {
  EdgeMemory memory;
  for (int i = 0; i < 5000; ++i) memory.update({edge(std::to_string(i).c_str(), "s", "p")}, i);
  EXPECT_EQ(memory.edges().size(), EdgeMemory::kMaxEdges);
}

TEST(JoinRails, FillsDeviceAndPortByNetworkDevice) {
  std::vector<model::Edge> edges = {edge("h1r1", "leaf", "1"), edge("eno1", "oob", "2")};
  model::Rail rail;
  rail.device = "rxe_h1r1";
  rail.port = 2;
  rail.netdev = "h1r1";
  join_rails(&edges, {rail});
  EXPECT_EQ(edges[0].device, "rxe_h1r1");
  EXPECT_EQ(edges[0].port, 2);
  EXPECT_EQ(edges[1].device, "");
}

}  // namespace
}  // namespace railwitness::fabric
