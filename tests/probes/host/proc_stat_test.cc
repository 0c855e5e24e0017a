#include "probes/host/proc_stat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

namespace railwitness::host {
namespace {

using testing::HasSubstr;

constexpr char kTail[] =
    " S 1 4242 4242 0 -1 4194560 2503 0 0 0 1234 567 0 0 20 0 12 0 987654 21876736 1036 18446744073709551615";

TEST(ParseProcStat, ReadsAnOrdinaryLine) {
  const auto stat = parse_proc_stat(std::string("4242 (python3)") + kTail);
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->user_ticks, 1234u);
  EXPECT_EQ(stat->system_ticks, 567u);
  EXPECT_EQ(stat->start_time, 987654u);
}

TEST(ParseProcStat, TakesTheNameToTheLastParenthesis) {
  for (const char* name : {"(a b)", "(a) R 1 2 3 (b)", "(()))", "()", "(\n)", "(x) Z 0 0 0 0 0 0 0 0 0 0 9 9 9)"}) {
    const auto stat = parse_proc_stat("4242 " + std::string(name) + kTail);
    ASSERT_TRUE(stat.ok()) << name << " " << stat.status();
    EXPECT_EQ(stat->state, 'S') << name;
    EXPECT_EQ(stat->start_time, 987654u) << name;
  }
}

TEST(ParseProcStat, RefusesWhatIsCutAndSaysWhere) {
  const std::string whole = std::string("4242 (python3)") + kTail;
  EXPECT_THAT(parse_proc_stat("4242 python3 S 1").status().message(), HasSubstr("name"));
  EXPECT_THAT(parse_proc_stat("4242 (python3)").status().message(), HasSubstr("state"));
  EXPECT_THAT(parse_proc_stat("4242 (python3) S 1 2").status().message(), HasSubstr("field 6"));
  EXPECT_THAT(parse_proc_stat("1 (x) S 1 2 3 4 5 6 7 8 9 10 -4 5 6 7 8 9 10 11 12").status().message(),
              HasSubstr("field 14"));
  for (size_t length = 0; length < whole.find("987654"); ++length) {
    EXPECT_FALSE(parse_proc_stat(std::string_view(whole).substr(0, length)).ok()) << length;
  }
}

TEST(ParseProcStat, StandsNoise) {
  std::mt19937_64 random(5);
  const std::string letters = "() \n0123456789SRZT-";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t i = random() % 120; i > 0; --i) text.push_back(letters[random() % letters.size()]);
    parse_proc_stat(text).status().IgnoreError();
  }
}

TEST(ReadProcStat, FindsThisProcessAndNotOneThatIsNot) {
  const auto stat = read_proc_stat("/proc", getpid());
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->state, 'R');
  EXPECT_GT(stat->start_time, 0u);
  EXPECT_TRUE(absl::IsNotFound(read_proc_stat("/proc", 1 << 30).status()));
}

TEST(ProcessState, TellsStoppedTracedDeadAndWhatItDoesNotKnow) {
  EXPECT_EQ(process_state('R'), model::ProcessState::kRunning);
  EXPECT_EQ(process_state('T'), model::ProcessState::kStopped);
  EXPECT_EQ(process_state('t'), model::ProcessState::kStopped);
  EXPECT_EQ(process_state('D'), model::ProcessState::kDiskSleep);
  EXPECT_EQ(process_state('Z'), model::ProcessState::kZombie);
  EXPECT_EQ(process_state('?'), model::ProcessState::kUnknown);
}

TEST(ReadBootId, GivesOneLineOrNothing) {
  EXPECT_THAT(read_boot_id("/proc"), testing::SizeIs(36));
  EXPECT_EQ(read_boot_id("/nowhere"), "");
}

}  // namespace
}  // namespace railwitness::host
