// The compute nodes of NMX / NetQ: which nodes are in one NVLink domain.
//
// Source: the answer of NMX-M's /nmx/v1/compute-nodes (NetQ for NVLink), as clients of it store it: a list of objects
// with ID, Name, DomainUUID, GpuIDList and LocationInfo.
//
// Refused: what is no list of objects, a node without Name and ID, a name that comes twice.
// Tolerated: nodes without domain (their place is not known), missing or further members; ids are opaque.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_NETQ_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_NETQ_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/cluster_topology.h"

namespace railwitness::fabric {

// One grouping of blocks, named by their domain.
absl::StatusOr<model::ClusterTopology> read_netq(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_NETQ_H_
