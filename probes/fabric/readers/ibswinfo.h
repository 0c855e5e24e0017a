// Output of ibswinfo (github.com/stanford-rc/ibswinfo) for one unmanaged switch: a table of NAME | VALUE with sections of
// power supplies and fans. Source: the script and its README.
//
// Refused: text without the table, or without a GUID in it.
//
// Tolerated: rows without a value and rows that are not there (unknown). As remarks: a number that is none ("temperature: foo"),
// rows that are not known.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_IBSWINFO_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_IBSWINFO_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// One device with one entry in FabricFacts::hardware.
absl::StatusOr<model::FabricFacts> read_ibswinfo(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_IBSWINFO_H_
