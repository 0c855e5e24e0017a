// Slurm's topology files, how an operator says that nodes hang together.
//
// Source: topology.conf(5) (Slurm 17 to 25.05; SwitchName=, BlockName=, BlockSizes=) and topology.yaml(5)
// (Slurm 25.05), the latter through yaml-cpp.
//
// Refused, with the line: a root of YAML that is neither a list nor a map, a topology of no known kind, names that do
// not expand, a child that is no switch, a switch or block said twice, circles, and more than 1 000 000 names.
// Tolerated: lines in any order, the aliases that generators leave in comments ("# switch.1.1=leaf-1-1"), several roots
// (told: hosts under different ones have no known way to each other), blocks with more nodes than BlockSizes says
// (spares), `flat: true` and `flat:` with a map, further options, which are told. Told, too: block sizes that are not
// the first one times a power of two, a node in two switches (topology.conf(5) allows it; the first one is taken).
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/cluster_topology.h"

namespace railwitness::fabric {

// A name that ends in .yaml or .yml, or a text that begins as YAML ("---", "- "), is topology.yaml; else topology.conf.
absl::StatusOr<model::ClusterTopology> read_slurm_topology(std::string_view file_name, std::string_view bytes);

// "peta[10000-10019],x[1,3-5]", zero-padded or not, to names. The error says what does not expand.
absl::StatusOr<std::vector<std::string>> expand_host_list(std::string_view list, size_t max_names);

// Names of the groups above a node, its own first, the root last; empty: its place is not known.
std::vector<std::string> groups_above(const model::NodeGrouping& grouping, const std::string& node);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_H_
