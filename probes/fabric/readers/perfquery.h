// Output of perfquery (infiniband-diags) over one port or several (-l): PortCounters, PortCountersExtended (-x), PortRcvErrorDetails
// (--rcverr), PortXmitDiscardDetails (--xmtdisc) and others of the form "NAME:....VALUE" below "# NAME: Lid L port P". Source: man
// perfquery, and the tool itself.
//
// Refused: text without one such block; counters before any; a value that is no number; ports beyond InfiniBand's 254.
//
// Tolerated: hexadecimal values, several blocks of one port, warnings of MADs between ("ibwarn: ..."), which are remarked as is
// every line that is none of these. The sum over all ports ("port 255", -a) is left out.
//
// The tool says a LID and no GUID. A file that is named after the GUID it was asked of ("0x7cfe9003009ce5b0.out", as
// infiniband_exporter names them) gives it; whether it is a switch nothing says.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_PERFQUERY_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_PERFQUERY_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_perfquery(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_PERFQUERY_H_
