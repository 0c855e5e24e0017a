// Stamps of a job to CLOCK_MONOTONIC. Internal to probes/ring.
#ifndef RAILWITNESS_PROBES_RING_DECODE_TIME_H_
#define RAILWITNESS_PROBES_RING_DECODE_TIME_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "probes/ring/decode.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {

class StampReader {
 public:
  StampReader(uint32_t clock_untrusted, const TimeBounds& bounds, int64_t floor_mono_ns)
      : clock_(clock_untrusted), bounds_(bounds), floor_mono_ns_(std::min(floor_mono_ns, bounds.now_mono_ns)) {}

  // 0 is "never"; a clock that is not known gives no times at all.
  std::optional<int64_t> read(uint64_t stamp_untrusted) const {
    if (stamp_untrusted == 0) return std::nullopt;
    double mono_ns = 0;
    if (clock_ == RAILWITNESS_CLOCK_MONO_NS) {
      mono_ns = static_cast<double>(stamp_untrusted);
      if (stamp_untrusted <= static_cast<uint64_t>(bounds_.now_mono_ns)) {  // exact, where a double would round
        return std::max(static_cast<int64_t>(stamp_untrusted), floor_mono_ns_);
      }
    } else if (clock_ == RAILWITNESS_CLOCK_TSC && bounds_.rate.ns_per_tick > 0) {
      const auto ticks_from_anchor = static_cast<int64_t>(stamp_untrusted - bounds_.rate.ticks);  // wraps on purpose
      mono_ns = static_cast<double>(bounds_.rate.mono_ns) +
                static_cast<double>(ticks_from_anchor) * bounds_.rate.ns_per_tick;
    } else {
      return std::nullopt;
    }
    if (mono_ns <= static_cast<double>(floor_mono_ns_)) return floor_mono_ns_;
    if (mono_ns >= static_cast<double>(bounds_.now_mono_ns)) return bounds_.now_mono_ns;
    return static_cast<int64_t>(mono_ns);
  }

 private:
  uint32_t clock_;
  TimeBounds bounds_;
  int64_t floor_mono_ns_;
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_DECODE_TIME_H_
