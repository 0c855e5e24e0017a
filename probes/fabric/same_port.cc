#include "probes/fabric/same_port.h"

#include <algorithm>
#include <cctype>

namespace railwitness::fabric {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool has_number(std::string_view text, std::string_view number) {
  for (size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (text.substr(at, end - at) == number) return true;
    at = end;
  }
  return false;
}

}  // namespace

bool can_be_same_port(std::string_view a, std::string_view b) {
  if (a == b || a.empty() || b.empty()) return true;
  if (is_number(a) == is_number(b)) return false;
  return is_number(a) ? has_number(b, a) : has_number(a, b);
}

}  // namespace railwitness::fabric
