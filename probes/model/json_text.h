// Bytes of strangers to a JSON value, bounded: size and nesting are checked before anything is built.
#ifndef RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_
#define RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace railwitness::model {

struct JsonBounds {
  size_t bytes = size_t{4} << 20;
  int depth = 16;  // our own documents need 7, lldpctl's 9
};

// The error names line and column.
absl::StatusOr<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds);

// One line; bytes that are no UTF-8 are replaced.
std::string dump(const nlohmann::json& value);

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_
