// `mlxlink --json`: one port's link as firmware and module measure it.
//
// Source: mlxlink of MFT 4.2x to 4.34 (`mlxlink -d DEVICE -m -c -e --json`).
//
// Refused: what is no JSON object, no "result.output", an answer whose status is an error (its message is told).
// Tolerated: numbers as text, "N/A" alone and within lists, ranges behind values ("61 [-10..80]"), lists of lanes as
// {"values":[..]} or plain, missing groups and members, tabs of jsoncpp's layout.
// "15E-255" is the tool's way to say that no error was seen: never compared as a number.
// The physical state of an Ethernet port names a state of its auto-negotiation ("ETH_AN_FSM_ENABLE"): State says up or
// not.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_MLXLINK_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_MLXLINK_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/link_quality.h"

namespace railwitness::fabric {

absl::StatusOr<model::LinkQuality> read_mlxlink(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_MLXLINK_H_
