// A whole job process and a sidecar that comes, goes and comes again. The job is a forked child, the sidecar the test.
#include "plugin/witness/keeper.h"

#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_sidecar.h"
#include "tests/plugin/poster.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace railwitness::test {
namespace {

// The child lives until the test kills it; it must not outlive the test either.
struct Job {
  pid_t pid;

  explicit Job(const std::function<void()>& life) : pid(fork()) {
    if (pid) return;
    alarm(60);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    witness::forget_everything();  // of tests before this one
    life();
    _exit(0);
  }
  ~Job() { end(); }
  void end() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

witness::Knobs knobs_for(const FakeSidecar& sidecar) {
  witness::Knobs k{};
  snprintf(k.socket, sizeof k.socket, "%s", sidecar.path.c_str());
  snprintf(k.job, sizeof k.job, "test");
  return k;
}

[[noreturn]] void post_for_ever() {
  Poster p(17);
  for (uint64_t i = 0;; i++) {
    p.post(i), p.complete(i);
    usleep(200);
  }
}

bool eventually(const std::function<bool()>& holds, int ms = 10'000) {
  for (int i = 0; i < ms / 5; i++) {
    if (holds()) return true;
    usleep(5000);
  }
  return false;
}

TEST(Keeper, AJobWritesIntoTheSidecarsSegmentFromTheFirstPostOn) {
  FakeSidecar sidecar;
  Job job([&] {
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    post_for_ever();
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(segment).state(0).completed > 100; }));
  const SegmentCopy s = SegmentCopy::read(segment);
  EXPECT_EQ(s.writer().pid, static_cast<uint32_t>(job.pid));
  EXPECT_EQ(s.identity(0).qpn, 17u);
  EXPECT_EQ(s.count_events(RAILWITNESS_CONTROL_SIDECAR_FOUND), 1);
  EXPECT_EQ(s.writer().alone_begin_ticks, 0u);
  job.end();
  char byte;
  EXPECT_EQ(recv(client, &byte, 1, 0), 0) << "the end of the job is seen on the socket";
  EXPECT_GT(SegmentCopy::read(segment).state(0).posted, 100u) << "and its segment can still be read";
  close(client), close(segment);
}

TEST(Keeper, InitIsShortWithoutASidecarAndWithASilentOne) {
  FakeSidecar sidecar;
  for (const bool silent : {true, false}) {
    if (!silent) sidecar.close();
    Job job([&] {
      const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
      if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
      const uint64_t took_ms = (read_clock_ns(CLOCK_MONOTONIC) - start) / 1'000'000;
      if (witness::has_sidecar()) _exit(2);
      Poster p(1);
      p.post(1);
      _exit(took_ms < 1900 ? 0 : 3);  // 50 ms, on a machine that may be busy
    });
    int status = -1;
    waitpid(job.pid, &status, 0);
    job.pid = 0;
    EXPECT_EQ(WEXITSTATUS(status), 0) << silent;
  }
}

TEST(Keeper, ASidecarThatComesLaterGetsWhatHappenedBefore) {
  FakeSidecar sidecar;
  sidecar.close();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Job job([&] {
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    Poster early(5);
    for (uint64_t i = 0; i < 300; i++) early.post(i), early.complete(i);
    early.post(300);  // and stalls
    if (write(ready[1], "x", 1) != 1) _exit(2);
    post_for_ever();
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  sidecar.open();
  const int client = sidecar.accept();
  ASSERT_GE(client, 0);
  const int segment = FakeSidecar::serve(client);
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(segment).state(1).posted > 10; }));
  const SegmentCopy s = SegmentCopy::read(segment);
  EXPECT_EQ(s.writer().copied_forward, 1u);
  EXPECT_EQ(s.state(0).posted, 301u);
  EXPECT_EQ(s.state(0).completed, 300u);
  EXPECT_NE(s.state(0).oldest_post_ticks, 0u);
  EXPECT_EQ(s.record(0, 300).sequence, 301u);
  EXPECT_EQ(s.record(0, 300).done_ticks, 0u);
  close(client), close(segment), close(ready[0]), close(ready[1]);
}

