#include "probes/fabric/readers/clock_text.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

int64_t ns(std::string_view text) {
  const auto clock = clock_at_start(text);
  return clock ? clock->local_ns : -1;
}

TEST(ClockText, DifferencesHoldOverEveryForm) {
  EXPECT_EQ(ns("2024-06-21 07:46:25.010 [102]") - ns("2024-06-21 07:46:24.442 [101]"), 568'000'000);
  EXPECT_EQ(ns("Mar  7 04:11:04.121907 leaf-03") - ns("Mar  7 04:11:02.120588 leaf-03"), 2'001'319'000);
  EXPECT_EQ(ns("Sun Nov 29 18:05:48 2026 927891 usec"), ns("2026-11-29T18:05:48"));
  EXPECT_EQ(ns("Mar  1 00:00:00 a") - ns("Feb 29 23:59:59 a"), 1'000'000'000);
}

TEST(ClockText, ItSaysWhetherThereIsAYearAndHowLongItIs) {
  const auto clock = clock_at_start("Mar  7 04:11:02.118032 leaf-03");
  ASSERT_TRUE(clock);
  EXPECT_FALSE(clock->has_year);
  EXPECT_EQ(clock->length, 22u);
  EXPECT_TRUE(clock_at_start("Sun Nov 29 18:05:48 2026 927891 usec")->has_year);
}

TEST(ClockText, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "leaf-03", "2024-13-01 00:00:00", "2024-02-30 00:00:00", "Mar 32 04:11:02",
                           "2024-06-21 25:00:00", "2024-06-21 07:46:24.", "Sun29", "Foo 7 04:11:02"}) {
    EXPECT_FALSE(clock_at_start(text)) << text;
  }
}

}  // namespace
}  // namespace railwitness::fabric
