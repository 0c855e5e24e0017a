// How many slips of the keyboard lie between two words: a letter more, less or other, or two neighbours swapped, each
// counts one (Damerau-Levenshtein, no part edited twice). No allocation; for names, not for texts.
#ifndef RAILWITNESS_BASE_EDIT_DISTANCE_H_
#define RAILWITNESS_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace railwitness {

inline constexpr size_t kLongestWord = 80;  // longer ones are far from everything

constexpr size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestWord || b.size() > kLongestWord) return a == b ? 0 : kLongestWord;
  uint8_t rows[3][kLongestWord + 1] = {};  // two letters back, one back, this one
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<uint8_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    const uint8_t* before = rows[(i + 1) % 3];
    const uint8_t* above = rows[(i - 1) % 3];
    uint8_t* row = rows[i % 3];
    row[0] = static_cast<uint8_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int least = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      if (above[j] + 1 < least) least = above[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < least) least = before[j - 2] + 1;
      row[j] = static_cast<uint8_t>(least);
    }
  }
  return rows[a.size() % 3][b.size()];
}

static_assert(edit_distance("SOKET", "SOCKET") == 1 && edit_distance("MDOE", "MODE") == 1);
static_assert(edit_distance("", "abc") == 3 && edit_distance("abc", "abc") == 0);

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_EDIT_DISTANCE_H_
