#include "bench/collective/rank.h"

#include "bench/collective/exchange.h"
#include "bench/collective/network.h"
#include "bench/collective/schedule.h"
#include "railwitness/base/clock.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <sys/resource.h>

namespace railwitness::bench {
namespace {

// Words of a buffer: whole blocks for all ranks, at least one each.
size_t words_of(const Case& what, int ranks) {
  const size_t words = what.bytes / sizeof(Word), n = static_cast<size_t>(ranks);
  return what.schedule == "alltoall" ? std::max<size_t>(1, words / n) * n : std::max<size_t>(1, words);
}

uint64_t cpu_ns() {  // of all threads, with the kernel's part
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto ns = [](const timeval& t) { return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_usec) * 1000; };
  return ns(u.ru_utime) + ns(u.ru_stime);
}

void raise_to(std::atomic<uint64_t>& most, uint64_t value) {
  uint64_t now = most;
  while (now < value && !most.compare_exchange_weak(now, value)) {
  }
}

// A plugin with its connections and its memory.
struct Side {
  Network network;
  Buffers buffers;
  std::unique_ptr<Exchange> exchange;
};

class Measurement {
 public:
  Measurement(const Options& options, int rank, Barrier& barrier, std::vector<Side>& sides)
      : options_(options), rank_(rank), barrier_(barrier), sides_(sides) {}

  absl::Status run(const Case& what, Row& row) {
    const auto schedule = make_schedule(what.schedule, rank_, options_.ranks);
    const size_t words = words_of(what, options_.ranks);
    if (absl::Status s = verified(*schedule, words, row); !s.ok()) return s;
    uint64_t once_ns = ~0ull;
    for (int tries = 0; tries < 3; tries++)  // the best of them, since a rank may have to wait for a core
      for (Side& side : sides_) {
        uint64_t took_ns = 0;
        if (absl::Status s = repeat(side, *schedule, words, 3, took_ns); !s.ok()) return s;
        once_ns = std::min(once_ns, took_ns / 3);
      }
    if (rank_ == 0) choose_iterations(row, once_ns);  // for all
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    if (absl::Status s = sides_.size() == 1 ? timed(*schedule, words, row) : in_turns(*schedule, words, row); !s.ok()) return s;
    return verified(*schedule, words, row);
  }

 private:
  void choose_iterations(Row& row, uint64_t once_ns) const {
    const double wanted = options_.seconds * 1e9 / static_cast<double>(std::max<uint64_t>(1, once_ns));
    row.iterations = options_.iterations ? options_.iterations : static_cast<int>(std::clamp(wanted, 2.0, 1e6));
    row.iterations_a_turn = std::max(1, row.iterations / (2 * kPairs));
  }

  absl::Status timed(Schedule& schedule, size_t words, Row& row) {
    return timed_turn(sides_[0], schedule, words, row, row.iterations, row.cpu_ns, row.longest_ns);
  }

  absl::Status in_turns(Schedule& schedule, size_t words, Row& row) {
    // Where ranks wait for a core a turn may take a hundred times what was foreseen.
    const absl::Time deadline = absl::Now() + std::max(absl::Seconds(1), absl::Seconds(10 * options_.seconds));
    for (size_t number = 0; number < kPairs; number++) {
      auto& pair = row.turns[number];
      if (rank_ == 0 && absl::Now() > deadline) row.is_enough = true;
      if (absl::Status s = barrier_.wait(); !s.ok()) return s;
      if (row.is_enough) break;
      // Now one, now the other begins: who has waited longer at the barrier has more of the processor for a while.
      for (const size_t i : {number % 2, 1 - number % 2}) {
        Row other{};  // the transfers of the second plugin are not told
        Row& counted = i == 0 ? row : other;
        if (absl::Status s = timed_turn(sides_[i], schedule, words, counted, row.iterations_a_turn, pair[i].cpu_ns,
                                        pair[i].longest_ns);
            !s.ok())
          return s;
      }
      if (rank_ == 0) row.pairs++;
    }
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    if (rank_ > 0) return absl::OkStatus();
    for (int i = 0; i < row.pairs; i++) {
      const auto& pair = row.turns[i];
      row.cpu_ns += pair[0].cpu_ns;
      row.longest_ns += pair[0].longest_ns;
    }
    row.iterations = row.iterations_a_turn * row.pairs;
    return absl::OkStatus();
  }

