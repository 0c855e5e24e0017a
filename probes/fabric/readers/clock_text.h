// Times as logs of switches write them: without a zone, often without a year. Only differences within one log say
// anything.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_CLOCK_TEXT_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_CLOCK_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace railwitness::fabric {

struct ClockText {
  int64_t local_ns = 0;  // since 1970 by that clock
  size_t length = 0;     // of the text that says it
  bool has_year = true;  // otherwise 2000 stands for it, which has a 29 February
};

// At the start of `text`: "2024-06-21 07:46:24.442", "2024-06-21T07:46:24", "Mar  7 04:11:02.118032",
// "Sun Nov 29 18:05:48 2026". Fractions have 1 to 9 digits. Empty: no such time.
std::optional<ClockText> clock_at_start(std::string_view text);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_CLOCK_TEXT_H_
