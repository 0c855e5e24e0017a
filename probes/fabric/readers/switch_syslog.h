// Ports that come and go, as a switch's own log tells it.
//
// Source: SONiC's syslog (orchagent's updatePortOperStatus in both of its wordings, teamd's "carrier changed to"), and
// `ip -timestamp monitor link` or `ip -tshort monitor link` of iproute2 6.1 on Cumulus Linux and other switches that
// are plain Linux.
//
// Refused: no line with a time in it.
// Tolerated: other lines, severity words that come twice, "<local2.warning>", ports that have an alias (in the text),
// several lines an event, microseconds without leading zeros, changes of the MTU (no event), any order between daemons.
// Told: ports that are still down at the end. An "up" without a "down" before it has no outage_ns: how long it was down
// is not known.
//
// One physical event that two daemons log is one event here: the same port and direction within a second, from
// different daemons. An administrator's down and up are kAdminDown and kAdminUp: no fault. SONiC's "Ethernet38" is the
// number of a lane, not of a port at the front; its alias is what stands there. Times have no zone, syslog's have no
// year: wall_ns stays empty.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_SWITCH_SYSLOG_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_SWITCH_SYSLOG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_switch_syslog(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_SWITCH_SYSLOG_H_
