#include "plugin/witness/cost.h"

#include "plugin/witness/recorder_state.h"

namespace railwitness::witness {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr int kTurnsOver = 3, kTurnsUnder = 5;
constexpr uint64_t kWaitNs = 5 * kSecondNs, kWaitMostNs = 320 * kSecondNs;
constexpr uint64_t kLastedNs = 60 * kSecondNs;  // what full recording must last to start again from kWaitNs
constexpr uint64_t kLongestNs = 10'000;  // of one call: beyond it the thread was interrupted, as nothing here waits
constexpr int64_t kLeast = 16;           // timed calls, for a mean

// Written by calling threads and the helper.
struct Burst {
  int64_t left;
  uint64_t events, ticks;
  uint64_t reading_ticks;  // what the clock itself takes
  uint64_t longest_ticks;
};
constinit Burst burst{};

template <typename T>
void add(T& word, std::type_identity_t<T> n) {
  __atomic_fetch_add(&word, n, __ATOMIC_RELAXED);
}

// Back to the name that calls have otherwise, unless another memory was published meanwhile.
void end_burst() {
  const Memory* m = current();
  if (detail_of(m) != Detail::kTimed) return;
  __atomic_compare_exchange_n(&hot.current, &m, name_of(*m->base, lasting_detail()), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
}

uint64_t time_a_reading() {
  uint64_t least = ~0ull;
  for (int i = 0; i < 16; i++) {
    const uint64_t before = ticks(), took = ticks() - before;
    if (took < least) least = took;
  }
  return least;
}

// What the helper remembers from one turn to the next.
struct Meter {
  uint64_t next_ns, last_ns, last_ticks;
  uint64_t recorded[RAILWITNESS_THREAD_CAPACITY], polls[RAILWITNESS_THREAD_CAPACITY];  // of each thread
  uint64_t connection_events;
  uint64_t events, ticks;  // of the bursts
  CostJudge judge;
};
Meter meter{};

uint64_t events_of(const Flow& flow) {
  const railwitness_state& s = *flow.state;
  return load_relaxed(s.posted) + load_relaxed(s.completed) + load_relaxed(s.receives_posted) +
         load_relaxed(s.receives_completed);
}

// Of connections, whose calls no thread's line counts.
uint64_t count_connection_events() {
  uint64_t events = 0;
  for (uint32_t i = 0;;) {
    const Lock lock;  // for some flows at a time: others wait for it
    for (const uint32_t end = i + 64; i < end; i++) {
      if (!lock || i >= recorder.flow_count) return events;
      if (recorder.identities[i].kind == RAILWITNESS_FLOW_CONNECTION) events += events_of(recorder.flows[i]);
    }
  }
}

struct Activity {
  uint64_t events, threads;
};

// `any`: calls were timed. If none was, none was made since the last turn: connections need not be asked.
Activity measure_activity(bool any) {
  Activity a{};
  const uint64_t connections = any ? count_connection_events() : meter.connection_events;
  if (connections > meter.connection_events) a.events = connections - meter.connection_events;
  meter.connection_events = connections;
  const Lock lock;
  if (!lock) return a;
  const auto* lines = reinterpret_cast<const railwitness_thread*>(base()->threads);
  for (uint32_t i = 0; i < recorder.thread_count; i++) {
    const uint64_t recorded = load_relaxed(lines[i].posts) + load_relaxed(lines[i].completions);
    const uint64_t polls = load_relaxed(lines[i].polls);
    if (recorded != meter.recorded[i] || polls != meter.polls[i]) a.threads++;
    if (recorded > meter.recorded[i]) a.events += recorded - meter.recorded[i];  // less: the line is another thread's now
    meter.recorded[i] = recorded;
    meter.polls[i] = polls;
  }
  return a;
}

void publish(uint64_t ppm, uint64_t event_ticks, uint32_t max_permille) {
  const Lock lock;
  if (!lock) return;
  railwitness_writer& w = *base()->writer;
  store_relaxed(w.cost_events, meter.events);
  store_relaxed(w.cost_ticks, meter.ticks);
  store_relaxed(w.cost_ppm, ppm > 0xffffffff ? 0xffffffff : static_cast<uint32_t>(ppm));
  store_relaxed(w.cost_event_ticks, static_cast<uint32_t>(event_ticks));
  store_relaxed(w.cost_max_permille, static_cast<uint16_t>(max_permille));
}

void evaluate(uint32_t max_permille, uint64_t now_ns) {
  const uint64_t now_ticks = ticks(), passed = now_ticks - meter.last_ticks;
  const uint64_t events = load_relaxed(burst.events), took = load_relaxed(burst.ticks);
  const uint64_t timed = events - meter.events, timed_ticks = took - meter.ticks;
  const Activity a = measure_activity(timed >= kLeast);
  uint64_t ppm = 0, event_ticks = 0;
  if (timed >= kLeast && passed) {
    event_ticks = timed_ticks / timed;
    const double all = static_cast<double>(timed_ticks) / static_cast<double>(timed) * static_cast<double>(a.events);
    ppm = static_cast<uint64_t>(1e6 * all / (static_cast<double>(passed) * static_cast<double>(a.threads ? a.threads : 1)));
    meter.events = events, meter.ticks = took;
  }
  publish(ppm, event_ticks, max_permille);
  const Detail detail = meter.judge.judge(ppm, max_permille * uint64_t{1000}, now_ns);
  if (detail != lasting_detail()) record_in(detail);
  const uint64_t passed_ns = now_ns - meter.last_ns;
  if (passed_ns)
    store_relaxed(burst.longest_ticks, static_cast<uint64_t>(static_cast<double>(passed) * kLongestNs / static_cast<double>(passed_ns)));
  meter.last_ticks = now_ticks;
}

}  // namespace

void CallTimer::count(uint64_t events, int stamps_outside) const {
  if (!is_on_) return;
  const auto extra = static_cast<uint64_t>(windows_ - stamps_outside) * load_relaxed(burst.reading_ticks);
  const uint64_t longest = load_relaxed(burst.longest_ticks);
  uint64_t took = took_ > extra ? took_ - extra : 0;
  if (longest && took > longest) took = longest;
  const int64_t left = __atomic_sub_fetch(&burst.left, 1, __ATOMIC_RELAXED);
  if (left < kTimedCalls && left >= 0) {
    add(burst.ticks, took);
    add(burst.events, events);
  }
  if (left <= 0) end_burst();
}

Detail CostJudge::judge(uint64_t ppm, uint64_t most_ppm, uint64_t now_ns) {
  const bool is_full = detail_ == Detail::kFull;
  const bool speaks = is_full ? most_ppm && ppm > most_ppm : !most_ppm || ppm <= most_ppm / 2;
  turns_ = speaks ? turns_ + 1 : 0;
  if (turns_ < (is_full ? kTurnsOver : kTurnsUnder)) return detail_;
  const uint64_t lasted = now_ns - changed_ns_;
  if (is_full) {
    const bool did_last = !changed_ns_ || lasted >= kLastedNs;
    wait_ns_ = did_last ? kWaitNs : wait_ns_ * 2 > kWaitMostNs ? kWaitMostNs : wait_ns_ * 2;
  } else if (lasted < wait_ns_) {
    return detail_;
  }
  detail_ = is_full ? Detail::kCounters : Detail::kFull;
  changed_ns_ = now_ns;
  turns_ = 0;
  return detail_;
}

void time_next_calls() {
  if (detail_of(current()) == Detail::kTimed) return;  // nobody has called since
  const uint64_t reading = time_a_reading();
  const Lock lock;
  if (!lock || detail_of(current()) == Detail::kTimed) return;
  store_relaxed(burst.reading_ticks, reading);
  store_relaxed(burst.left, kWarmCalls + kTimedCalls);
  store_release(hot.current, name_of(*base(), Detail::kTimed));
}

void record_in(Detail detail) {
  const Lock lock;
  if (!lock || detail == lasting_detail()) return;
  store_relaxed(hot.coarse_ticks, ticks());
  railwitness_writer& w = *base()->writer;
  const bool is_full = detail == Detail::kFull;
  store_relaxed(recorder.counters_only, !is_full);
  store_relaxed(w.detail_since_ticks, ticks());
  store_relaxed(w.detail, is_full ? RAILWITNESS_DETAIL_FULL : RAILWITNESS_DETAIL_COUNTERS);
  store_relaxed(w.detail_ppm, load_relaxed(w.cost_ppm));
  if (!is_full) add_relaxed(w.detail_reductions, 1);
  write_event({.kind = is_full ? RAILWITNESS_CONTROL_DETAIL_RESTORED : RAILWITNESS_CONTROL_DETAIL_REDUCED,
               .value = {load_relaxed(w.cost_ppm), load_relaxed(w.cost_max_permille), load_relaxed(w.cost_event_ticks)}});
  store_release(hot.current, name_of(*base(), detail));
}

int take_cost_turn(uint32_t max_permille) {
  const uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (load_relaxed(recorder.counters_only)) store_relaxed(hot.coarse_ticks, ticks());
  if (now_ns >= meter.next_ns) {
    const bool is_idle = detail_of(current()) == Detail::kTimed;  // since the last turn
    if (meter.last_ns) {
      evaluate(max_permille, now_ns);
      time_next_calls();
    } else {
      meter.last_ticks = ticks();
      measure_activity(true);
    }
    meter.last_ns = now_ns;
    meter.next_ns = now_ns + static_cast<uint64_t>(is_idle ? kIdleTurnMs : kTurnMs) * 1'000'000;
  }
  const auto left_ms = static_cast<int>((meter.next_ns - now_ns) / 1'000'000) + 1;
  return !load_relaxed(recorder.counters_only) || left_ms < kTickMs ? left_ms : kTickMs;
}

void forget_cost() {
  burst = {};
  meter = {};
  recorder.counters_only = false;
}

}  // namespace railwitness::witness
