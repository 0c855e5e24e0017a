#include "probes/host/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "railwitness/base/clock.h"

namespace railwitness::host {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1000 * kSecond;

// A /proc of one process, written by hand.
class ProcessWatchTest : public testing::Test {
 protected:
  ProcessWatchTest() : root_(std::filesystem::temp_directory_path() / ("proc_" + std::to_string(getpid()))) {
    write('S', 0, 500);
  }
  ~ProcessWatchTest() override { std::filesystem::remove_all(root_); }
  void write(char state, uint64_t user_ticks, uint64_t start_time) {
    std::filesystem::create_directories(root_ / "77");
    std::ofstream(root_ / "77/stat") << "77 (a b) " << state << " 1 1 1 0 -1 0 0 0 0 0 " << user_ticks
                                     << " 0 0 0 20 0 1 0 " << start_time << " 0";
  }
  std::filesystem::path root_;
  model::Process process_;
};

TEST_F(ProcessWatchTest, RemembersSinceWhenAStateIsSeen) {
  ProcessWatch watch(root_, 77);
  EXPECT_EQ(watch.start_time(), 500u);
  EXPECT_EQ(watch.update(kNow, process_), Presence::kAlive);
  EXPECT_EQ(process_.state, model::ProcessState::kSleeping);
  EXPECT_EQ(process_.state_since_mono_ns, kNow);
  watch.update(kNow + kSecond, process_);
  EXPECT_EQ(process_.state_since_mono_ns, kNow);
  write('T', 0, 500);
  watch.update(kNow + 2 * kSecond, process_);
  EXPECT_EQ(process_.state, model::ProcessState::kStopped);
  EXPECT_EQ(process_.state_since_mono_ns, kNow + 2 * kSecond);
}

TEST_F(ProcessWatchTest, SeesThatAnotherProcessHasTheNumberNow) {
  ProcessWatch watch(root_, 77);
  write('R', 0, 501);
  EXPECT_EQ(watch.update(kNow, process_), Presence::kGone);
}

TEST_F(ProcessWatchTest, SeesTheEnd) {
  ProcessWatch watch(root_, 77);
  std::filesystem::remove_all(root_ / "77");
  EXPECT_EQ(watch.update(kNow, process_), Presence::kGone);
}

TEST_F(ProcessWatchTest, DoesNotTakeAnUnreadableFileForTheEnd) {
  ProcessWatch watch(root_, 77);
  std::ofstream(root_ / "77/stat") << "77 (a";
  EXPECT_EQ(watch.update(kNow, process_), Presence::kUnknown);
}

TEST_F(ProcessWatchTest, KnowsNothingOfAProcessOfAnotherNamespace) {
  ProcessWatch watch(root_, 0);
  EXPECT_EQ(watch.update(kNow, process_), Presence::kUnknown);
  EXPECT_EQ(watch.start_mono_ns(), 0);
  EXPECT_FALSE(process_.cpu_ns.has_value());
}

TEST_F(ProcessWatchTest, MeasuresTheShareOfACoreOverAboutASecond) {
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  ProcessWatch watch(root_, 77);
  watch.update(kNow, process_);
  EXPECT_FALSE(process_.cpu_share.has_value()) << "nothing to measure against yet";
  write('R', ticks / 10, 500);
  watch.update(kNow + kSecond / 10, process_);
  EXPECT_FALSE(process_.cpu_share.has_value()) << "too coarse over a tenth of a second";
  write('R', ticks, 500);
  watch.update(kNow + kSecond, process_);
  ASSERT_TRUE(process_.cpu_share.has_value());
  EXPECT_NEAR(*process_.cpu_share, 1.0, 0.01);
  EXPECT_EQ(process_.cpu_ns, kSecond);
  for (int i = 11; i <= 40; ++i) watch.update(kNow + i * kSecond / 10, process_);
  EXPECT_NEAR(*process_.cpu_share, 0.0, 0.01) << "old busy times are forgotten";
}

TEST(ProcessWatch, FollowsAChildToItsEnd) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  ProcessWatch watch("/proc", child);
  model::Process process;
  const auto wait_for = [&](auto wanted) {
    for (int i = 0; i < 500; ++i) {
      if (watch.update(kNow + i, process), process.state == wanted) return true;
      const timespec pause{0, 10'000'000};
      nanosleep(&pause, nullptr);
    }
    return false;
  };
  kill(child, SIGSTOP);
  EXPECT_TRUE(wait_for(model::ProcessState::kStopped));
  kill(child, SIGKILL);
  EXPECT_TRUE(wait_for(model::ProcessState::kZombie));
  waitpid(child, nullptr, 0);
  EXPECT_EQ(watch.update(kNow, process), Presence::kGone);
}

TEST(ProcessWatch, PlacesTheStartOfAProcessOnTheMonotonicClock) {
  const ProcessWatch watch("/proc", getpid());
  const int64_t age_ns = now_mono_ns() - watch.start_mono_ns();
  EXPECT_GT(age_ns, -kSecond / 10);
  EXPECT_LT(age_ns, 600 * kSecond);
}

}  // namespace
}  // namespace railwitness::host
