#include "fmt/format.h"
#include "probes/fabric/readers/slurm_topology.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

std::string way(const model::NodeGrouping& grouping, const std::string& node) {
  std::string out = node;
  for (const std::string& name : groups_above(grouping, node)) out += ">" + name;
  return out;
}

// "KIND: groups, nodes" of each grouping, ways of some nodes, remarks with their lines.
template <typename More>
std::string text_of(std::string_view name, std::string_view bytes, More more) {
  const auto topology = read_slurm_topology(name, bytes);
  if (!topology.ok()) return std::string(topology.status().message());
  static constexpr const char* kKinds[] = {"unknown", "tree", "block", "flat", "ring", "torus"};
  std::string out;
  for (const model::NodeGrouping& grouping : topology->groupings) {
    out += fmt::format("{}{} {} groups {} nodes; ", kKinds[static_cast<int>(grouping.kind)],
                       grouping.is_default ? " default" : "", grouping.groups.size(), grouping.group_of_node.size());
  }
  out += more(topology->groupings.front());
  for (const model::Remark& remark : topology->remarks) out += fmt::format("({}: {}) ", remark.line, remark.text);
  return out;
}

std::string plain(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping&) { return std::string(); });
}

std::string blocks(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping& grouping) {
    std::string out;
    for (const uint32_t size : grouping.block_sizes) out += fmt::format("size {} ", size);
    return out + fmt::format("{} in {}; ", grouping.groups.at(1).nodes.size(), grouping.groups.at(1).name);
  });
}

std::string small_tree(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping& grouping) {
    return way(grouping, "dev9") + " " + way(grouping, "dev11") + " " + way(grouping, "dev12");
  });
}

std::string aliases(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping& grouping) {
    const model::NodeGroup& leaf = grouping.groups.at(grouping.group_of_node.at("srv6203"));
    return way(grouping, "srv6203") + fmt::format(" {}={}; ", leaf.name, leaf.alias);
  });
}

std::string two_roots(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping& grouping) {
    return way(grouping, "peta10021") + " " + way(grouping, "peta99999") + " ";
  });
}

std::string unbalanced(std::string_view name, std::string_view bytes) {
  return text_of(name, bytes, [](const model::NodeGrouping& grouping) {
    return way(grouping, "peta10000") + " " + way(grouping, "peta19999");
  });
}

}  // namespace

std::vector<FixtureRow> rows_of_slurm() {
  return {
      {"slurm_topology/bad-block-sizes-not-pow2.yaml",
       "block default 4 groups 16 nodes; (10: block size 12 is not 4 times a power of two; Slurm refuses it) ", plain},
      {"slurm_topology/bad-root-scalar.yaml",
       "bad-root-scalar.yaml:7: the root is neither a list of topologies nor one topology", plain},
      {"slurm_topology/man-all-types.yaml",
       "tree default 3 groups 4 nodes; block 4 groups 16 nodes; flat 0 groups 0 nodes; flat 0 groups 0 nodes; ring 2 "
       "groups 16 nodes; "
       "torus 1 groups 32 nodes; ",
       plain},
      {"slurm_topology/man-block-30.conf", "block default 4 groups 128 nodes; size 30 size 120 32 in block2; ", blocks},
      {"slurm_topology/man-tree.conf", "tree default 4 groups 18 nodes; dev9>s1>s3 dev11>s1>s3 dev12>s2>s3",
       small_tree},
      {"slurm_topology/tree-3tier-comment-aliases.conf",
       "tree default 19 groups 96 nodes; srv6203>switch.1.12>switch.2.6>switch.3.1 switch.1.12=leaf-6-2; ", aliases},
      {"slurm_topology/tree-two-roots-node-missing.conf",
       "tree default 22 groups 400 nodes; peta10021>leaf101>grp10 peta99999 (4: 2 roots without a common switch above "
       "them: grp10, grp11; hosts "
       "under different ones have no known way to each other) ",
       two_roots},
      {"slurm_topology/tree-unbalanced-10000nodes.conf",
       "tree default 528 groups 10000 nodes; peta10000>leaf100>grp10>im0>root peta19999>leaf599>grp35>root",
       unbalanced},
  };
}

}  // namespace railwitness::fabric
