#include "plugin/ofi/wait.h"

#include "railwitness/base/clock.h"

#include <sched.h>
#include <time.h>

namespace railwitness::ofi {
namespace {

constexpr uint32_t kEmptyBeforeYield = 64;
constexpr uint64_t kOthersRanNs = 30'000;  // a yield that takes longer than this gave the processor to somebody
constexpr int kPressureToSleep = 2, kMostPressure = 16;
constexpr long kSleepNs = 20'000;  // with the kernel's timer slack about 70 µs

struct Idle {
  uint32_t empty_polls;
  int pressure;
};
thread_local constinit Idle idle{};

void sleep_a_little() {
  const timespec t{0, kSleepNs};
  nanosleep(&t, nullptr);
}

}  // namespace

void note_progress() { idle.empty_polls = 0; }

void note_empty_poll(Wait wait) {
  if (++idle.empty_polls % kEmptyBeforeYield || wait == Wait::kSpin) return;
  if (wait == Wait::kSleep) return sleep_a_little();
  const uint64_t before = read_clock_ns(CLOCK_MONOTONIC);
  sched_yield();
  const bool others_ran = read_clock_ns(CLOCK_MONOTONIC) - before > kOthersRanNs;
  idle.pressure += others_ran ? 4 : -1;
  if (idle.pressure < 0) idle.pressure = 0;
  if (idle.pressure > kMostPressure) idle.pressure = kMostPressure;
  if (idle.pressure >= kPressureToSleep) sleep_a_little();
}

uint32_t coarse_clock_ms() {
  return static_cast<uint32_t>(read_clock_ns(CLOCK_MONOTONIC_COARSE) / 1'000'000);
}

}  // namespace railwitness::ofi
