#include "probes/sidecar/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/model/facts_json.h"
#include "probes/sidecar/lateness.h"

namespace railwitness::sidecar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

TEST(SettleDevices, ForgetsADeviceThatThisNodeDoesNotHave) {
  model::Rail rail;
  rail.device = "mlx5_0";
  model::Process process;
  process.flows.resize(2);
  process.flows[0].device = "mlx5_0";
  process.flows[1].device = "mlx5_99";
  std::vector<model::Process> processes = {process};
  settle_devices({}, processes);
  EXPECT_EQ(processes[0].flows[1].device, "mlx5_99") << "nothing to compare with";
  settle_devices({rail}, processes);
  EXPECT_EQ(processes[0].flows[0].device, "mlx5_0");
  EXPECT_EQ(processes[0].flows[1].device, "");
}

TEST(SettleDevices, AFlowOnTheInterfaceOfAnRdmaDeviceRunsOverThatDevice) {
  model::Rail verbs, interface;
  verbs.device = "mlx5_0";
  verbs.netdev = "eth1";
  verbs.port = 2;
  interface.kind = model::RailKind::kNetdev;
  interface.device = interface.netdev = "eth2";
  model::Process process;
  process.flows.resize(3);
  process.flows[0].device = "eth1";
  process.flows[1].device = "eth2";
  process.flows[1].port = 7;
  process.flows[2].device = "mlx5_0";
  process.flows[2].port = 9;
  std::vector<model::Process> processes = {process};
  settle_devices({verbs, interface}, processes);
  EXPECT_EQ(processes[0].flows[0].device, "mlx5_0");
  EXPECT_EQ(processes[0].flows[0].port, 2);
  EXPECT_EQ(processes[0].flows[1].device, "eth2");
  EXPECT_EQ(processes[0].flows[1].port, 1) << "an interface has one port";
  EXPECT_EQ(processes[0].flows[2].port, 9) << "a device's ports are its own";
}

TEST(BoundFlows, DropsDestroyedOnesFirst) {
  model::Process process;
  process.flows.resize(10);
  for (size_t i = 0; i < 5; ++i) process.flows[i].destroyed = true;
  std::vector<model::Process> processes = {process};
  EXPECT_EQ(bound_flows(10, processes), 0u);
  EXPECT_EQ(bound_flows(7, processes), 5u);
  EXPECT_THAT(processes[0].flows, SizeIs(5));
}

TEST(BoundFlows, CutsWhereMostAre) {
  std::vector<model::Process> processes(3);
  processes[0].flows.resize(2);
  processes[1].flows.resize(100);
  processes[2].flows.resize(10);
  EXPECT_EQ(bound_flows(20, processes), 92u);
  EXPECT_THAT(processes[0].flows, SizeIs(2));
  EXPECT_EQ(processes[0].flows.size() + processes[1].flows.size() + processes[2].flows.size(), 20u);
  EXPECT_EQ(bound_flows(0, processes), 20u);
}

TEST(BoundFlows, KeepsTheFlowsOnWhichSomethingIsOutstanding) {
  std::vector<model::Process> processes(1);
  processes[0].flows.resize(100);
  processes[0].flows[99].index = 99;
  processes[0].flows[99].oldest_post_mono_ns = 1;
  bound_flows(1, processes);
  ASSERT_THAT(processes[0].flows, SizeIs(1));
  EXPECT_EQ(processes[0].flows[0].index, 99u);
}

TEST(BoundFlows, CutsTheDeadBeforeTheLiving) {
  std::vector<model::Process> processes(2);
  processes[0].flows.resize(30);
  processes[0].state = model::ProcessState::kRunning;
  processes[1].flows.resize(10);
  processes[1].state = model::ProcessState::kGone;
  EXPECT_EQ(bound_flows(30, processes), 10u);
  EXPECT_THAT(processes[0].flows, SizeIs(30));
  EXPECT_EQ(bound_flows(20, processes), 10u);
  EXPECT_THAT(processes[0].flows, SizeIs(20));
}

