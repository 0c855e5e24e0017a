// topology.yaml, the newer of the two forms that slurm_topology.h reads. yaml-cpp throws; nothing leaves this file.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_YAML_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_YAML_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/cluster_topology.h"

namespace railwitness::fabric {

// At most 4 MiB: yaml-cpp takes several hundred bytes for each value.
absl::StatusOr<model::ClusterTopology> read_slurm_topology_yaml(std::string_view file, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_SLURM_TOPOLOGY_YAML_H_
