// A process of a job that outlives its sidecars: restart_job SOCKET TRUTH_FILE
//
// Records through the plugin's own code, keeper included, and keeps its own account of what it did in TRUTH_FILE, so that
// restarts.py can tell what a sidecar should have read. Busy flows are written in bursts, silent ones had their last event
// before the first restart, short ones come and go all the time. Ends with the file `TRUTH_FILE.end`, or when it is killed.
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/poster.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace railwitness::faults {
namespace {

constexpr uint32_t kThreads = 2, kBusyEach = 8, kSilent = 4, kLongFlows = kThreads * kBusyEach + kSilent;
constexpr uint32_t kFirstBusy = 100, kFirstSilent = 900, kShort = 5000;
constexpr uint64_t kSilentPosted = 3, kSilentCompleted = 1;

// restarts.py reads it with struct: all words are of 8 bytes. Of post i the payload is 100 + i % 7 bytes.
struct FlowTruth {
  uint64_t qpn;
  uint64_t posts_begun, posts_done, completions_begun, completions_done;
};
struct Truth {
  uint64_t ready;
  uint64_t lives;   // short flows that have come and gone
  uint64_t bursts;  // of posts and completions, in which the thread waits for nothing of its own
  uint64_t waits;   // voluntary context switches within bursts
  FlowTruth flows[kLongFlows];
};

uint64_t bytes_of(uint64_t i) { return 100 + i % 7; }

uint64_t waits_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw);
}

void post(test::Poster& poster, FlowTruth& truth) {
  const uint64_t i = truth.posts_done;
  store_release(truth.posts_begun, i + 1);
  poster.post(i, bytes_of(i));
  store_release(truth.posts_done, i + 1);
}

void complete(test::Poster& poster, FlowTruth& truth) {
  const uint64_t i = truth.completions_done;
  store_release(truth.completions_begun, i + 1);
  poster.complete(i);
  store_release(truth.completions_done, i + 1);
}

void be_busy(Truth& truth, uint32_t thread) {
  std::vector<test::Poster> posters;
  for (uint32_t i = 0; i < kBusyEach; i++) {
    posters.emplace_back(kFirstBusy + thread * kBusyEach + i);
    store_release(truth.flows[thread * kBusyEach + i].qpn, kFirstBusy + thread * kBusyEach + i);
  }
  for (uint64_t burst = 0;; burst++) {
    const uint64_t before = waits_of_this_thread();
    for (uint32_t i = 0; i < kBusyEach; i++) {
      FlowTruth& flow = truth.flows[thread * kBusyEach + i];
      const uint64_t deep = 1 + (burst + i) % 40;
      for (uint64_t k = 0; k < deep; k++) post(posters[i], flow);
      while (flow.completions_done < flow.posts_done - i % 3) complete(posters[i], flow);
    }
    __atomic_add_fetch(&truth.waits, waits_of_this_thread() - before, __ATOMIC_RELAXED);
    __atomic_add_fetch(&truth.bursts, 1, __ATOMIC_RELAXED);
    usleep(2000);
  }
}

void fall_silent(Truth& truth) {
  for (uint32_t i = 0; i < kSilent; i++) {
    FlowTruth& flow = truth.flows[kThreads * kBusyEach + i];
    test::Poster poster(kFirstSilent + i);
    store_release(flow.qpn, kFirstSilent + i);
    while (flow.posts_done < kSilentPosted) post(poster, flow);
    while (flow.completions_done < kSilentCompleted) complete(poster, flow);
  }
}

// Queue pairs come and go while a segment is taken over.
void live_shortly(Truth& truth) {
  for (uint64_t i = 0;; i++) {
    test::Poster poster(kShort + static_cast<uint32_t>(i % 1000));
    if (!poster.flow) fprintf(stderr, "restart_job: no line for a short flow\n"), _exit(3);
    for (uint64_t k = 0; k < i % 5; k++) poster.post(k), poster.complete(k);
    witness::close_flow(*poster.flow);
    store_release(truth.lives, i + 1);
    usleep(5000);
  }
}

Truth* map_truth(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Truth))) return nullptr;
  void* at = mmap(nullptr, sizeof(Truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Truth*>(at);
}

int run(const char* socket, const char* truth_file) {
  Truth* truth = map_truth(truth_file);
  if (!truth) return perror(truth_file), 2;
  witness::Knobs knobs{};
  snprintf(knobs.socket, sizeof knobs.socket, "%s", socket);
  snprintf(knobs.job, sizeof knobs.job, "restarts");
  if (const Status begun = witness::begin(knobs); !begun.is_ok()) return fprintf(stderr, "%s\n", begun.what()), 2;
  fall_silent(*truth);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; i++) threads.emplace_back(be_busy, std::ref(*truth), i);
  threads.emplace_back(live_shortly, std::ref(*truth));
  store_release(truth->ready, 1);
  const std::string end = std::string(truth_file) + ".end";
  while (access(end.c_str(), F_OK)) usleep(100'000);
  _exit(0);
}

}  // namespace
}  // namespace railwitness::faults

int main(int argc, char** argv) {
  if (argc == 3) return railwitness::faults::run(argv[1], argv[2]);
  fprintf(stderr, "restart_job SOCKET TRUTH_FILE: see restarts.py, which starts it\n");
  return 2;
}
