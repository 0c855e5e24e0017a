// Lines as regular expressions, in RE2's syntax, over bytes of any encoding.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_PATTERN_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_PATTERN_H_

#include <re2/re2.h>

#include <cstddef>
#include <string_view>

namespace railwitness::fabric {

// Longer than any line of these tools, and short enough for RE2 on bytes of an enemy.
inline constexpr size_t kMaxLineBytes = 16384;

class Pattern {
 public:
  explicit Pattern(const char* text) : re_(text, RE2::Latin1) {}

  // Whether the whole of `line` is of this form; its groups in `out` (string, string_view's sort re2::StringPiece, number).
  template <typename... Out>
  bool matches(std::string_view line, Out... out) const {
    return line.size() <= kMaxLineBytes && RE2::FullMatch(re2::StringPiece(line.data(), line.size()), re_, out...);
  }
  // Whether `rest` begins with it; `rest` then stands behind.
  template <typename... Out>
  bool takes(std::string_view& rest, Out... out) const {
    if (rest.size() > kMaxLineBytes) return false;
    re2::StringPiece piece(rest.data(), rest.size());
    if (!RE2::Consume(&piece, re_, out...)) return false;
    rest = std::string_view(piece.data(), piece.size());
    return true;
  }

 private:
  RE2 re_;
};

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_PATTERN_H_
