// The plugin measures what it costs, and keeps only counters where that is more than the job's owner allows.
// docs/decisions/0009-self-measure.md says why so.
//
// The helper thread publishes another name of the memory (Detail::kTimed); the next 80 calls find it, take the rare path
// and time there what the frequent one does: of 64 of them the time counts, 16 warm up code that is not run otherwise.
// Once a second the helper multiplies their mean by the number of events and compares with the time that passed.
#ifndef RAILWITNESS_PLUGIN_WITNESS_COST_H_
#define RAILWITNESS_PLUGIN_WITNESS_COST_H_

#include "plugin/witness/hot.h"

#include <cstdint>

namespace railwitness::witness {

inline constexpr int64_t kWarmCalls = 16, kTimedCalls = 64;
inline constexpr int kTurnMs = 1000, kIdleTurnMs = 5000;  // the helper's; the second one while nobody calls
inline constexpr int kTickMs = 50;                        // while the clock is not read

inline Detail detail_of(const Memory* m) { return m ? m->detail : Detail::kFull; }

// What the recording of one call takes, in one or more windows. Any thread, on the rare path; nothing where `detail` is
// another than kTimed.
class CallTimer {
 public:
  explicit CallTimer(Detail detail) : is_on_(detail == Detail::kTimed) {}
  void begin() {
    if (is_on_) began_ = ticks();
  }
  void end() {
    if (!is_on_) return;
    took_ += ticks() - began_;
    windows_++;
  }
  // Each window has a reading of the clock too many. `stamps_outside`: those of the call itself that lie in no window.
  void count(uint64_t events, int stamps_outside = 0) const;

 private:
  const bool is_on_;
  int windows_ = 0;
  uint64_t began_ = 0, took_ = 0;
};

// When to keep counters only, and when no longer. Pure.
class CostJudge {
 public:
  // `ppm`: what full recording takes, or would take, of the calling threads' time. 0 of `most_ppm`: it may take any.
  // Returns kFull or kCounters.
  Detail judge(uint64_t ppm, uint64_t most_ppm, uint64_t now_ns);

 private:
  Detail detail_ = Detail::kFull;
  int turns_ = 0;  // that speak for a change, one after the other
  uint64_t changed_ns_ = 0;
  uint64_t wait_ns_ = 0;  // before full recording may come back; doubles where it did not last
};

// By the helper thread, before it waits for anything: does what is due. Returns for how many ms it may wait.
// `max_permille`: of RAILWITNESS_COST_MAX_PERMILLE.
int take_cost_turn(uint32_t max_permille);

// The parts of a turn, for tests. Under the recorder's mutex each.
void time_next_calls();              // publishes Detail::kTimed
void record_in(Detail detail);       // kFull or kCounters from now on
void forget_cost();

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_COST_H_
