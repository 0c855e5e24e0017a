#include "probes/fabric/readers/netq.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto topology = read_netq("nodes.json", bytes);
  return topology.ok() ? "none" : std::string(topology.status().message());
}

TEST(Netq, NodesOfOneDomainAreOneBlock) {
  const auto topology =
      read_netq("n", R"([{"Name":"a","ID":"1","DomainUUID":"u","GpuIDList":["x","y"],"LocationInfo":{"SlotID":5}},
                                           {"Name":"b","ID":"2","DomainUUID":"v"}, {"Name":"c","ID":"3","DomainUUID":"u"}])");
  ASSERT_TRUE(topology.ok()) << topology.status();
  const model::NodeGrouping& domains = topology->groupings.at(0);
  ASSERT_EQ(domains.groups.size(), 2u);
  EXPECT_EQ(domains.groups[0].nodes, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(topology->nodes.at(0).slot, 5u);
  EXPECT_EQ(topology->nodes.at(0).gpu_ids.size(), 2u);
  EXPECT_FALSE(topology->nodes.at(1).slot);
}

TEST(Netq, ANodeWithoutDomainHasNoKnownPlace) {
  const auto topology = read_netq("n", R"([{"ID":"7"}])");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_FALSE(topology->groupings.at(0).group_of_node.contains("7"));
  EXPECT_EQ(topology->remarks.at(0).text, "7 has no DomainUUID: its NVLink domain is not known");
}

TEST(Netq, RefusalsNameFileAndElement) {
  EXPECT_EQ(error_of("{}"), "nodes.json: not a list of compute nodes");
  EXPECT_EQ(error_of("[3]"), "nodes.json: element [0] is no object");
  EXPECT_EQ(error_of("[{}]"), "nodes.json: element [0] has neither Name nor ID: no compute node");
  EXPECT_EQ(error_of(R"([{"Name":"a"},{"Name":"a"}])"), "nodes.json: element [1]: a is there twice");
  EXPECT_EQ(error_of("[\n{"), "nodes.json: no JSON at line 2 column 2");
}

}  // namespace
}  // namespace railwitness::fabric
