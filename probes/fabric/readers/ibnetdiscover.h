// Output of ibnetdiscover (infiniband-diags), both its forms: the topology file (also with --full and --grouping), and the
// report of ports (-p, --ports). Source: man ibnetdiscover, section TOPOLOGY FILE FORMAT, and the tool itself.
//
// Refused: text without one node or row of either form; a line that begins like a node or a port and cannot be read (cut or
// edited: a fabric with a hole is not this fabric); a port outside of a node's block or beyond InfiniBand's 254.
//
// Tolerated: GUIDs with and without leading zeros, old "base port 0", "s=4 w=2 v=4 e=4" behind a speed, any blanks, headings
// of chassis, missing blank lines. As remarks: lines that are none of these; a GUID that is masked or damaged (the node then
// stands for itself, found by nothing but its name); a node that is there twice; ends that disagree in width.
//
// The report of ports gives the GUID of a switch, but only the port's of a CA: there each CA port is a device without GUID.
// Its rows without a far end are ports that are down: width and speed there are defaults.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBNETDISCOVER_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBNETDISCOVER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_ibnetdiscover(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBNETDISCOVER_H_
