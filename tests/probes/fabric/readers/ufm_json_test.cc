#include "probes/fabric/readers/ufm_json.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto facts = read_ufm_json("ufm.json", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

constexpr std::string_view kLink =
    R"([{"source_guid":"00000000000000a1","source_port":"1","destination_guid":"00000000000000b1",
    "destination_port":"7","source_port_dname":"HCA-1/1","destination_port_dname":"7","width":"4x",
    "source_port_node_description":"n1 mlx5_0","destination_port_node_description":"leaf-1:7",
    "name":"00000000000000a9_1:00000000000000b1_7"}])";

TEST(UfmJson, IdentityComesFromTheMembersAndNeverFromTheName) {
  const auto facts = read_ufm_json("u", kLink);
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->devices.size(), 2u);
  EXPECT_EQ(facts->devices[0].guid, "00000000000000a1");
  EXPECT_EQ(facts->devices[0].host, "n1");
  EXPECT_EQ(facts->devices[1].name, "leaf-1");
  EXPECT_EQ(facts->devices[1].kind, model::DeviceKind::kSwitch);
  ASSERT_EQ(facts->remarks.size(), 1u);
  EXPECT_NE(facts->remarks[0].text.find("has other GUIDs than its members"), std::string::npos);
}

TEST(UfmJson, ALinkThatBothEndsSayIsOneLink) {
  const auto facts = read_ufm_json(
      "u", R"([{"guid":"a1","number":1,"peer":"00000000000000b1_7","physical_state":"Link Up","logical_state":"N/A"},
                                            {"guid":"b1","number":7,"peer":"00000000000000a1_1","physical_state":"Polling"}])");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->links.size(), 1u);
  EXPECT_FALSE(facts->links[0].one_sided);
  EXPECT_EQ(facts->ports[0].state, model::PortState::kUp);
  EXPECT_EQ(facts->ports[1].state, model::PortState::kDown);
}

TEST(UfmJson, TelemetryGivesCountersAndItsInnerTimeAndNoRates) {
  const auto facts = read_ufm_json("u", R"({"timestamp":"2024-03-05 16:26:11","values":[{"timestamp":1700000000000001,
      "node_guid":"0x0a1","port_guid":"0x0a1","port_num":3,"X_u_Errors":4,"Y_f_u_Gbps":0,"Z":0.5}]})");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->source.wall_ns, 1700000000000001000);
  EXPECT_EQ(facts->ports.at(0).counters.size(), 1u);
  EXPECT_EQ(facts->ports.at(0).counters.at("X_u_Errors").value, 4u);
  EXPECT_EQ(facts->remarks.at(0).text, "2 rates beside the counters are left out");
}

TEST(UfmJson, RefusalsNameFileAndMember) {
  EXPECT_EQ(error_of("[1]"), "ufm.json: member (top)[0]: neither a link, a port nor telemetry of UFM");
  EXPECT_EQ(error_of(R"([{"source_guid":"x"}])"), "ufm.json: member (top)[0]: source has no GUID or no port");
  EXPECT_EQ(error_of(R"([{"guid":"","number":1}])"), "ufm.json: member (top)[0]: no GUID or no number");
  EXPECT_EQ(error_of(R"({"values":[{"node_guid":"1","port_num":"x"}]})"),
            "ufm.json: member values[0]: no node_guid or no port_num");
  EXPECT_EQ(error_of("["), "ufm.json: no JSON at line 1 column 2");
}

}  // namespace
}  // namespace railwitness::fabric
