// What a host says of its own ports, in five forms: ibstat (infiniband-diags) with and without -s, -p; ibv_devinfo (with -v);
// ibdev2netdev (with -v; from MLNX_OFED); and a list of port GUIDs below lines "VM_hostname NAME". Source: man ibstat, man
// ibv_devinfo, the tools.
//
// Refused: text with no device, port or GUID of any of these forms; a port without a device; a line of ibdev2netdev that is cut.
//
// Tolerated: CAs in any order, any indentation, capability lists, lines of no form (left out in silence: these tools print
// hundreds). GUIDs and LIDs of 0 are none. A port that is not active has no rate: 40 or 10 there is a default.
//
// Of ibdev2netdev the link layer is taken from how systemd names interfaces ("ib...", "en...", "eth..."), else it is unknown.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBSTAT_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBSTAT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_ibstat(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBSTAT_H_
