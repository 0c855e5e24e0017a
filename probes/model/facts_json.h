// Facts as JSON: what goes over the bus and out of `railwitness ls --json`. Pure functions.
#ifndef RAILWITNESS_PROBES_MODEL_FACTS_JSON_H_
#define RAILWITNESS_PROBES_MODEL_FACTS_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/facts.h"

namespace railwitness::model {

std::string to_json(const NodeFacts& facts);
// Total: any bytes give facts or an error that names the member. At most 4 MiB, 4096 flows, 1024 of everything else.
absl::StatusOr<NodeFacts> parse_node_facts(std::string_view json);

std::string to_json(const std::vector<PingRequest>& requests);
absl::StatusOr<std::vector<PingRequest>> parse_ping_requests(std::string_view json);

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_FACTS_JSON_H_
