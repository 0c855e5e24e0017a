// What the rank processes share: a page of anonymous memory, mapped before they are forked.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_
#define RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_

#include "railwitness/nccl/common.h"

#include <atomic>
#include <cstdint>

namespace railwitness::bench {

inline constexpr int kMostRanks = 32;
inline constexpr int kMostRows = 256;

struct Row {  // of one schedule and size; sums over the ranks
  std::atomic<uint64_t> transfers, cpu_ns, longest_ns, wrong;
  std::atomic<int> iterations;
};

struct Shared {
  char handles[kMostRanks][kMostRanks][nccl::kHandleBytes];  // [listening rank][connecting rank]
  char description[128];                                     // by rank 0
  std::atomic<int> arrived;                                  // at barriers, ever
  std::atomic<bool> has_failed;
  Row rows[kMostRows];
};

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_SHARED_H_
