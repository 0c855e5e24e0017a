// What the active probes between two nodes say of each rail. Pure: results in, verdicts out; no clock, no bus.
//
// A ping that is answered proves the whole way there and back and a living sidecar at its end. One that is not answered
// speaks against the rail only where that sidecar was there to answer, so whoever asks says what makes silence doubtful.
#ifndef RAILWITNESS_PROBES_RAIL_PAIR_VERDICT_H_
#define RAILWITNESS_PROBES_RAIL_PAIR_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/facts.h"

namespace railwitness::rail {

// From the best to the worst that is known; kUnknown is neither good nor bad.
enum class PairVerdict { kUnknown, kGood, kSlow, kLossy, kNoAnswer };

std::string_view word(PairVerdict verdict);  // "no answer"
bool is_bad(PairVerdict verdict);            // slow, lossy or no answer

// One direction of one rail: what was asked, and what came back.
struct Way {
  std::string cannot;                // why it cannot be asked; empty: it was
  uint32_t asked = 0;                // rounds
  std::vector<model::Ping> results;  // of them, those that came back
  std::string port_down;             // which port at either end has no link; empty: none is known to
  std::string doubt;                 // why a loss proves nothing; empty: it counts
  std::string late;                  // which sidecar was behind its schedule, so that some loss is chance; empty: none
};

struct WayVerdict {
  PairVerdict verdict = PairVerdict::kUnknown;
  std::string reason;                 // why unknown or bad; empty: good
  uint32_t sent = 0, received = 0;    // packets; of rounds that were sent to their end
  std::optional<int64_t> least_ns;    // of all round trips
  std::optional<int64_t> median_ns;   // over the rounds, of the least round trip of each
};

struct RailWays {
  int32_t index = 0;  // number of the rail
  Way there, back;    // from the first node to the second, and from the second to the first
};

struct RailVerdict {
  int32_t index = 0;
  PairVerdict verdict = PairVerdict::kUnknown;  // the worse of the two; good only if both are
  WayVerdict there, back;
};

// A way is slow if its least round trip is both so many times, and so much more than, the median of the other rails'
// in the same direction, and no shorter than what is usual on them: on hosts that are busy the least of a few round trips
// is chance. With fewer rails than kRailsToCompare nobody can say who is the slow one.
inline constexpr int64_t kSlowTimes = 5;
inline constexpr int64_t kSlowMoreNs = 20'000;
inline constexpr size_t kRailsToCompare = 3;

// One for each of `rails`, in the same order.
std::vector<RailVerdict> judge_pair(const std::vector<RailWays>& rails);

// A probe's `problem` that is itself silence of the rail: the network was asked for the peer's address, and nobody said.
bool is_unresolved(const std::string& problem);

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_PAIR_VERDICT_H_
