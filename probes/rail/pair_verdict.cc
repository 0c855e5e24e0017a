#include "probes/rail/pair_verdict.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace railwitness::rail {
namespace {

// Of an even number, between the two in the middle. `values` is not empty.
int64_t median_of(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : values[half - 1] + (values[half] - values[half - 1]) / 2;
}

constexpr uint32_t kMostPackets = 1000;  // of a round; a sidecar sends PingService::kPackets

// Nothing that a sidecar measures: whoever may publish on its subject may write anything.
bool is_malformed(const model::Ping& ping) {
  return ping.received > ping.sent || ping.sent > kMostPackets || ping.rtt_ns.value_or(0) < 0 ||
         (ping.problem.empty() && ping.sent == 0);
}

// The results of one way, counted.
struct Count {
  uint32_t whole = 0, malformed = 0, unresolved = 0;  // rounds
  std::string problem;                                // of the first that could not be sent
  WayVerdict verdict;
};

Count count(const Way& way) {
  Count out;
  std::vector<int64_t> round_trips;
  for (const model::Ping& ping : way.results) {
    if (is_malformed(ping)) {
      ++out.malformed;
    } else if (!ping.problem.empty()) {  // it ended there, so what it did send had no time to be answered
      out.unresolved += is_unresolved(ping.problem) ? 1 : 0;
      if (out.problem.empty()) out.problem = ping.problem;
    } else {
      ++out.whole;
      out.verdict.sent += ping.sent;
      out.verdict.received += ping.received;
      if (ping.received > 0 && ping.rtt_ns) round_trips.push_back(*ping.rtt_ns);
    }
  }
  if (!round_trips.empty()) {
    out.verdict.least_ns = *std::min_element(round_trips.begin(), round_trips.end());
    out.verdict.median_ns = median_of(round_trips);
  }
  return out;
}

// Which rounds there is no word of, and why.
std::string lacking(const Way& way, const Count& counted) {
  if (way.asked == 0) return "it was not asked";
  if (!counted.problem.empty()) return counted.problem;
  if (counted.malformed > 0) return fmt::format("{} of {} results are none that a sidecar gives", counted.malformed, way.asked);
  return fmt::format("{} of {} results did not come back over the bus", way.asked - counted.whole, way.asked);
}

WayVerdict judge_way(const Way& way) {
  Count counted = count(way);
  WayVerdict& out = counted.verdict;
  const auto say = [&out](PairVerdict verdict, std::string reason) {
    out.verdict = verdict;
    out.reason = std::move(reason);
    return std::move(out);
  };
  if (out.received == 0 && !way.port_down.empty()) return say(PairVerdict::kNoAnswer, way.port_down);
  if (!way.cannot.empty()) return say(PairVerdict::kUnknown, way.cannot);
  if (out.received < out.sent) {
    if (!way.doubt.empty()) return say(PairVerdict::kUnknown, way.doubt);
    if (out.received > 0) return say(PairVerdict::kLossy, fmt::format("{} of {} lost", out.sent - out.received, out.sent));
    return say(PairVerdict::kNoAnswer, fmt::format("none of {} answered", out.sent));
  }
  if (counted.whole == way.asked && way.asked > 0) return say(PairVerdict::kGood, "");
  if (counted.whole == 0 && counted.unresolved > 0 && way.doubt.empty()) {
    return say(PairVerdict::kNoAnswer, counted.problem);
  }
  return say(PairVerdict::kUnknown, lacking(way, counted));
}

// What a sidecar that does not get to run loses is chance, on one rail more than on another; but it loses no rail whole while
// it answers half of what comes on another.
void forgive_lateness(const std::vector<RailWays>& rails, Way RailWays::* side, WayVerdict RailVerdict::* verdict_side,
                      std::vector<RailVerdict>& verdicts) {
  std::vector<size_t> forgiven;
  for (size_t i = 0; i < rails.size(); ++i) {
    const Way& way = rails[i].*side;
    const WayVerdict& own = verdicts[i].*verdict_side;
    if (way.late.empty() || own.sent == 0 || own.received == own.sent || !way.port_down.empty()) continue;
    const bool is_cleared = std::any_of(verdicts.begin(), verdicts.end(), [&](const RailVerdict& rail) {
      const WayVerdict& other = rail.*verdict_side;
      return own.received == 0 && other.sent > 0 && other.received >= (other.sent + 1) / 2;
    });
    if (!is_cleared) forgiven.push_back(i);
  }
  for (const size_t i : forgiven) {
    WayVerdict& own = verdicts[i].*verdict_side;
    own.verdict = PairVerdict::kUnknown;
    own.reason = (rails[i].*side).late;
  }
}

void find_slow(WayVerdict RailVerdict::* side, std::vector<RailVerdict>& verdicts) {
  std::vector<size_t> slow;
  std::vector<int64_t> median(verdicts.size(), 0);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const WayVerdict& own = verdicts[i].*side;
    if (own.verdict != PairVerdict::kGood || !own.least_ns) continue;
    std::vector<int64_t> others, usual;
    for (size_t other = 0; other < verdicts.size(); ++other) {
      const WayVerdict& way = verdicts[other].*side;
      if (other == i || !way.least_ns) continue;
      others.push_back(*way.least_ns);
      usual.push_back(*way.median_ns);
    }
    if (others.size() + 1 < kRailsToCompare) continue;
    median[i] = median_of(std::move(others));
    // Divided, not multiplied: a round trip may be any number that JSON can hold.
    const bool is_longer = *own.least_ns / kSlowTimes >= median[i] && *own.least_ns - median[i] >= kSlowMoreNs;
    if (is_longer && *own.least_ns >= median_of(std::move(usual))) slow.push_back(i);
  }
  for (const size_t i : slow) {
    WayVerdict& own = verdicts[i].*side;
    own.verdict = PairVerdict::kSlow;
    own.reason = fmt::format("{:.1f} us where the other rails take {:.1f} us", static_cast<double>(*own.least_ns) / 1e3,
                             static_cast<double>(median[i]) / 1e3);
  }
}

