// Reading clocks. The two of a witness segment (enum railwitness_clock) are the time stamp counter where the processor
// promises that it is invariant, else CLOCK_MONOTONIC. Any thread; nanoseconds where the name says so.
#ifndef RAILWITNESS_BASE_CLOCK_H_
#define RAILWITNESS_BASE_CLOCK_H_

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace railwitness {

inline uint64_t read_clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// The same, signed, for probes, bench and tests: facts are signed, so that a difference may be negative.
inline int64_t read_signed_clock_ns(clockid_t clock) { return static_cast<int64_t>(read_clock_ns(clock)); }
inline int64_t now_mono_ns() { return read_signed_clock_ns(CLOCK_MONOTONIC); }
inline int64_t now_wall_ns() { return read_signed_clock_ns(CLOCK_REALTIME); }
inline int64_t now_mono_ms() { return now_mono_ns() / 1'000'000; }  // what poll() counts in

// CPUID 0x80000007, EDX bit 8: runs at one rate in all P-, C- and T-states, hence alike on all cores.
inline bool has_invariant_tsc() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
  return false;
#endif
}

#ifdef RAILWITNESS_SLOW_CLOCK_FOR_TESTS  // of tests/plugin/self_measure alone
void be_slow_for_a_test();
#else
inline void be_slow_for_a_test() {}
#endif

inline uint64_t read_tsc() {  // only where has_invariant_tsc()
  be_slow_for_a_test();
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_CLOCK_H_
