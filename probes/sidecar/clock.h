// The present. Internal to probes/sidecar; everything below it is told the time.
#ifndef RAILWITNESS_PROBES_SIDECAR_CLOCK_H_
#define RAILWITNESS_PROBES_SIDECAR_CLOCK_H_

#include <cstdint>

#include "railwitness/base/clock.h"

namespace railwitness::sidecar {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// What is to be done again and again; a loop that was late does not catch up.
class Every {
 public:
  explicit Every(int64_t interval_ns) : interval_ns_(interval_ns) {}
  bool due(int64_t now_mono_ns) {
    if (now_mono_ns < next_mono_ns_) return false;
    next_mono_ns_ = now_mono_ns + interval_ns_;
    return true;
  }
  int64_t next_mono_ns() const { return next_mono_ns_; }

 private:
  int64_t interval_ns_;
  int64_t next_mono_ns_ = 0;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_CLOCK_H_