PairVerdict worse(PairVerdict a, PairVerdict b) {
  if (is_bad(a) || is_bad(b)) return std::max(a, b);
  return a == PairVerdict::kGood && b == PairVerdict::kGood ? PairVerdict::kGood : PairVerdict::kUnknown;
}

}  // namespace

std::string_view word(PairVerdict verdict) {
  switch (verdict) {
    case PairVerdict::kUnknown: return "unknown";
    case PairVerdict::kGood: return "good";
    case PairVerdict::kSlow: return "slow";
    case PairVerdict::kLossy: return "lossy";
    case PairVerdict::kNoAnswer: return "no answer";
  }
  return "unknown";
}

bool is_bad(PairVerdict verdict) { return verdict >= PairVerdict::kSlow; }

bool is_unresolved(const std::string& problem) {
  if (!problem.starts_with("cannot address ")) return false;  // address_worker.cc
  return problem.ends_with(std::strerror(ETIMEDOUT)) || problem.ends_with(std::strerror(EHOSTUNREACH));
}

std::vector<RailVerdict> judge_pair(const std::vector<RailWays>& rails) {
  std::vector<RailVerdict> out;
  for (const RailWays& rail : rails) {
    RailVerdict& verdict = out.emplace_back();
    verdict.index = rail.index;
    verdict.there = judge_way(rail.there);
    verdict.back = judge_way(rail.back);
  }
  forgive_lateness(rails, &RailWays::there, &RailVerdict::there, out);
  forgive_lateness(rails, &RailWays::back, &RailVerdict::back, out);
  find_slow(&RailVerdict::there, out);
  find_slow(&RailVerdict::back, out);
  for (RailVerdict& verdict : out) verdict.verdict = worse(verdict.there.verdict, verdict.back.verdict);
  return out;
}

}  // namespace railwitness::rail
