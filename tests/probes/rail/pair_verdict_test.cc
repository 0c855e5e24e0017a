#include "probes/rail/pair_verdict.h"

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/rail/verbs_device.h"

namespace railwitness::rail {
namespace {

using testing::HasSubstr;

model::Ping ping(uint32_t sent, uint32_t received, int64_t rtt_ns = 100'000) {
  model::Ping out;
  out.sent = sent;
  out.received = received;
  if (received > 0) out.rtt_ns = rtt_ns;
  return out;
}

model::Ping failed(std::string problem) {
  model::Ping out = ping(0, 0);
  out.problem = std::move(problem);
  return out;
}

Way way(std::vector<model::Ping> results) {
  Way out;
  out.asked = static_cast<uint32_t>(results.size());
  out.results = std::move(results);
  return out;
}

RailWays good(int32_t index, int64_t rtt_ns = 100'000) {
  return {index, way({ping(3, 3, rtt_ns), ping(3, 3, rtt_ns + 500)}), way({ping(3, 3, rtt_ns), ping(3, 3, rtt_ns + 500)})};
}

WayVerdict there(const Way& of) { return judge_pair({{0, of, good(0).back}})[0].there; }

TEST(PairVerdict, ARailThatAnswersAllBothWaysIsGoodWithItsRoundTrips) {
  const RailVerdict verdict = judge_pair({good(4)})[0];
  EXPECT_EQ(verdict.index, 4);
  EXPECT_EQ(verdict.verdict, PairVerdict::kGood);
  EXPECT_EQ(verdict.there.sent, 6u);
  EXPECT_EQ(verdict.there.received, 6u);
  EXPECT_EQ(verdict.there.least_ns, 100'000);
  EXPECT_EQ(verdict.there.median_ns, 100'250);
}

TEST(PairVerdict, LossIsLossyAndSilenceIsNoAnswer) {
  EXPECT_EQ(there(way({ping(3, 3), ping(3, 2)})).verdict, PairVerdict::kLossy);
  EXPECT_EQ(there(way({ping(3, 3), ping(3, 2)})).reason, "1 of 6 lost");
  EXPECT_EQ(there(way({ping(3, 0), ping(3, 0)})).verdict, PairVerdict::kNoAnswer);
}

TEST(PairVerdict, OneBadDirectionMakesTheRailBadAndTheOtherStaysGood) {
  const RailVerdict verdict = judge_pair({{0, good(0).there, way({ping(3, 1)})}})[0];
  EXPECT_EQ(verdict.verdict, PairVerdict::kLossy);
  EXPECT_EQ(verdict.there.verdict, PairVerdict::kGood);
}

TEST(PairVerdict, WhatCouldNotBeSentOrDidNotComeBackIsUnknownWithItsReason) {
  EXPECT_EQ(there(way({})).verdict, PairVerdict::kUnknown);
  EXPECT_EQ(there(way({failed("no open device x to ping from")})).reason, "no open device x to ping from");
  Way missing = way({ping(3, 3)});
  missing.asked = 5;
  EXPECT_EQ(there(missing).verdict, PairVerdict::kUnknown) << "one answered round of five is no clean bill";
  EXPECT_EQ(there(missing).reason, "4 of 5 results did not come back over the bus");
  Way barred = way({});
  barred.cannot = "host1 has no rail 0";
  EXPECT_EQ(there(barred).reason, "host1 has no rail 0");
}

TEST(PairVerdict, UnknownBesideGoodIsUnknownAndBesideBadIsBad) {
  EXPECT_EQ(judge_pair({{0, way({}), good(0).back}})[0].verdict, PairVerdict::kUnknown);
  EXPECT_EQ(judge_pair({{0, way({}), way({ping(3, 0)})}})[0].verdict, PairVerdict::kNoAnswer);
  EXPECT_FALSE(is_bad(PairVerdict::kUnknown));
}

TEST(PairVerdict, AProbeThatEndedAtAProblemLostNothing) {
  model::Ping cut = failed("mlx5_0 was closed meanwhile");
  cut.sent = 2;
  EXPECT_EQ(there(way({ping(3, 3), cut})).verdict, PairVerdict::kUnknown);
  EXPECT_EQ(there(way({ping(3, 3), cut})).sent, 3u);
}

TEST(PairVerdict, MalformedResultsCountForNothing) {
  model::Ping backwards = ping(3, 3, -5);
  for (const model::Ping& lie : {ping(3, 4), ping(0, 0), ping(4'000'000'000, 0), backwards}) {
    const WayVerdict verdict = there(way({lie}));
    EXPECT_EQ(verdict.verdict, PairVerdict::kUnknown);
    EXPECT_THAT(verdict.reason, HasSubstr("none that a sidecar gives"));
  }
}

TEST(PairVerdict, APortWithoutLinkIsNoAnswerEvenIfNothingCouldBeSent) {
  Way down = way({failed("cannot send a probe on h1r0: Network is unreachable")});
  down.port_down = "h1r0 of host1 is DOWN";
  EXPECT_EQ(there(down).verdict, PairVerdict::kNoAnswer);
  EXPECT_EQ(there(down).reason, "h1r0 of host1 is DOWN");
  down.results = {ping(3, 3)};
  EXPECT_EQ(there(down).verdict, PairVerdict::kGood) << "an answer is stronger than a state read before";
}

TEST(PairVerdict, AnAddressThatNobodyOnTheRailSaysIsNoAnswer) {
  const auto problem = [](int error) { return std::string(verbs_error("address fe80::1", "mlx5_0", error).message()); };
  EXPECT_EQ(there(way({failed(problem(ETIMEDOUT))})).verdict, PairVerdict::kNoAnswer);
  EXPECT_EQ(there(way({failed(problem(EHOSTUNREACH))})).verdict, PairVerdict::kNoAnswer);
  EXPECT_EQ(there(way({failed(problem(ENOMEM))})).verdict, PairVerdict::kUnknown);
  EXPECT_EQ(there(way({failed("cannot send a datagram on mlx5_0: Connection timed out")})).verdict, PairVerdict::kUnknown);
}

TEST(PairVerdict, DoubtMakesLossUnknownAndLeavesGoodAsItIs) {
  Way silent = way({ping(3, 0)});
  silent.doubt = "the sidecar of host1 has fallen silent on the bus";
  EXPECT_EQ(there(silent).verdict, PairVerdict::kUnknown);
  EXPECT_EQ(there(silent).reason, silent.doubt);
  silent.results = {ping(3, 3)};
  EXPECT_EQ(there(silent).verdict, PairVerdict::kGood);
}

TEST(PairVerdict, ALateSidecarIsForgivenWhatItLosesButNotARailThatIsSilentBesideOthers) {
  Way lossy = way({ping(3, 1), ping(3, 2)}), silent = way({ping(3, 0), ping(3, 0)}), whole = way({ping(3, 3), ping(3, 3)});
  for (Way* each : {&lossy, &silent, &whole}) each->late = "the sidecar of host1 was 1.2 s behind";
  const auto verdicts = [&](const Way& a, const Way& b) {
    const auto out = judge_pair({{0, a, good(0).back}, {1, b, good(1).back}});
    return std::pair(out[0].there.verdict, out[1].there.verdict);
  };
  EXPECT_EQ(verdicts(lossy, whole), std::pair(PairVerdict::kUnknown, PairVerdict::kGood));
  EXPECT_EQ(verdicts(silent, whole), std::pair(PairVerdict::kNoAnswer, PairVerdict::kGood));
  EXPECT_EQ(verdicts(silent, lossy), std::pair(PairVerdict::kNoAnswer, PairVerdict::kUnknown));
  EXPECT_EQ(verdicts(silent, silent), std::pair(PairVerdict::kUnknown, PairVerdict::kUnknown));
}

TEST(PairVerdict, SlowIsFiveTimesTheOthersAndTwentyMicrosecondsMore) {
  const auto slow = [](std::vector<RailWays> rails) { return judge_pair(rails)[0].verdict == PairVerdict::kSlow; };
  EXPECT_TRUE(slow({good(0, 500'000), good(1), good(2)}));
  EXPECT_FALSE(slow({good(0, 499'000), good(1), good(2)}));
  EXPECT_FALSE(slow({good(0, 500'000), good(1)})) << "of two nobody knows which one is the slow one";
  EXPECT_FALSE(slow({good(0, 23'000), good(1, 4'000), good(2, 4'000)})) << "only 19 us more";
  EXPECT_TRUE(slow({good(0, 25'000), good(1, 4'000), good(2, 4'000)}));
  const auto verdicts = judge_pair({good(0, 900'000), good(1), good(2), good(3)});
  EXPECT_EQ(verdicts[0].there.reason, "900.0 us where the other rails take 100.0 us");
  EXPECT_EQ(verdicts[1].verdict, PairVerdict::kGood);
}

TEST(PairVerdict, ALeastRoundTripThatIsUsualOnTheOtherRailsIsNotSlow) {
  const Way noisy = way({ping(3, 3, 40'000), ping(3, 3, 900'000), ping(3, 3, 3'000'000)});
  const auto verdicts = judge_pair({good(0, 500'000), {1, noisy, noisy}, {2, noisy, noisy}});
  EXPECT_EQ(verdicts[0].verdict, PairVerdict::kGood);
  EXPECT_EQ(judge_pair({good(0, 900'000), {1, noisy, noisy}, {2, noisy, noisy}})[0].verdict, PairVerdict::kSlow);
}

TEST(PairVerdict, RoundTripsOfAnyLengthOverflowNothing) {
  const int64_t most = INT64_MAX - 1000;
  EXPECT_EQ(judge_pair({good(0, most), good(1, most), good(2)})[0].there.verdict, PairVerdict::kGood);
}

}  // namespace
}  // namespace railwitness::rail
