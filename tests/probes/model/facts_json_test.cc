#include "probes/model/facts_json.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"
#include "probes/model/words.h"

namespace railwitness::model {
namespace {

using testing::HasSubstr;

// Every member set to something that is not its default.
NodeFacts full_facts() {
  NodeFacts facts;
  facts.node = "host1";
  facts.boot_id = "b2f3";
  facts.sequence = 7;
  facts.sidecar_start_mono_ns = 1;
  facts.taken_mono_ns = 123'456'789'012;
  facts.taken_wall_ns = 1'790'000'000'000'000'000;
  facts.late_ns = 4;
  facts.self = Self{1, 2, 3, 4, 5, 6};
  Rail rail;
  rail.index = 3;
  rail.device = "mlx5_3";
  rail.port = 2;
  rail.netdev = "ens3np0";
  rail.link_layer = "Ethernet";
  rail.state = "ACTIVE";
  rail.phys_state = "LinkUp";
  rail.state_since_mono_ns = -5;
  rail.gids = {"fe80:0000:0000:0000:0000:0000:0000:0001", "fd00:0000:0000:0000:0000:0000:0000:0001"};
  rail.lid = 65535;
  rail.kind = RailKind::kNetdev;
  rail.speed_mbps = 100000;
  rail.counters = {{"link_downed", 1}, {"out_of_sequence", UINT64_MAX}};
  facts.rails.push_back(rail);
  Edge edge{"mlx5_3", 2, "ens3np0", "leaf-r3", "swp14", "94:8e:d3:00:10:01", "C-0417", "lldp", false, 99};
  facts.edges.push_back(edge);
  Process process;
  process.pid = 42;
  process.start_time = 77;
  process.uid = 1000;
  process.job = "train";
  process.state = ProcessState::kStopped;
  process.state_since_mono_ns = 5;
  process.cpu_ns = 6;
  process.cpu_share = 0.98;
  process.attach = Attach::kLate;
  process.contexts = 8;
  process.unwitnessed_flows = 9;
  process.unwitnessed_events = 10;
  process.alone_begin_mono_ns = 11;
  process.alone_end_mono_ns = 12;
  process.witness_cost = WitnessCost{1, 2, 3, 4, true, 5, 6, 7};
  process.segment_problem = "size shrank";
  process.comms.push_back({0xDEADBEEFCAFEF00D, 3, 8, 2, false, "world"});
  process.threads.push_back({43, 1, 2, 3, 4});
  Flow flow;
  flow.index = 1;
  flow.device = "mlx5_3";
  flow.port = 2;
  flow.qpn = 0x11;
  flow.peer_qpn = 0x12;
  flow.local_gid = "a";
  flow.peer_gid = "b";
  flow.lid = 1;
  flow.peer_lid = 2;
  flow.direction = Direction::kRecv;
  flow.role = Role::kCts;
  flow.destroyed = true;
  flow.posted = 1, flow.completed = 2, flow.posted_bytes = 3, flow.completed_bytes = 4;
  flow.receives_posted = 5, flow.receives_completed = 6, flow.received_bytes = 7;
  flow.first_post_mono_ns = 1, flow.last_post_mono_ns = 2, flow.last_completion_mono_ns = 3;
  flow.last_receive_mono_ns = 4, flow.oldest_post_mono_ns = 0, flow.receive_wait_mono_ns = 6;
  flow.first_error = FlowError{12, 129, 8};
  flow.errors = 2;
  process.flows.push_back(flow);
  facts.processes.push_back(process);
  facts.ping_ports.push_back({"mlx5_3", 2, "a", 5, 17, 40000});
  facts.pings.push_back({1, "mlx5_3", "host2", "b", 3, 2, 1500, 20, "no route"});
  facts.notes = {"no LLDP: lldpctl is missing"};
  return facts;
}

TEST(FactsJson, EveryMemberSurvivesTheRoundTrip) {
  const std::string text = to_json(full_facts());
  const auto parsed = parse_node_facts(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(to_json(*parsed), text);
  EXPECT_EQ(parsed->rails[0].counters.at("out_of_sequence"), UINT64_MAX);
  EXPECT_EQ(parsed->processes[0].comms[0].hash, 0xDEADBEEFCAFEF00D);
  EXPECT_EQ(parsed->processes[0].state, ProcessState::kStopped);
  EXPECT_FALSE(parsed->processes[0].comms[0].open);
  EXPECT_EQ(parsed->processes[0].flows[0].oldest_post_mono_ns, 0);
  EXPECT_EQ(parsed->processes[0].flows[0].first_error->vendor, 129u);
  EXPECT_FALSE(parsed->edges[0].present);
  EXPECT_EQ(parsed->rails[0].kind, RailKind::kNetdev);
  EXPECT_EQ(parsed->ping_ports[0].udp_port, 40000);
  // A member that the writer forgets would survive as its default: count them.
  const auto json = parse_bounded_json(text, {});
  EXPECT_EQ((*json)["processes"][0]["flows"][0].size(), 27u);
  EXPECT_EQ((*json)["processes"][0].size(), 19u);
  EXPECT_EQ((*json)["processes"][0]["witness_cost"].size(), 8u);
  EXPECT_EQ((*json)["rails"][0].size(), 13u);
  EXPECT_EQ((*json)["ping_ports"][0].size(), 6u);
  EXPECT_EQ((*json)["edges"][0].size(), 10u);
  EXPECT_EQ((*json)["pings"][0].size(), 9u);
  EXPECT_EQ((*json)["self"].size(), 6u);
  EXPECT_EQ(json->size(), 14u);
}

TEST(FactsJson, WhatIsNotKnownIsAbsentAndStaysUnknown) {
  NodeFacts facts;
  facts.node = "n";
  EXPECT_EQ(to_json(facts),
            R"({"node":"n","rails":[],"edges":[],"processes":[],"ping_ports":[],"pings":[],"notes":[]})")
      << "but lists are there, for who goes through them";
  facts.processes.emplace_back();
  facts.processes[0].flows.emplace_back();
  const auto parsed = parse_node_facts(to_json(facts));
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->processes[0].flows[0].oldest_post_mono_ns.has_value());
  EXPECT_FALSE(parsed->processes[0].cpu_share.has_value());
}

TEST(FactsJson, PingRequestsSurviveTheRoundTrip) {
  const std::vector<PingRequest> requests = {{7, "host1", "mlx5_0", "host2", {"mlx5_1", 1, "gid", 3, 17}}};
  const auto parsed = parse_ping_requests(to_json(requests));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(to_json(*parsed), to_json(requests));
  EXPECT_EQ((*parsed)[0].to.qpn, 17u);
}

TEST(FactsJson, ErrorsNameTheMember) {
  const auto error = [](const char* text) { return std::string(parse_node_facts(text).status().message()); };
  EXPECT_THAT(error(""), HasSubstr("line 1 column 1"));
  EXPECT_THAT(error("{\"node\":\"n\",\n \"rails\": [,]}"), HasSubstr("line 2"));
  EXPECT_THAT(error("[]"), HasSubstr("(top): not an object"));
  EXPECT_THAT(error("{}"), HasSubstr("member node: missing"));
  EXPECT_THAT(error(R"({"node":"n","rails":{}})"), HasSubstr("member rails: not an array"));
  EXPECT_THAT(error(R"({"node":"n","processes":[{},{"flows":[{"qpn":-1}]}]})"),
              HasSubstr("member processes[1].flows[0].qpn: number out of range"));
  EXPECT_THAT(error(R"({"node":"n","processes":[{"pid":1.5}]})"), HasSubstr("processes[0].pid: not an integer"));
  EXPECT_THAT(error(R"({"node":"n","processes":[{"comms":[{"hash":"xyz"}]}]})"), HasSubstr("hash: not 1 to 16 hex"));
  EXPECT_THAT(error(R"({"node":"n","rails":[{"counters":{"a":"b"}}]})"), HasSubstr("rails[0].counters.a"));
  EXPECT_THAT(error(R"({"node":"n","rails":[{"port":256}]})"), HasSubstr("rails[0].port: number out of range"));
}

TEST(FactsJson, BoundsHold) {
  std::string flows = R"({"node":"n","processes":[{"flows":[)";
  for (int i = 0; i < 4097; ++i) flows += i == 0 ? "{}" : ",{}";
  EXPECT_THAT(std::string(parse_node_facts(flows + "]}]}").status().message()), HasSubstr("more than 4096 flows"));
  std::string rails = R"({"node":"n","rails":[)";
  for (int i = 0; i < 1025; ++i) rails += i == 0 ? "{}" : ",{}";
  EXPECT_THAT(std::string(parse_node_facts(rails + "]}").status().message()), HasSubstr("more than 1024"));
  EXPECT_THAT(std::string(parse_node_facts(std::string(1 << 20, '[')).status().message()), HasSubstr("nested deeper"));
  EXPECT_FALSE(parse_node_facts(std::string((4 << 20) + 1, ' ')).ok());
}

TEST(FactsJson, StringsOfStrangersAreFitForATerminal) {
  const auto parsed = parse_node_facts("{\"node\":\"a\\u001b[31m\\u009bx\\u0000\"}");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->node, "a?[31m??x?");
  EXPECT_EQ(printable("äöü", 3), "ä");
}

TEST(FactsJson, WordsOfLaterVersionsAreUnknown) {
  const auto parsed = parse_node_facts(R"({"node":"n","processes":[{"state":"levitating"}],"later":{"x":1}})");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->processes[0].state, ProcessState::kUnknown);
}

