// UFM's event log, /opt/ufm/files/log/event.log.
//
// Source: UFM 6.x, lines "TIME [ID] [EVENT] SEVERITY [CATEGORY] TYPE [OBJECT]: TEXT". Events 328 and 329 (link up,
// down; both ends named), 702 (port unhealthy) and 110 to 136 (counters over their threshold, 112: link downed) have a
// kind of their own, others are kept as they are.
//
// Refused, with the line: no line of that form at all.
// Tolerated: lines of other forms (counted), ports as "1/17/1" with the number behind the GUID.
// Times are local without zone: wall_ns stays empty, local_ns tells differences. One flap is logged once by each end
// and often more than once: the same event of the same two ends within a second is one.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_UFM_EVENTS_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_UFM_EVENTS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// Links that a line names both ends of are in links, too, with the cable's serial number.
absl::StatusOr<model::FabricFacts> read_ufm_events(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_UFM_EVENTS_H_