  absl::Status timed_turn(Side& side, Schedule& schedule, size_t words, Row& counted, int times, std::atomic<uint64_t>& cpu_sum,
                          std::atomic<uint64_t>& longest) {
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    const uint64_t transfers = side.exchange->transfers(), cpu = cpu_ns(), start = read_clock_ns(CLOCK_MONOTONIC);
    if (absl::Status s = iterate(side, schedule, words, times); !s.ok()) return s;
    raise_to(longest, read_clock_ns(CLOCK_MONOTONIC) - start);
    cpu_sum += cpu_ns() - cpu;
    counted.transfers += side.exchange->transfers() - transfers;
    return absl::OkStatus();
  }

  absl::Status iterate(Side& side, Schedule& schedule, size_t words, int times) {
    for (int i = 0; i < times; i++)
      if (absl::Status s = schedule.run(*side.exchange, side.network, side.buffers, words); !s.ok()) return s;
    return absl::OkStatus();
  }

  absl::Status repeat(Side& side, Schedule& schedule, size_t words, int times, uint64_t& took_ns) {
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
    absl::Status status = iterate(side, schedule, words, times);
    took_ns = read_clock_ns(CLOCK_MONOTONIC) - start;
    return status;
  }

  absl::Status verified(Schedule& schedule, size_t words, Row& row) {
    for (Side& side : sides_) {
      spoil(side.buffers, words);
      uint64_t took_ns = 0;
      if (absl::Status s = repeat(side, schedule, words, 1, took_ns); !s.ok()) return s;
      row.wrong += count_wrong(schedule, side.buffers, words);
    }
    return barrier_.wait();
  }

  const Options& options_;
  const int rank_;
  Barrier& barrier_;
  std::vector<Side>& sides_;
};

}  // namespace

std::vector<Case> cases(const Options& options) {
  std::vector<Case> all;
  for (const std::string& schedule : options.schedules)
    for (size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) all.push_back({schedule, bytes});
  return all;
}

absl::Status run_rank(const Options& options, int rank, Shared& shared) {
  const absl::Duration timeout = absl::Seconds(options.timeout_s);
  Barrier barrier(shared, options.ranks, timeout);
  const std::vector<Case> all = cases(options);
  size_t most = 0;
  for (const Case& what : all) most = std::max(most, words_of(what, options.ranks));
  std::vector<Side> sides(options.beside.empty() ? 1 : 2);
  for (Side& side : sides) {
    const bool is_first = &side == sides.data();
    if (absl::Status s = side.network.open(is_first ? options.plugin : options.beside); !s.ok()) return s;
    char* description = shared.descriptions[is_first ? 0 : 1];
    if (rank == 0) strncpy(description, side.network.description(), sizeof shared.descriptions[0] - 1);
    if (absl::Status s = side.network.connect(shared, barrier, rank, options.ranks, timeout); !s.ok()) return s;
    if (absl::Status s = side.buffers.prepare(side.network, rank, most); !s.ok()) return s;
    side.exchange = std::make_unique<Exchange>(side.network, shared, options.piece_bytes, timeout);
  }
  Measurement measurement(options, rank, barrier, sides);
  for (size_t i = 0; i < all.size(); i++)
    if (absl::Status s = measurement.run(all[i], shared.rows[i]); !s.ok()) return s;
  absl::Status status = barrier.wait();
  for (Side& side : sides) status.Update(side.network.close());
  return status;
}

}  // namespace railwitness::bench
