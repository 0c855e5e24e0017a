// The reader's own relation between the time stamp counter and CLOCK_MONOTONIC of this host. What a job says about its
// clock is never used beyond which of the two it stamped with.
#ifndef RAILWITNESS_PROBES_RING_TICK_CLOCK_H_
#define RAILWITNESS_PROBES_RING_TICK_CLOCK_H_

#include <cstdint>

namespace railwitness::ring {

// One instant on both clocks and the rate around it.
struct TickRate {
  uint64_t ticks = 0;
  int64_t mono_ns = 0;
  double ns_per_tick = 0;  // 0: this host has no time stamp counter that could be read
};

// One thread. The constructor takes about 20 ms; each sample() afterwards lengthens the base line, so that the rate
// gets better while the anchor stays young: the error of an age is the error of the rate times that age.
class TickClock {
 public:
  TickClock();
  void sample();
  const TickRate& rate() const { return rate_; }

 private:
  TickRate first_, rate_;
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_TICK_CLOCK_H_
