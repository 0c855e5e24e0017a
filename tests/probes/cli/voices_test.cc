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

// Whoever may publish may say any name.
TEST(Voices, ForgedOnceEachMakeRoomForASidecarThatGoesOnSpeaking) {
  Correlator correlator;
  correlator.hear(said_by("old", "boot-o", 1), kSecond);
  correlator.hear(said_by("old", "boot-o", 1), 2 * kSecond);
  for (size_t i = 0; i < Correlator::kMaxNodes; ++i) {
    correlator.hear(said_by(("forged-" + std::to_string(i)).c_str(), "boot-x", 1), 3 * kSecond);
  }
  correlator.hear(said_by("new", "boot-n", 1), 4 * kSecond);
  EXPECT_TRUE(correlator.is_crowded(4 * kSecond)) << "it is told";
  EXPECT_THAT(correlator.speaking(4 * kSecond), testing::Not(testing::Contains("new")));
  const int64_t later = 4 * kSecond + Correlator::kSaidOnceNs;
  correlator.hear(said_by("old", "boot-o", 1), later);
  correlator.think(later, later);
  correlator.hear(said_by("new", "boot-n", 1), later);
  EXPECT_THAT(correlator.speaking(later), testing::UnorderedElementsAre("old", "new"));
  EXPECT_FALSE(correlator.is_crowded(later + Correlator::kTellCrowdedNs));
}

TEST(Voices, OfANodeThatSpokeOnceAreKeptWhileThereIsRoom) {
  Correlator correlator;
  correlator.hear(said_by("once", "boot-a", 1), kSecond);
  correlator.think(100 * kSecond, 100 * kSecond);
  EXPECT_THAT(correlator.silent(100 * kSecond), ElementsAre("once"));
}

}  // namespace
}  // namespace railwitness::cli
