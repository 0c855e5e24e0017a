// Facts of a fabric as JSON: what the map keeps over a restart. Pure functions; whoever calls does the reading and writing.
#ifndef RAILWITNESS_PROBES_FABRIC_FACTS_TEXT_H_
#define RAILWITNESS_PROBES_FABRIC_FACTS_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// One facts as a line: devices, ports with speed and counters, links. Remarks, events and hardware are not kept.
std::string facts_text(const model::FabricFacts& facts);

// The document of many: {"type":"railwitness-fabric","version":1,"facts":[...]}.
std::string state_text(const std::vector<model::FabricFacts>& facts);

// Total: any bytes give facts or an error that names the member and the way out. At most kMaxStateBytes.
absl::StatusOr<std::vector<model::FabricFacts>> parse_state(std::string_view text);
inline constexpr size_t kMaxStateBytes = size_t{256} << 20;

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_FACTS_TEXT_H_
