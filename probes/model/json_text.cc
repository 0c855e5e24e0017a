#include "probes/model/json_text.h"

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace railwitness::model {
namespace {

using nlohmann::json;

std::string position(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t last_newline = before.rfind('\n');
  const size_t column = last_newline == std::string_view::npos ? at + 1 : at - last_newline;
  return fmt::format("line {} column {}", line, column);
}

// Where nesting first exceeds `depth`, npos if nowhere. The parser would take memory for every level.
size_t too_deep_at(std::string_view text, int depth) {
  int level = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++level > depth) return i;
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return std::string_view::npos;
}

}  // namespace

absl::StatusOr<json> parse_bounded_json(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) {
    return absl::ResourceExhaustedError(
        fmt::format("JSON of {} bytes, at most {} are read", text.size(), bounds.bytes));
  }
  if (const size_t at = too_deep_at(text, bounds.depth); at != std::string_view::npos) {
    return absl::InvalidArgumentError(
        fmt::format("JSON nested deeper than {} at {}", bounds.depth, position(text, at)));
  }
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("no JSON at {}", position(text, error.byte > 0 ? error.byte - 1 : 0)));
  } catch (const json::exception&) {  // a number out of range
    return absl::InvalidArgumentError("JSON with a number that is out of range");
  }
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace railwitness::model
