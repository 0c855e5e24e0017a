#include "probes/sidecar/line_budget.h"

#include <gtest/gtest.h>

namespace railwitness::sidecar {
namespace {

constexpr int64_t kStart = 1'000'000'000'000;

TEST(LineBudget, GivesEachRankOfAJobALine) {
  LineBudget log;
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(log.take(kStart + i));
  EXPECT_EQ(log.take_untold(kStart + 20), 0u);
  EXPECT_TRUE(log.take(kStart + LineBudget::kSpanNs)) << "a job that starts later";
}

TEST(LineBudget, SaysAFloodAsANumberOnceInAWhile) {
  LineBudget log;
  int64_t now = kStart;
  uint64_t lines = 0, untold = 0, sentences = 0;
  for (int i = 0; i < 100'000; ++i, now += 1'000'000) {  // 100 s of 1000 a second
    lines += log.take(now);
    const uint64_t n = log.take_untold(now);
    untold += n;
    sentences += n > 0;
  }
  untold += log.take_untold(now + LineBudget::kSpanNs);
  EXPECT_EQ(lines + untold, 100'000u) << "each is told one way or the other";
  EXPECT_LE(lines, 11u * LineBudget::kLinesASpan);
  EXPECT_LE(sentences, 10u);
}

}  // namespace
}  // namespace railwitness::sidecar
