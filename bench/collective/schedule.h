// The schedules: who sends which part to whom in which order, and what must be in the result.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_SCHEDULE_H_
#define RAILWITNESS_BENCH_COLLECTIVE_SCHEDULE_H_

#include "bench/collective/exchange.h"

#include "absl/status/status.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace railwitness::bench {

using Word = uint32_t;

// A rank's memory: input, which stays, result, and room for what arrives to be added. Registered with every connection.
struct Buffers {
  std::vector<Word> input, result, arrived;
  std::vector<void*> input_send, input_recv, result_send, result_recv, arrived_send, arrived_recv;  // registrations by peer

  absl::Status prepare(Network& network, int rank, size_t words);
};

// The input of a rank: another word at each place of each rank.
inline Word input_word(int rank, size_t i) {
  uint64_t x = (static_cast<uint64_t>(rank) << 40 ^ i) * 0x9E3779B97F4A7C15u;
  return static_cast<Word>(x >> 32 ^ x);
}

class Schedule {
 public:
  virtual ~Schedule() = default;
  // Once; `words` of the buffers are used.
  virtual absl::Status run(Exchange& exchange, Network& network, Buffers& buffers, size_t words) = 0;
  virtual Word expected(size_t i, size_t words) const = 0;
  // Of `bytes` that each rank has, those that any schedule must move over a rank's connection (as nccl-tests defines it).
  virtual double bus_factor() const = 0;

 protected:
  Schedule(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  const int rank_, ranks_;
};

std::unique_ptr<Schedule> make_schedule(std::string_view name, int rank, int ranks);

// How many elements of the result are wrong. The result is made unlike any right one before the run.
void spoil(Buffers& buffers, size_t words);
uint64_t count_wrong(const Schedule& schedule, const Buffers& buffers, size_t words);

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_SCHEDULE_H_
