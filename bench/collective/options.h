// What the command line asks for.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_OPTIONS_H_
#define RAILWITNESS_BENCH_COLLECTIVE_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace railwitness::bench {

struct Options {
  std::string plugin;  // path of a library; kOwnOfi: the transport of mode ofi, without the witness
  std::string beside;  // another one that is run in turns with the first; empty: none
  std::vector<std::string> schedules;
  int ranks = 2;
  size_t min_bytes = 8;
  size_t max_bytes = 16 << 20;
  size_t factor = 8;
  size_t piece_bytes = 512 << 10;  // of one transfer; NCCL's buffers have steps of this size
  double seconds = 0.05;           // that a size is measured for, at least
  int iterations = 0;              // instead of `seconds`
  int timeout_s = 60;
  bool json = false;
};

inline constexpr char kOwnOfi[] = "ofi";

// The exit code to end with, or -1 to go on.
int parse(int argc, char** argv, Options& options);

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_OPTIONS_H_
