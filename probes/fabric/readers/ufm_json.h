// Answers of NVIDIA UFM: links, ports, telemetry.
//
// Source: UFM REST /ufmRest/resources/links and /resources/ports (UFM 6.x), and messages of its telemetry stream
// (fluentd plugin). Known by their members; a list may mix links and ports.
//
// Refused: no JSON, elements that are neither link, port nor telemetry, a GUID or port that is none.
// Tolerated: port numbers as text, GUIDs without 0x, logical_state "N/A" beside physical_state "Link Up" (the latter is
// taken), a description that says "Switch IB Port" of a host's port (told; the node description decides), the port
// behind a colon in descriptions ("SW-10:19"). Never taken: identity out of a link's "name", which can carry other
// GUIDs than its members (told). Of telemetry the inner time stamps, in microseconds since 1970, are taken; the outer
// one is local time without zone. Its rates ("_f_u_") are no counters and are left out.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_UFM_JSON_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_UFM_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_ufm_json(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_UFM_JSON_H_
