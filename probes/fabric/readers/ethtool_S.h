// `ethtool -S`: the counters of one Ethernet interface.
//
// Source: ethtool(8) 5.x and 6.x, names as the mlx5 driver has them; they are kept as they are.
//
// Refused, with the line: a line that is not "NAME: NUMBER", no counter at all.
// Tolerated: the head "NIC statistics:" or none (output of grep), prompts with a name before "NIC statistics:",
// counters that somebody left out: without entry a counter is not known, never 0. Told, as facts to judge with others:
// discards with the pause frames that the host itself sends, pauses of one priority without loss. Neither says anything
// of the cable, for which symbol and CRC counters would stand.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_ETHTOOL_S_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_ETHTOOL_S_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// One device without name with one port: the output does not say whose it is, its file's name may.
absl::StatusOr<model::FabricFacts> read_ethtool_s(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_ETHTOOL_S_H_
