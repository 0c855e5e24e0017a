// One rank: a process.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_RANK_H_
#define RAILWITNESS_BENCH_COLLECTIVE_RANK_H_

#include "bench/collective/options.h"
#include "bench/collective/shared.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace railwitness::bench {

struct Case {
  std::string schedule;
  size_t bytes;  // of a rank's buffer
};

// In the order in which they are run; case i fills row i.
std::vector<Case> cases(const Options& options);

absl::Status run_rank(const Options& options, int rank, Shared& shared);

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_RANK_H_
