// Two sidecars under one node name, against one that is restarted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/cli/correlator.h"

namespace railwitness::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

std::vector<model::Heard> said_by(const char* node, const char* boot_id, int64_t start_mono_ns) {
  std::vector<model::Heard> heard(1);
  heard[0].facts.node = node;
  heard[0].facts.boot_id = boot_id;
  heard[0].facts.sidecar_start_mono_ns = start_mono_ns;
  return heard;
}

TEST(Voices, OfTwoSidecarsThatTakeTurnsUnderOneNameAreTold) {
  Correlator correlator;
  correlator.hear(said_by("node-1", "boot-a", 5), kSecond);
  correlator.hear(said_by("node-1", "boot-b", 7), 2 * kSecond);
  EXPECT_THAT(correlator.doubled(2 * kSecond), IsEmpty()) << "it may have been reinstalled";
  correlator.hear(said_by("node-1", "boot-a", 5), 3 * kSecond);
  correlator.hear(said_by("node-2", "boot-c", 5), 3 * kSecond);
  EXPECT_THAT(correlator.doubled(3 * kSecond), ElementsAre("node-1"));
  EXPECT_THAT(correlator.doubled(3 * kSecond + Correlator::kTellDoubledNs), IsEmpty()) << "one of them was stopped";
}

TEST(Voices, OfASidecarThatIsRestartedAgainAndAgainAreOne) {
  Correlator correlator;
  for (int64_t start = 1; start < 20; ++start) {
    correlator.hear(said_by("node-1", "boot-a", start), start * kSecond);
    correlator.hear(said_by("node-1", "boot-a", start), start * kSecond + 1);
    EXPECT_THAT(correlator.doubled(start * kSecond + 1), IsEmpty());
  }
}

}  // namespace
}  // namespace railwitness::cli
