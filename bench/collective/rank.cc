#include "bench/collective/rank.h"

#include "bench/collective/exchange.h"
#include "bench/collective/network.h"
#include "bench/collective/schedule.h"
#include "railwitness/base/clock.h"

#include <algorithm>
#include <cstring>

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

class Measurement {
 public:
  Measurement(const Options& options, int rank, Shared& shared, Network& network, Barrier& barrier, Buffers& buffers)
      : options_(options), rank_(rank), network_(network), barrier_(barrier), buffers_(buffers),
        exchange_(network, shared, options.piece_bytes, absl::Seconds(options.timeout_s)) {}

  absl::Status run(const Case& what, Row& row) {
    const auto schedule = make_schedule(what.schedule, rank_, options_.ranks);
    const size_t words = words_of(what, options_.ranks);
    if (absl::Status s = verified(*schedule, words, row); !s.ok()) return s;
    uint64_t once_ns = 0;
    if (absl::Status s = repeat(*schedule, words, 2, once_ns); !s.ok()) return s;
    if (rank_ == 0) {  // decides for all
      const double wanted = options_.seconds * 1e9 / static_cast<double>(std::max<uint64_t>(1, once_ns / 2));
      row.iterations = options_.iterations ? options_.iterations : static_cast<int>(std::clamp(wanted, 2.0, 1e6));
    }
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    const uint64_t transfers = exchange_.transfers(), cpu = cpu_ns();
    uint64_t took_ns = 0;
    if (absl::Status s = repeat(*schedule, words, row.iterations, took_ns); !s.ok()) return s;
    row.cpu_ns += cpu_ns() - cpu;
    row.transfers += exchange_.transfers() - transfers;
    raise_to(row.longest_ns, took_ns);
    return verified(*schedule, words, row);
  }

 private:
  absl::Status repeat(Schedule& schedule, size_t words, int times, uint64_t& took_ns) {
    if (absl::Status s = barrier_.wait(); !s.ok()) return s;
    const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < times; i++)
      if (absl::Status s = schedule.run(exchange_, network_, buffers_, words); !s.ok()) return s;
    took_ns = read_clock_ns(CLOCK_MONOTONIC) - start;
    return absl::OkStatus();
  }

  absl::Status verified(Schedule& schedule, size_t words, Row& row) {
    spoil(buffers_, words);
    uint64_t took_ns = 0;
    if (absl::Status s = repeat(schedule, words, 1, took_ns); !s.ok()) return s;
    row.wrong += count_wrong(schedule, buffers_, words);
    return barrier_.wait();
  }

  const Options& options_;
  const int rank_;
  Network& network_;
  Barrier& barrier_;
  Buffers& buffers_;
  Exchange exchange_;
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
  Network network;
  if (absl::Status s = network.open(options.plugin); !s.ok()) return s;
  if (rank == 0) strncpy(shared.description, network.description(), sizeof shared.description - 1);
  if (absl::Status s = network.connect(shared, barrier, rank, options.ranks, timeout); !s.ok()) return s;
  Buffers buffers;
  const std::vector<Case> all = cases(options);
  size_t most = 0;
  for (const Case& what : all) most = std::max(most, words_of(what, options.ranks));
  if (absl::Status s = buffers.prepare(network, rank, most); !s.ok()) return s;
  Measurement measurement(options, rank, shared, network, barrier, buffers);
  for (size_t i = 0; i < all.size(); i++)
    if (absl::Status s = measurement.run(all[i], shared.rows[i]); !s.ok()) return s;
  if (absl::Status s = barrier.wait(); !s.ok()) return s;
  return network.close();
}

}  // namespace railwitness::bench
