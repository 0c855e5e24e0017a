#include "probes/model/natural_order.h"

namespace railwitness::model {

bool natural_less(std::string_view left, std::string_view right) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = [&](std::string_view& text) {
    size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    std::string_view number = text.substr(0, length);
    text.remove_prefix(length);
    while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
    return number;
  };
  std::string_view a = left, b = right;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = digits(a), y = digits(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() && b.empty()) return left < right;  // mlx5_1 and mlx5_01 are two
  return a.empty();
}

}  // namespace railwitness::model
