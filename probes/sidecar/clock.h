// The present. Internal to probes/sidecar; everything below it is told the time.
#ifndef RAILWITNESS_PROBES_SIDECAR_CLOCK_H_
#define RAILWITNESS_PROBES_SIDECAR_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace railwitness::sidecar {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;

inline int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}
inline int64_t now_mono_ns() { return read_clock_ns(CLOCK_MONOTONIC); }
inline int64_t now_wall_ns() { return read_clock_ns(CLOCK_REALTIME); }

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
