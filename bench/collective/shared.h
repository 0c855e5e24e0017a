// What the rank processes share: a page of anonymous memory, mapped before they are forked.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_
#define RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_

#include "railwitness/nccl/common.h"

#include <atomic>
#include <cstdint>

namespace railwitness::bench {

inline constexpr int kMostRanks = 32;
inline constexpr int kMostRows = 256;

inline constexpr int kPairs = 20;  // of turns at most, with --beside

struct Turn {  // some iterations with one of both plugins
  std::atomic<uint64_t> cpu_ns, longest_ns;
};

struct Row {  // of one schedule and size; sums over the ranks, of the first plugin; `wrong`: of both
  std::atomic<uint64_t> transfers, cpu_ns, longest_ns, wrong;
  std::atomic<int> iterations, iterations_a_turn;
  std::atomic<int> pairs;  // of turns that were run
  std::atomic<bool> is_enough;
  Turn turns[kPairs][2];
};

struct Shared {
  char handles[kMostRanks][kMostRanks][nccl::kHandleBytes];  // [listening rank][connecting rank]
  char descriptions[2][128];                                 // of the plugins, by rank 0
  std::atomic<int> arrived;                                  // at barriers, ever
  std::atomic<bool> has_failed;
  Row rows[kMostRows];
};

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_
