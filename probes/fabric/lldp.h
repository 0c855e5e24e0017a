// What lldpd knows of the neighbours of this node's ports: the output of `lldpctl -f json` (or json0) to edges.
// Pure: bytes in, facts out; nothing is run or read here.
#ifndef RAILWITNESS_PROBES_FABRIC_LLDP_H_
#define RAILWITNESS_PROBES_FABRIC_LLDP_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/facts.h"

namespace railwitness::fabric {

// The way out where lldpd's command fails. Debian lets root and the group adm run lldpctl.
inline constexpr std::string_view kLldpWayOut =
    "install and start lldpd, and let the sidecar's user run lldpctl (Debian: root or group adm)";

// One edge per interface that has a neighbour, with netdev, switch and switch port (device and port: join_rails()).
// Empty output, {} and {"lldp":{}} are no edges: "no information" is not "no cable". Malformed input is an error that
// names member and position. At most 1 MiB.
//
// A port can hear several neighbours: the switch, and the agent of a DPU or NIC that sits in the same cage. The one
// that looks like a switch is taken; a nameless agent that announces one MAC address as chassis and as port is a NIC's
// own and never an edge.
absl::StatusOr<std::vector<model::Edge>> parse_lldp_json(std::string_view json);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_LLDP_H_
