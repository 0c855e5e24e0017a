// Output of ibqueryerrors (infiniband-diags), with and without --details, --data, --report-port (-r), --counters. Source: man
// ibqueryerrors, and the tool itself.
//
// Refused: text without a block of a node and without the summary at the end; a port's line outside of a block, or cut.
//
// Tolerated: GUIDs without leading zeros; the sum of "port ALL", which repeats its ports' counters (and stops earlier than
// they do) and is left out; the shortened number behind each value, of which some versions print "infPB". As remarks: the
// summary (how many nodes and ports were asked), thresholds, suppressed counters, lines that are none of these.
//
// A counter that is not printed stood below its threshold, or there is none. Values at the end of a counter's width are marked
// as saturated. In blocks of errors a CA's GUID is its port's, in blocks of data the node's.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBQUERYERRORS_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBQUERYERRORS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_ibqueryerrors(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBQUERYERRORS_H_