// Liars that fill every table cannot push the facts above what the bus takes, nor the honest process out of them.
TEST(BoundProcesses, KeepsFactsBelowOneMegabyteWhateverJobsClaim) {
  model::NodeFacts facts;
  facts.processes.resize(2000);
  for (model::Process& process : facts.processes) {
    process.state = model::ProcessState::kGone;
    process.job.assign(63, 'x');
    process.comms.assign(64, {.hash = ~0ull, .rank = 16777214, .nranks = 16777215, .nnodes = 16777215, .open = true, .name = std::string(63, 'x')});
    process.threads.assign(64, {.tid = ~0u, .posts = ~0ull, .polls = ~0ull, .completions = ~0ull, .last_change_mono_ns = INT64_MAX});
    model::Flow flow;
    flow.local_gid = flow.peer_gid = "0000:0000:0000:0000:0000:ffff:0a00:0001";
    flow.device.assign(20, 'd');
    flow.posted = flow.completed = flow.posted_bytes = flow.completed_bytes = flow.received_bytes = ~0ull;
    flow.receives_posted = flow.receives_completed = ~0ull;
    flow.first_post_mono_ns = flow.last_post_mono_ns = flow.last_completion_mono_ns = INT64_MAX;
    flow.last_receive_mono_ns = flow.oldest_post_mono_ns = flow.receive_wait_mono_ns = INT64_MAX;
    flow.first_error = {.status = ~0u, .vendor = ~0u, .mono_ns = INT64_MAX};
    process.flows.assign(64, flow);
  }
  facts.processes.back().state = model::ProcessState::kRunning;
  facts.processes.back().pid = 4711;
  facts.processes.back().flows.resize(16);
  EXPECT_EQ(bound_processes(facts.processes), 2000 - kMaxProcesses);
  bound_flows(kMaxFlows, facts.processes);
  EXPECT_EQ(facts.processes.front().pid, 4711);
  EXPECT_THAT(facts.processes.front().flows, SizeIs(16));
  EXPECT_LT(model::to_json(facts).size(), 1'000'000u);
}

TEST(BoundProcesses, KeepsTheCommunicatorsThatAreOpen) {
  std::vector<model::Process> processes(1);
  for (int i = 0; i < 64; ++i) processes[0].comms.push_back({static_cast<uint64_t>(i), 0, 2, 1, i >= 60, ""});
  bound_processes(processes);
  ASSERT_EQ(processes[0].comms.size(), 16u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(processes[0].comms[i].hash, 60 + i);
}

TEST(Lateness, ForgetsAfterTenSeconds) {
  Lateness lateness;
  lateness.note(700, 100 * kSecond);
  lateness.note(5, 101 * kSecond);
  EXPECT_EQ(lateness.longest(104 * kSecond), 700);
  EXPECT_EQ(lateness.longest(106 * kSecond), 700);
  EXPECT_EQ(lateness.longest(111 * kSecond), 0);
}

TEST(CoverageNotes, TellWhatNobodySaw) {
  model::NodeFacts facts;
  facts.sidecar_start_mono_ns = 1000 * kSecond;
  facts.taken_mono_ns = 1010 * kSecond;
  facts.processes.resize(3);
  for (model::Process& process : facts.processes) process.state = model::ProcessState::kRunning;
  facts.processes[0].pid = 123;
  facts.processes[0].alone_begin_mono_ns = 998 * kSecond;
  facts.processes[0].alone_end_mono_ns = 998 * kSecond + 3'200'000'000;
  facts.processes[1].alone_begin_mono_ns = 998 * kSecond;  // still alone
  EXPECT_THAT(texts_of(coverage_notes(facts, 0)),
              ElementsAre("sidecar started at 1970-01-01T00:00:00Z: what happened before was not seen",
                          "process 123 was unwitnessed for 3.2 s"));
  EXPECT_EQ(coverage_notes(facts, 0)[0].kind, Note::Kind::kExpected);
  EXPECT_EQ(coverage_notes(facts, 0)[1].kind, Note::Kind::kOfAJob);
  facts.taken_mono_ns = 2000 * kSecond;
  EXPECT_THAT(texts_of(coverage_notes(facts, 0)), IsEmpty());
  facts.processes[2].state = model::ProcessState::kUnknown;
  EXPECT_THAT(texts_of(coverage_notes(facts, 0)), ElementsAre(testing::HasSubstr("/proc hides them")));
}

TEST(CostNotes, NameTheJobsOfWhichOnlyCountersAreKept) {
  model::NodeFacts facts;
  facts.taken_mono_ns = 1010 * kSecond;
  facts.taken_wall_ns = 1'790'000'010 * kSecond;
  facts.processes.resize(4);
  facts.processes[0].job = "train";
  facts.processes[0].pid = 42;
  facts.processes[0].witness_cost = model::WitnessCost{.events = 64, .event_ns = 900, .ppm = 41'000, .max_permille = 20,
                                                       .counters_only = true, .since_mono_ns = 1000 * kSecond,
                                                       .since_ppm = 81'300, .reductions = 1};
  facts.processes[1].witness_cost = facts.processes[0].witness_cost;
  facts.processes[1].witness_cost->counters_only = false;
  facts.processes[3] = facts.processes[0];
  facts.processes[3].state = model::ProcessState::kGone;
  EXPECT_THAT(cost_notes(facts),
              ElementsAre("job train, process 42: witness costs 81.3 permille of the time of the threads that call it, "
                          "RAILWITNESS_COST_MAX_PERMILLE allows 20: counters only since 2026-09-21T14:13:20Z"));
}

TEST(WallText, IsRfc3339) { EXPECT_EQ(wall_text(1'790'000'000 * kSecond), "2026-09-21T14:13:20Z"); }

}  // namespace
}  // namespace railwitness::sidecar
