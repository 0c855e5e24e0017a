// In a process of its own, in which mode ofi has not been opened yet.
#include "tests/plugin/ofi/driver.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace railwitness::ofi_test {
namespace {

void handler_of_the_job(int) {}

TEST(SignalsDeathTest, TheJobsHandlersAreAsBeforeWhenModeOfiIsOpen) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // runs this test anew
  const auto open_and_compare = [] {
    std::signal(SIGTERM, handler_of_the_job);
    struct sigaction before[32], now;
    for (int signal = 1; signal < 32; signal++) sigaction(signal, nullptr, &before[signal]);
    transport();
    int changed = 0;
    for (int signal = 1; signal < 32; signal++) {
      sigaction(signal, nullptr, &now);
      if (now.sa_sigaction == before[signal].sa_sigaction) continue;
      std::fprintf(stderr, "signal %d has another handler\n", signal);
      changed++;
    }
    std::exit(changed);
  };
  EXPECT_EXIT(open_and_compare(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace railwitness::ofi_test
