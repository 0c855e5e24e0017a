// Output of iblinkinfo (infiniband-diags): blocks under "CA: ..." and "Switch: ...", one line a link (-l, --line), with -p,
// --switches-only, --cas-only, --down, and what grep leaves of it. Source: man iblinkinfo, and the tool itself.
//
// Refused: text without one such line; a line of a port that is cut; ports beyond InfiniBand's 254; LIDs beyond 65535.
//
// Tolerated: blanks of any number, names padded within their quotes, a port without far end, missing headers. Far ends are
// said by LID, so nodes of lines without a header are found by theirs; two nodes that claim one LID (two fabrics in one file)
// are remarked, and nothing is joined by it. As remarks: lines that are none of these.
//
// GUIDs are the node's for a switch and the port's for a CA. Speeds are those of one lane. A node that neither header, GUID
// nor description tells to be a switch or a CA has no kind.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBLINKINFO_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBLINKINFO_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_iblinkinfo(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBLINKINFO_H_
