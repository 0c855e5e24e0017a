// How a scheduler or a manager of racks says that nodes hang together: trees of switches, blocks (NVLink domains),
// rings. Plain values; nothing here is judged, an oddity is a remark.
#ifndef RAILWITNESS_PROBES_MODEL_CLUSTER_TOPOLOGY_H_
#define RAILWITNESS_PROBES_MODEL_CLUSTER_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::model {

// A switch of a tree, a block, a ring.
struct NodeGroup {
  std::string name;
  std::string alias;               // the name that people and the fabric know it by, where the source says one
  std::vector<std::string> nodes;  // directly in it, ranges expanded
  std::vector<size_t> children;    // indices in NodeGrouping::groups
  std::optional<size_t> parent;    // empty: a root
  uint32_t line = 0;
};

struct NodeGrouping {
  enum class Kind { kUnknown, kTree, kBlock, kFlat, kRing, kTorus } kind = Kind::kUnknown;
  std::string name;
  bool is_default = false;  // of the cluster
  std::vector<NodeGroup> groups;
  std::map<std::string, size_t> group_of_node;  // a node without entry: its place is not known
  std::vector<uint32_t> block_sizes;            // in nodes; blocks may have more (spares)
  uint32_t line = 0;
};

// What a manager knows of one node beyond its group.
struct ClusterNode {
  std::string name, id, health;
  std::string chassis_serial;
  std::optional<uint32_t> chassis, slot, tray, host;
  std::vector<std::string> gpu_ids;
};

struct ClusterTopology {
  Source source;
  std::vector<NodeGrouping> groupings;  // several may speak of the same nodes
  std::vector<ClusterNode> nodes;       // empty where the source has names only
  std::vector<Remark> remarks;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_CLUSTER_TOPOLOGY_H_