TEST(FactsJson, AnyMutationOfFactsGivesFactsOrAnError) {
  const std::string text = to_json(full_facts());
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = text;
    for (int k = 0; k < 3; ++k) mutated[random() % mutated.size()] = static_cast<char>(random() % 128);
    const auto parsed = parse_node_facts(mutated);
    if (!parsed.ok()) continue;
    const std::string again = to_json(*parsed);
    const auto twice = parse_node_facts(again);
    ASSERT_TRUE(twice.ok()) << mutated;
    EXPECT_EQ(to_json(*twice), again);
  }
}

TEST(FactsJson, ThousandFlowsFitIntoAMessageOfNats) {
  NodeFacts facts = full_facts();
  facts.processes[0].flows.resize(2048, facts.processes[0].flows[0]);
  for (Flow& flow : facts.processes[0].flows) {
    flow.destroyed = false;
    flow.first_error.reset();
    flow.errors = flow.lid = flow.peer_lid = 0;
    flow.local_gid = flow.peer_gid = "0000:0000:0000:0000:0000:ffff:0a00:0001";
    for (auto* at :
         {&flow.first_post_mono_ns, &flow.last_post_mono_ns, &flow.last_completion_mono_ns, &flow.last_receive_mono_ns})
      *at = 1'234'567'890'123'456;
    flow.posted = flow.completed = flow.receives_posted = flow.receives_completed = 1'000'000'000;
    flow.posted_bytes = flow.completed_bytes = flow.received_bytes = 1'000'000'000'000'000;
  }
  RecordProperty("bytes", static_cast<int>(to_json(facts).size()));
  EXPECT_LT(to_json(facts).size(), size_t{2} << 20);
}

}  // namespace
}  // namespace railwitness::model
