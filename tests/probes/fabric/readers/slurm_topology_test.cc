#include "probes/fabric/readers/slurm_topology.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = model::NodeGrouping::Kind;

std::string error_of(const std::string& file, std::string_view bytes) {
  const auto topology = read_slurm_topology(file, bytes);
  return topology.ok() ? "none" : std::string(topology.status().message());
}

std::vector<std::string> expand(std::string_view list) {
  const auto names = expand_host_list(list, 100);
  return names.ok() ? *names : std::vector<std::string>{"refused"};
}

TEST(SlurmTopology, HostListsExpandAsSlurmExpandsThem) {
  EXPECT_THAT(expand("dev[9-11]"), ElementsAre("dev9", "dev10", "dev11"));
  EXPECT_THAT(expand("node[08-10],x,im[0]"), ElementsAre("node08", "node09", "node10", "x", "im0"));
  EXPECT_THAT(expand("sw.1.[1,3-4]"), ElementsAre("sw.1.1", "sw.1.3", "sw.1.4"));
  EXPECT_THAT(expand("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  EXPECT_THAT(expand(""), IsEmpty());
  for (const char* list : {"a[", "a]", "a[1-2", "a[2-1]", "a[x]", "a[]", "a[1-101]", "a[1-11]b[1-11]", "a[[1]]",
                           "a[0-99999999999999999999]"}) {
    EXPECT_THAT(expand(list), ElementsAre("refused")) << list;
  }
  EXPECT_THAT(expand(std::string(300, 'a') + "[1-2]"), ElementsAre("refused"));
}

TEST(SlurmTopology, ATreeInAnyOrderGivesTheWayFromANodeToTheRoot) {
  const auto topology = read_slurm_topology("topology.conf",
                                            "SwitchName=leaf[1] Nodes=nobody\n"
                                            "SwitchName=root Switches=mid,leaf3\n"
                                            "# leaf1=real-leaf-1\nSwitchName=leaf1 Nodes=n[1-2] # here\n"
                                            "switchname=leaf3 nodes=n4 LinkSpeed=100\nSwitchName=mid Switches=leaf1\n");
  ASSERT_TRUE(topology.ok()) << topology.status();
  const model::NodeGrouping& tree = topology->groupings.at(0);
  EXPECT_EQ(tree.kind, Kind::kTree);
  EXPECT_TRUE(tree.is_default);
  EXPECT_THAT(groups_above(tree, "n2"), ElementsAre("leaf1", "mid", "root"));
  EXPECT_THAT(groups_above(tree, "n4"), ElementsAre("leaf3", "root"));
  EXPECT_THAT(groups_above(tree, "n9"), IsEmpty());
  EXPECT_EQ(tree.groups.at(tree.group_of_node.at("n1")).alias, "real-leaf-1");
}

TEST(SlurmTopology, TwoRootsAreToldAndNotRefused) {
  const auto topology = read_slurm_topology("t.conf", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n");
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->remarks.size(), 1u);
  EXPECT_THAT(topology->remarks[0].text, HasSubstr("2 roots without a common switch above them: a, b;"));
}

TEST(SlurmTopology, ABlockWithMoreNodesThanItsSizeHasSparesAndIsNotWrong) {
  const auto topology =
      read_slurm_topology("t.conf", "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=3,6\n");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(topology->remarks, IsEmpty());
  EXPECT_THAT(topology->groupings.at(0).block_sizes, ElementsAre(3u, 6u));
  EXPECT_EQ(topology->groupings.at(0).groups.at(1).nodes.size(), 4u);
}

TEST(SlurmTopology, YamlSaysTheSameAndSeveralTopologiesStandBesideEachOther) {
  const auto topology = read_slurm_topology(
      "topology.yaml",
      "---\n- topology: t1\n  cluster_default: true\n  tree:\n    switches:\n"
      "      - switch: root\n        children: s[1-2]\n      - switch: s1\n        nodes: n[01-02]\n"
      "      - switch: s2\n        nodes: n03\n"
      "- topology: t2\n  block:\n    block_sizes:\n      - 2\n      - 6\n    blocks:\n"
      "      - block: b1\n        nodes: n[01-02]\n"
      "- topology: t3\n  flat: true\n- topology: t4\n  flat:\n    alpha_step_rank: true\n");
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->groupings.size(), 4u);
  EXPECT_THAT(groups_above(topology->groupings[0], "n02"), ElementsAre("s1", "root"));
  EXPECT_TRUE(topology->groupings[0].is_default);
  EXPECT_FALSE(topology->groupings[1].is_default);
  EXPECT_EQ(topology->groupings[3].kind, Kind::kFlat);
  ASSERT_EQ(topology->remarks.size(), 1u);
  EXPECT_EQ(topology->remarks[0].line, 16u);
  EXPECT_THAT(topology->remarks[0].text, HasSubstr("block size 6 is not 2 times a power of two"));
}

TEST(SlurmTopology, RefusalsNameFileAndLine) {
  EXPECT_THAT(error_of("t.conf", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"),
              HasSubstr("t.conf:2: a is said twice"));
  EXPECT_THAT(error_of("t.conf", "\nSwitchName=a Switches=b\n"),
              HasSubstr("t.conf:2: b under a is no switch of this file"));
  EXPECT_THAT(error_of("t.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
              HasSubstr("t.conf:1: a stands above itself"));
  EXPECT_THAT(error_of("t.conf", "SwitchName=a Nodes=n[1-\n"), HasSubstr("t.conf:1: not a list of names"));
  EXPECT_THAT(error_of("t.conf", "rubbish\n"), HasSubstr("t.conf:1: not NAME=VALUE"));
  EXPECT_THAT(error_of("t.conf", "# nothing\n"), HasSubstr("t.conf: neither SwitchName= nor BlockName="));
  EXPECT_THAT(error_of("t.conf", "SwitchName=a Nodes=n[1-999999] Switches=b[1-5]\n"), HasSubstr("t.conf:1: "));
  EXPECT_THAT(error_of("t.yaml", "---\n# a comment\ntopology/tree\n"), HasSubstr("t.yaml:3: the root is neither"));
  EXPECT_THAT(error_of("t.yaml", "- topology: a\n  cube: 1\n"), HasSubstr("t.yaml:1: a topology that is neither tree"));
  EXPECT_THAT(error_of("t.yaml", "a: [1\nb"), HasSubstr("t.yaml:2: no YAML"));
  EXPECT_THAT(error_of("t.yaml", std::string(100000, '[')), HasSubstr("no YAML"));
}

}  // namespace
}  // namespace railwitness::fabric
