#include "probes/ring/tick_clock.h"

#include <time.h>

#include "railwitness/base/clock.h"

namespace railwitness::ring {
namespace {

// The pair of the shortest of several tries: being scheduled away between the two reads would skew it.
TickRate read_pair() {
  TickRate best;
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const uint64_t before = read_tsc();
    const int64_t mono_ns = now_mono_ns();
    const uint64_t took = read_tsc() - before;
    if (took >= shortest) continue;
    shortest = took;
    best.ticks = before + took / 2;
    best.mono_ns = mono_ns;
  }
  return best;
}

}  // namespace

TickClock::TickClock() : first_(read_pair()) {
  rate_ = first_;
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  sample();
}

void TickClock::sample() {
  const TickRate pair = read_pair();
  const double ns_per_tick = rate_.ns_per_tick;
  rate_ = pair;
  rate_.ns_per_tick = ns_per_tick;
  if (pair.ticks > first_.ticks && pair.mono_ns > first_.mono_ns) {
    rate_.ns_per_tick =
        static_cast<double>(pair.mono_ns - first_.mono_ns) / static_cast<double>(pair.ticks - first_.ticks);
  }
}

}  // namespace railwitness::ring
