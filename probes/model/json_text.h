// Bytes of strangers to a JSON value, bounded: size and nesting are checked before anything is built.
#ifndef RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_
#define RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace railwitness::model {

// How deep the next character of a JSON text lies: brackets in strings do not count. Below 0: one more is closed than was
// opened. Takes any bytes.
class JsonNesting {
 public:
  // True: `c` closes an array or an object.
  bool take(char c);
  int depth() const { return depth_; }

 private:
  int depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
};

struct JsonBounds {
  size_t bytes = size_t{4} << 20;
  int depth = 16;  // our own documents need 7, lldpctl's 9
};

// The error names line and column.
absl::StatusOr<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds);

// One line; bytes that are no UTF-8 are replaced. Of nlohmann::json and ordered_json.
template <class Json>
std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_JSON_TEXT_H_
