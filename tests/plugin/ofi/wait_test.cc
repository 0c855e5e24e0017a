// What waiting costs where the peer needs the same processor: docs/job-owner.md has the figure.
#include "tests/plugin/ofi/peer_process.h"

#include <cstdio>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

namespace railwitness::ofi_test {
namespace {

// This process, all its threads, and the processes it starts.
class OneProcessor {
 public:
  OneProcessor() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    int first = 0;
    while (first < CPU_SETSIZE && !CPU_ISSET(first, &before_)) first++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

TEST(Waiting, LeavesTheProcessorToAPeerThatHasToWorkBeforeItSends) {
  const OneProcessor one;
  void* context = make_context();
  PeerProcess peer(Task::kWork);
  Pair pair{.context = context, .receive = accept_from(&peer, context)};
  ASSERT_NE(pair.receive, nullptr);
  uint8_t byte = 0;
  void* request = receive(pair, &byte, 1, 0);
  double start = seconds();
  while (!peer.is_there() && seconds() - start < 30) ASSERT_FALSE(test_once(request, nullptr));
  start = seconds();
  const double before = processor_seconds();
  peer.go();
  long polls = 1;
  while (!test_once(request, nullptr) && seconds() - start < 120) polls++;
  // Against the peer's share, not the clock: others may run on this processor too.
  const double waited = processor_seconds() - before;
  const double share = waited / (waited + kWorkS);
  printf("the waiting end took %.1f %% of the processor (%.3f s, %ld polls) while its peer worked for %.1f s\n",
         100 * share, waited, polls, kWorkS);
  EXPECT_LE(share, 0.25);
  transport().close_recv(pair.receive);
  transport().finalize(context);
}

}  // namespace
}  // namespace railwitness::ofi_test
