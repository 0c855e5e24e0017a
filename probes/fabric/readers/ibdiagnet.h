// Files of ibdiagnet: ibdiagnet2.db_csv (sections NODES, PORTS, LINKS, PM_INFO between START_ and END_; others are passed over),
// one of these sections alone as CSV, and ibdiagnet2.net_dump. Source: the ibdiagnet user manual (NVIDIA), headers of the files.
// Fields of CSV are read with libcsv.
//
// Refused: text that is none of these, a section without its end, without a column that it needs, or with a row of another
// number of fields than its header (cut); a node without GUID; ports beyond InfiniBand's 254.
//
// Tolerated: columns in any order and unknown ones; "N/A" (unknown); decimal and hexadecimal numbers; sections that are not
// there. Widths and speeds count on ports that are active only. LINKS names each link once: the far end is missing only where
// there is a section NODES that does not have it.
//
// net_dump says the speed of a lane in Gb/s (2.5 to 100). 200 is the whole port of HDR, but XDR's lane where the switch is a
// Quantum-X800; 400 and 800 are whole ports of NDR and XDR. A remark tells which was taken.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBDIAGNET_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBDIAGNET_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_ibdiagnet(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBDIAGNET_H_