TEST(Keeper, ASidecarThatDiesAndComesBackGetsItAllAndTheSpanInBetween) {
  FakeSidecar sidecar;
  Job job([&] {
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    Poster silent(3);
    silent.post(1);
    post_for_ever();
  });
  int client = sidecar.accept();
  const int first = FakeSidecar::serve(client);
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(first).state(1).posted > 50; }));
  close(client);
  sidecar.close();
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(first).count_events(RAILWITNESS_CONTROL_SIDECAR_LOST) == 1; }));
  const uint64_t at_loss = SegmentCopy::read(first).state(1).posted;
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(first).state(1).posted > at_loss; })) << "writing goes on";
  sidecar.open();
  client = sidecar.accept();
  ASSERT_GE(client, 0);
  const int second = FakeSidecar::serve(client);
  ASSERT_TRUE(eventually([&] { return SegmentCopy::read(second).state(1).posted > at_loss + 50; }));
  const SegmentCopy s = SegmentCopy::read(second);
  EXPECT_EQ(s.state(0).posted, 1u) << "the silent flow too";
  EXPECT_NE(s.writer().alone_begin_ticks, 0u);
  EXPECT_GT(s.writer().alone_end_ticks, s.writer().alone_begin_ticks);
  EXPECT_EQ(s.count_events(RAILWITNESS_CONTROL_SIDECAR_LOST), 1);
  EXPECT_EQ(s.count_events(RAILWITNESS_CONTROL_SIDECAR_FOUND), 2);
  const uint64_t old = SegmentCopy::read(first).state(1).posted;
  usleep(100'000);
  EXPECT_EQ(SegmentCopy::read(first).state(1).posted, old) << "nobody writes into the old segment any more";
  close(client), close(first), close(second);
}

TEST(Keeper, AHostileSidecarIsLeftAndTheNextOneTaken) {
  FakeSidecar sidecar;
  Job job([&] {
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    post_for_ever();
  });
  int client = sidecar.accept();
  FakeSidecar::hear(client);
  auto header = good_header();
  header.control_offset = ~0ull - 63;
  const int bad = make_segment(header, header.segment_bytes);
  FakeSidecar::answer(client, good_welcome(header.segment_bytes), {bad});
  char byte;
  EXPECT_EQ(recv(client, &byte, 1, 0), 0) << "the job hangs up";
  close(client), close(bad);
  client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT_TRUE(eventually([&] { return SegmentCopy::read(segment).state(0).completed > 10; }));
  close(client), close(segment);
}

// A TCP socket whose close waits for `seconds`, as its peer reads nothing of what is on its way.
int make_lingering_socket(int seconds, int& peer) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) || listen(listener, 1) ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size))
    abort();
  (void)connect(fd, reinterpret_cast<sockaddr*>(&address), size);
  peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  const std::vector<char> block(1 << 16);
  pollfd ready{fd, POLLOUT, 0};
  while (poll(&ready, 1, 200) == 1) (void)!write(fd, block.data(), block.size());
  const linger wait{1, seconds};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  return fd;
}

TEST(Keeper, InitAndFlowsDoNotWaitForDescriptorsThatTakeLongToClose) {
  FakeSidecar sidecar;
  int peers[2] = {-1, -1}, told[2];
  const int lingering[2] = {make_lingering_socket(20, peers[0]), make_lingering_socket(20, peers[1])};
  ASSERT_EQ(pipe(told), 0);
  Job job([&] {
    close(lingering[0]), close(lingering[1]);  // ours alone is the copy that is sent
    const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    Poster p(1);
    p.post(1);
    const uint64_t took_ms = (read_clock_ns(CLOCK_MONOTONIC) - start) / 1'000'000;
    if (write(told[1], &took_ms, sizeof took_ms) != ssize_t{sizeof took_ms}) _exit(2);
    sleep(60);
  });
  const int client = sidecar.accept();
  kill(job.pid, SIGSTOP);  // it hangs up at the first answer; the second must be there by then
  const auto header = good_header();
  const bool received = FakeSidecar::answer(client, good_welcome(header.segment_bytes), {lingering[0]});
  const bool unread = FakeSidecar::answer(client, good_welcome(header.segment_bytes), {lingering[1]});
  kill(job.pid, SIGCONT);
  close(lingering[0]), close(lingering[1]);
  uint64_t took_ms = 0;
  ASSERT_EQ(read(told[0], &took_ms, sizeof took_ms), ssize_t{sizeof took_ms});
  EXPECT_LT(took_ms, 5000u);
  EXPECT_TRUE(received && unread) << "the job did not wait for its 50 ms";
  for (const int fd : {client, peers[0], peers[1], told[0], told[1]}) close(fd);
}

