// collective: schedules in host memory over any NCCL net plugin; --help has the rest.
#include "bench/collective/options.h"
#include "bench/collective/rank.h"
#include "bench/collective/schedule.h"
#include "bench/collective/shared.h"

#include "nlohmann/json.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace railwitness;
using bench::Case;
using bench::Options;
using bench::Row;
using bench::Shared;

int run_as_rank(const Options& options, int rank, Shared& shared) {
  absl::Status status;
  try {
    status = bench::run_rank(options, rank, shared);
  } catch (const std::exception& error) {  // memory, most likely
    status = absl::InternalError(error.what());
  }
  if (status.ok()) return 0;
  shared.has_failed = true;
  if (!absl::IsCancelled(status)) fprintf(stderr, "collective: rank %d: %s\n", rank, std::string(status.message()).c_str());
  return 1;
}

// True: all ranks have ended well.
bool run_ranks(const Options& options, Shared& shared) {
  for (int rank = 0; rank < options.ranks; rank++) {
    const pid_t child = fork();
    if (child < 0) perror("collective: fork");
    if (child < 0) return shared.has_failed = true, false;
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(run_as_rank(options, rank, shared));
  }
  bool is_well = true;
  int status = 0;
  while (wait(&status) > 0) {
    is_well &= status == 0;
    if (WIFSIGNALED(status)) fprintf(stderr, "collective: a rank was killed by signal %d\n", WTERMSIG(status));
    if (status) shared.has_failed = true;
  }
  return is_well;
}

bool is_measured(const Row& row) { return row.longest_ns > 0; }

struct Figures {
  double time_us, algorithm_mbps, bus_mbps, cpu_ns;
};

double ratio(const std::atomic<uint64_t>& a, const std::atomic<uint64_t>& b) {
  return static_cast<double>(a) / static_cast<double>(std::max<uint64_t>(1, b));
}

// Of the plugin beside, by the first.
double median_bandwidth_ratio(const Row& row) {
  std::vector<double> all;
  for (int i = 0; i < row.pairs; i++) all.push_back(ratio(row.turns[i][0].longest_ns, row.turns[i][1].longest_ns));
  const auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

Figures figures_of(const Options& options, const Case& what, const Row& row) {
  const double ns = static_cast<double>(row.longest_ns) / std::max(1, row.iterations.load());
  const double mbps = static_cast<double>(what.bytes) / std::max(1.0, ns) * 1e3;
  const double transfers = static_cast<double>(std::max<uint64_t>(1, row.transfers));
  return {ns / 1e3, mbps, mbps * bench::make_schedule(what.schedule, 0, options.ranks)->bus_factor(),
          static_cast<double>(row.cpu_ns) / transfers};
}

void print_table(const Options& options, const std::vector<Case>& all, const Shared& shared) {
  printf("# %s, %d ranks, pieces of at most %zu bytes\n", shared.descriptions[0], options.ranks, options.piece_bytes);
  if (!options.beside.empty()) printf("# beside it %s\n", shared.descriptions[1]);
  printf("%-9s %10s %10s %10s %11s %11s %14s %6s%s\n", "schedule", "bytes", "iterations", "time us", "algbw MB/s", "busbw MB/s",
         "CPU ns/transf.", "wrong", options.beside.empty() ? "" : "  busbw beside/first");
  for (size_t i = 0; i < all.size(); i++) {
    const Row& row = shared.rows[i];
    if (!is_measured(row)) continue;
    const Figures f = figures_of(options, all[i], row);
    printf("%-9s %10zu %10d %10.1f %11.1f %11.1f %14.0f %6llu", all[i].schedule.c_str(), all[i].bytes, row.iterations.load(),
           f.time_us, f.algorithm_mbps, f.bus_mbps, f.cpu_ns, static_cast<unsigned long long>(row.wrong));
    if (!options.beside.empty()) printf("  %18.3f", median_bandwidth_ratio(row));
    printf("\n");
  }
}

void print_json(const Options& options, const std::vector<Case>& all, const Shared& shared) {
  nlohmann::json out = {{"plugin", shared.descriptions[0]}, {"ranks", options.ranks}, {"rows", nlohmann::json::array()}};
  if (!options.beside.empty()) out["beside"] = shared.descriptions[1];
  for (size_t i = 0; i < all.size(); i++) {
    const Row& row = shared.rows[i];
    if (!is_measured(row)) continue;
    const Figures f = figures_of(options, all[i], row);
    out["rows"].push_back({{"schedule", all[i].schedule}, {"bytes", all[i].bytes}, {"iterations", row.iterations.load()},
                           {"time_us", f.time_us}, {"algbw_mbps", f.algorithm_mbps}, {"busbw_mbps", f.bus_mbps},
                           {"transfers", row.transfers.load()}, {"cpu_ns_per_transfer", f.cpu_ns},
                           {"wrong", row.wrong.load()}});
    if (options.beside.empty()) continue;
    nlohmann::json pairs = nlohmann::json::array();
    for (int k = 0; k < row.pairs; k++) {
      const auto& [first, beside] = row.turns[k];
      pairs.push_back({{"busbw", ratio(first.longest_ns, beside.longest_ns)}, {"cpu", ratio(beside.cpu_ns, first.cpu_ns)}});
    }
    out["rows"].back()["beside_by_first"] = std::move(pairs);
  }
  printf("%s\n", out.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int code = bench::parse(argc, argv, options); code >= 0) return code;
  const std::vector<Case> all = bench::cases(options);
  if (all.empty() || all.size() > bench::kMostRows) {
    fprintf(stderr, "collective: %zu rows; 1 to %d can be run. See --min, --max, --factor\n", all.size(), bench::kMostRows);
    return 2;
  }
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return perror("collective: mmap"), 2;
  Shared& shared = *new (memory) Shared{};
  const bool is_well = run_ranks(options, shared);
  const auto right = std::count_if(shared.rows, shared.rows + all.size(),
                                   [](const Row& row) { return is_measured(row) && row.wrong == 0; });
  if (options.json)
    print_json(options, all, shared);
  else
    print_table(options, all, shared);
  fprintf(options.json ? stderr : stdout, "collective: %zd of %zu right\n", static_cast<ssize_t>(right), all.size());
  return is_well && right == static_cast<ssize_t>(all.size()) ? 0 : 1;
}
