// JSON of tools that number their members as text as often as not. Pure; nothing is thrown to the caller.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_JSON_INPUT_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_JSON_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace railwitness::fabric {

// One document; refusals name the file, line and column.
absl::StatusOr<nlohmann::json> read_json(std::string_view file, std::string_view bytes);

// The object's member; nullptr: `value` is no object, or has none of that name.
const nlohmann::json* member_of(const nlohmann::json& value, const char* name);

// A member as text fit for a terminal: a string, a number or a boolean; empty where it is none or says "N/A".
std::string text_member(const nlohmann::json& object, const char* name);
// A member as a number without sign: 7 and "7"; empty where it is neither.
std::optional<uint64_t> number_member(const nlohmann::json& object, const char* name);
std::optional<uint32_t> small_number_member(const nlohmann::json& object, const char* name);

// Where the JSON value at the start of `text` ends: behind its last bracket; npos where it never does.
size_t json_value_end(std::string_view text);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_JSON_INPUT_H_