TEST(Keeper, TheHelperThreadIsNamedAndBlocksAllSignals) {
  FakeSidecar sidecar;
  Job job([&] {
    if (!witness::begin(knobs_for(sidecar)).is_ok()) _exit(1);
    sleep(60);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  const std::string find = "for t in /proc/" + std::to_string(job.pid) +
                           "/task/*; do grep -q '^railwitness$' $t/comm && grep -q 'SigBlk:.*fffffff' $t/status && exit 0; done; exit 1";
  EXPECT_TRUE(eventually([&] { return system(find.c_str()) == 0; }));
  close(client), close(segment);
}

// What a reader of a killed writer's segment relies on.
void check_flow(const SegmentCopy& s, uint64_t flow, int* half_written) {
  const railwitness_state& state = s.state(flow);
  ASSERT_LE(state.completed, state.posted + 1);
  for (uint64_t i = state.records > 128 ? state.records - 128 : 0; i < state.records; i++) {
    const railwitness_record& r = s.record(flow, i);
    if (r.sequence != i + 1) {  // being overwritten by the next: only the oldest can be
      ASSERT_EQ(i + 128, state.records);
      ++*half_written;
      continue;
    }
    ASSERT_EQ(r.posted_through, i + 1);
    ASSERT_EQ(r.bytes_through, (i + 1) * 100);
    ASSERT_EQ(r.wr_id, i);
    ASSERT_NE(r.post_ticks, 0u);
    if (r.done_ticks) {
      ASSERT_GE(r.done_ticks, r.post_ticks);
    }
  }
}

TEST(Keeper, TheSegmentOfAKilledWriterIsWhole) {
  char folder[] = "/tmp/railwitness-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::mt19937 random(7);
  int half_written = 0;
  for (int round = 0; round < 40; round++) {
    const std::string base = std::string(folder) + "/segment";
    Job job([&] {
      witness::Knobs k{};
      snprintf(k.segment_file, sizeof k.segment_file, "%s", base.c_str());
      if (!witness::begin(k).is_ok()) _exit(1);
      Poster a(1), b(2);
      for (uint64_t i = 0;; i++) a.post(i), b.post(i), a.complete(i), b.complete(i);
    });
    const int fd = [&] {
      int opened = -1;
      eventually([&] { return (opened = open(base.c_str(), O_RDONLY)) >= 0 && SegmentCopy::read(opened).bytes.size() > 4096 &&
                              SegmentCopy::read(opened).header().magic && SegmentCopy::read(opened).state(1).records > 200; });
      return opened;
    }();
    ASSERT_GE(fd, 0);
    usleep(static_cast<useconds_t>(random() % 3000));
    job.end();
    const SegmentCopy s = SegmentCopy::read(fd);
    const Status header = witness::check_header(s.header(), s.bytes.size());
    ASSERT_TRUE(header.is_ok()) << header.what();
    check_flow(s, 0, &half_written);
    check_flow(s, 1, &half_written);
    close(fd);
    unlink(base.c_str());
    if (HasFatalFailure()) break;
  }
  rmdir(folder);
  printf("%d records were half-written, and known for it\n", half_written);
}

}  // namespace
}  // namespace railwitness::test
