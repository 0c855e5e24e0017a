// A number or text that a job wrote. It comes out only through a question that says which values are acceptable, so a
// forgotten bound does not compile. Values must have been copied into private memory before.
#ifndef RAILWITNESS_PROBES_RING_UNTRUSTED_H_
#define RAILWITNESS_PROBES_RING_UNTRUSTED_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

namespace railwitness::ring {

template <typename T>
class Untrusted {
 public:
  explicit Untrusted(T value) : value_(value) {}

  T at_most(T limit) const { return std::min(value_, limit); }
  std::optional<T> below(T limit) const { return value_ < limit ? std::optional<T>(value_) : std::nullopt; }
  std::optional<T> within(T least, T greatest) const {
    return value_ >= least && value_ <= greatest ? std::optional<T>(value_) : std::nullopt;
  }
  bool is(T value) const { return value_ == value; }
  // For numbers of which none is wrong by itself: shown or compared, never an index, a size or a bound.
  T any() const { return value_; }

 private:
  T value_;
};

// Text of at most `capacity` bytes, ended by NUL or by the capacity. What is not a letter, a digit or one of _.:/-
// becomes '?', so that it can be shown on a terminal, in HTML, in SQL and in a label.
inline std::string filtered_text(const char* text_untrusted, std::size_t capacity) {
  std::string text;
  text.reserve(strnlen(text_untrusted, capacity));
  for (std::size_t i = 0; i < capacity && text_untrusted[i] != '\0'; ++i) {
    const char c = text_untrusted[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == ':' || c == '/' || c == '-';
    text.push_back(plain ? c : '?');
  }
  return text;
}

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_UNTRUSTED_H_
