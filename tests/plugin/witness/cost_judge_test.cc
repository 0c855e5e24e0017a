// When only counters are kept, and when no longer.
#include "plugin/witness/cost.h"

#include <gtest/gtest.h>

namespace railwitness::test {
namespace {

using witness::Detail;

constexpr uint64_t kSecond = 1'000'000'000;

struct Judged {
  witness::CostJudge judge;
  uint64_t second = 0;

  Detail after(int turns, uint64_t ppm, uint64_t most_ppm = 20'000) {
    Detail detail = Detail::kFull;
    for (int i = 0; i < turns; i++) detail = judge.judge(ppm, most_ppm, ++second * kSecond);
    return detail;
  }
};

TEST(CostJudge, KeepsCountersOnlyAfterThreeDearSecondsInARow) {
  Judged j;
  EXPECT_EQ(j.after(2, 20'001), Detail::kFull);
  EXPECT_EQ(j.after(1, 20'000), Detail::kFull) << "the limit itself is allowed, and the count begins again";
  EXPECT_EQ(j.after(2, 20'001), Detail::kFull);
  EXPECT_EQ(j.after(1, 20'001), Detail::kCounters);
}

TEST(CostJudge, ComesBackBelowHalfTheLimitOnly) {
  Judged j;
  ASSERT_EQ(j.after(3, 30'000), Detail::kCounters);
  EXPECT_EQ(j.after(100, 10'001), Detail::kCounters);
  EXPECT_EQ(j.after(4, 10'000), Detail::kCounters);
  EXPECT_EQ(j.after(1, 10'000), Detail::kFull);
}

TEST(CostJudge, WaitsTwiceAsLongEachTimeThatItDidNotLast) {
  Judged j;
  uint64_t before = 0;
  for (int i = 0; i < 8; i++) {
    ASSERT_EQ(j.after(3, 30'000), Detail::kCounters);
    const uint64_t began = j.second;
    while (j.after(1, 0) == Detail::kCounters) ASSERT_LT(j.second - began, 1000u);
    const uint64_t lasted = j.second - began;
    if (before && before < 320) {
      EXPECT_EQ(lasted, before * 2);
    }
    before = lasted;
  }
  EXPECT_EQ(before, 320u) << "but never longer than this";
  ASSERT_EQ(j.after(61, 0), Detail::kFull);
  ASSERT_EQ(j.after(3, 30'000), Detail::kCounters);
  EXPECT_EQ(j.after(5, 0), Detail::kFull) << "full recording lasted a minute: as at first";
}

TEST(CostJudge, WithoutALimitNeverKeepsCountersOnly) {
  Judged j;
  EXPECT_EQ(j.after(100, 900'000, 0), Detail::kFull);
}

}  // namespace
}  // namespace railwitness::test
