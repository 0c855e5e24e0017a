// What lldpd knows of the neighbours of ports: every output of `lldpctl` that is meant for programs.
//
// Source: lldpctl(8) of lldpd 0.7 to 1.0.16, `-f json`, `-f json0` and `-f keyvalue`; SONiC's wrapped one
// ("lldp_loc_chassis" beside "lldp"); Cumulus Linux. Pure: bytes in, facts out; nothing is run or read here.
//
// Refused: lldpctl's output for people ("LLDP neighbors:"), and what is no output of it.
// Tolerated: empty output, {} and {"lldp":{}}, which are no neighbours ("no information" is not "no cable"); values
// that are a text or a list; a chassis without name; a key of another interface in a block (told, not taken); ports
// whose id is a bare ifIndex or a MAC address, whose description then names them.
//
// A port can hear several neighbours: the switch, and the agent of a DPU or NIC that sits in the same cage. The one
// that looks like a switch is taken; a nameless agent that announces one MAC address as chassis and as port is a NIC's
// own and never an edge.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_LLDP_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_LLDP_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"
#include "probes/model/facts.h"

namespace railwitness::fabric {

// The way out where lldpd's command fails. Debian lets root and the group adm run lldpctl.
inline constexpr std::string_view kLldpWayOut =
    "install and start lldpd, and let the sidecar's user run lldpctl (Debian: root or group adm)";

// One edge per interface that has a neighbour, with netdev, switch and switch port (device and port: join_rails()).
// json and json0. Malformed input is an error that names member and position. At most 1 MiB.
absl::StatusOr<std::vector<model::Edge>> parse_lldp_json(std::string_view json);

// json, json0 and keyvalue. The first device is the one that runs lldpd, its name empty unless SONiC's form says it;
// its ports are labelled as its interfaces. Links lead to the switches' ports.
absl::StatusOr<model::FabricFacts> read_lldp(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_LLDP_H_
