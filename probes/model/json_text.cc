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
  JsonNesting nesting;
  for (size_t i = 0; i < text.size(); ++i) {
    nesting.take(text[i]);
    if (nesting.depth() > depth) return i;
  }
  return std::string_view::npos;
}

}  // namespace

bool JsonNesting::take(char c) {
  if (in_string_) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else {
      is_escaped_ = c == '\\';
      in_string_ = c != '"';
    }
    return false;
  }
  in_string_ = c == '"';
  if (c == '[' || c == '{') ++depth_;
  const bool closes = c == ']' || c == '}';
  if (closes) --depth_;
  return closes;
}

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

}  // namespace railwitness::model
