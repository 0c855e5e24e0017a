#include "probes/fabric/readers/mlxlink.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string answer(const std::string& groups) {
  return "{\"result\":{\"output\":{" + groups + "}},\"status\":{\"code\":0,\"message\":\"success\"}}";
}

std::string error_of(std::string_view bytes) {
  const auto facts = read_mlxlink("m.json", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

TEST(Mlxlink, ARateOf15EMinus255SaysThatNoErrorWasSeen) {
  const auto facts = read_mlxlink(
      "m", answer(R"("Physical Counters and BER Info":{"Effective Physical BER":"15E-255","Raw Physical BER":"5E-10",
      "Raw Physical BER Per Lane":{"values":["1E-10","1E-9","N/A"]},"Raw Physical Errors Per Lane":["7","N/A"],"Link Down Counter":"2"})"));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->effective_ber && facts->effective_ber->none_seen);
  EXPECT_DOUBLE_EQ(facts->raw_ber->rate, 5e-10);
  ASSERT_EQ(facts->raw_ber_of_lane.size(), 3u);
  EXPECT_FALSE(facts->raw_ber_of_lane[2]);
  EXPECT_EQ(facts->raw_errors_of_lane, (std::vector<std::optional<uint64_t>>{7, std::nullopt}));
  EXPECT_EQ(facts->port.counters.at("Link Down Counter").value, 2u);
  EXPECT_EQ(facts->remarks.at(0).text, "lane 1 has a raw error rate of 1e-09, the best one 1e-10");
}

TEST(Mlxlink, WhatIsNotAvailableIsNotKnown) {
  const auto facts =
      read_mlxlink("m", answer(R"("Physical Counters and BER Info":{"Raw Physical BER":"N/A","Link Down Counter":"N/A"},
      "Module Info":{"Temperature [C]":"N/A","Bias Current [mA]":"265.5,N/A [40..480]"})"));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_FALSE(facts->raw_ber);
  EXPECT_TRUE(facts->port.counters.empty());
  EXPECT_FALSE(facts->temperature_c);
  ASSERT_TRUE(facts->bias_ma);
  EXPECT_EQ(facts->bias_ma->values, (std::vector<std::optional<double>>{265.5, std::nullopt}));
  EXPECT_EQ(facts->bias_ma->high, 480.0);
  EXPECT_EQ(facts->port.state, model::PortState::kUnknown);
}

TEST(Mlxlink, SpeedAndWidthGiveLanes) {
  const auto ethernet = read_mlxlink(
      "m",
      answer(
          R"("Operational Info":{"State":"Active","Physical state":"ETH_AN_FSM_ENABLE","Speed":"400G","Width":"4x"})"));
  ASSERT_TRUE(ethernet.ok());
  EXPECT_EQ(ethernet->port.state, model::PortState::kUp);
  EXPECT_EQ(ethernet->port.lane_mbps, 100000u);
  const auto infiniband =
      read_mlxlink("m", answer(R"("Operational Info":{"State":"Polling","Speed":"IB-NDR","Width":"4x"})"));
  ASSERT_TRUE(infiniband.ok());
  EXPECT_EQ(infiniband->port.lane_mbps, 106250u);
  EXPECT_EQ(infiniband->port.state, model::PortState::kTraining);
}

TEST(Mlxlink, RefusalsNameTheFile) {
  EXPECT_EQ(error_of(R"({"status":{"code":1,"message":"no device"}})"), "m.json: mlxlink failed: no device");
  EXPECT_EQ(error_of("[]"), "m.json: no member result.output: no answer of mlxlink --json");
  EXPECT_EQ(error_of("{\n"), "m.json: no JSON at line 2 column 1");
}

}  // namespace
}  // namespace railwitness::fabric
