#include "probes/sidecar/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwitness::sidecar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

TEST(DropForeignDevices, ForgetsADeviceThatThisNodeDoesNotHave) {
  model::Rail rail;
  rail.device = "mlx5_0";
  model::Process process;
  process.flows.resize(2);
  process.flows[0].device = "mlx5_0";
  process.flows[1].device = "mlx5_99";
  std::vector<model::Process> processes = {process};
  drop_foreign_devices({}, processes);
  EXPECT_EQ(processes[0].flows[1].device, "mlx5_99") << "nothing to compare with";
  drop_foreign_devices({rail}, processes);
  EXPECT_EQ(processes[0].flows[0].device, "mlx5_0");
  EXPECT_EQ(processes[0].flows[1].device, "");
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
  EXPECT_THAT(coverage_notes(facts, 0),
              ElementsAre("sidecar started at 1970-01-01T00:00:00Z: what happened before was not seen",
                          "process 123 was unwitnessed for 3.2 s"));
  facts.taken_mono_ns = 2000 * kSecond;
  EXPECT_THAT(coverage_notes(facts, 0), IsEmpty());
  facts.processes[2].state = model::ProcessState::kUnknown;
  EXPECT_THAT(coverage_notes(facts, 0), ElementsAre(testing::HasSubstr("/proc hides them")));
}

TEST(WallText, IsRfc3339) { EXPECT_EQ(wall_text(1'790'000'000 * kSecond), "2026-09-21T14:13:20Z"); }

}  // namespace
}  // namespace railwitness::sidecar
