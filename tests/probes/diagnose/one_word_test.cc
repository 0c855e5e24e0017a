// What jobs say of themselves, be it lies on all nodes at once, confirms nothing against hardware: that takes a port's
// state or an active probe, and here all ports are up and no probe fails.
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/tracker.h"
#include "tests/probes/diagnose/cluster.h"
#include "tests/probes/diagnose/findings.h"

namespace railwitness::diagnose {
namespace {

constexpr int kHosts = 4, kRails = 2;

class Liar {
 public:
  explicit Liar(uint64_t seed) : random_(seed) {}

  // Whatever a segment can say, of flows, communicators and threads.
  void lie(Cluster& c) {
    const bool everywhere = pick(2) == 0;
    for (int i = 0; i < 60; ++i) {
      const int host = everywhere ? static_cast<int>(pick(kHosts)) : 0;
      auto& processes = c.facts(host).processes;
      if (pick(20) == 0 && processes.size() < 8) processes.push_back(processes[0]), processes.back().pid += 100;
      model::Process& process = processes[pick(processes.size())];
      lie(c, host, process, process.flows[pick(process.flows.size())]);
    }
  }
  uint64_t pick(uint64_t n) { return random_() % n; }

 private:
  void lie(Cluster& c, int host, model::Process& process, model::Flow& flow) {
    const int other = static_cast<int>(pick(kHosts)), rail = static_cast<int>(pick(kRails));
    const int64_t some_time = pick(4) == 0 ? std::numeric_limits<int64_t>::min() : c.ago(host, static_cast<double>(pick(60)));
    switch (pick(12)) {
      case 0: flow.oldest_post_mono_ns = some_time, flow.posted = flow.completed + 1 + pick(9); break;
      case 1: flow.receive_wait_mono_ns = some_time, flow.receives_posted = flow.receives_completed + 1; break;
      case 2: flow.first_error = model::FlowError{static_cast<uint32_t>(pick(23)), 129, some_time}; break;
      case 3: flow.last_completion_mono_ns = some_time; break;
      case 4: flow.peer_gid = Cluster::gid(other, rail); break;  // a peer that it does not have
      case 5: flow.device = Cluster::device(host, rail), flow.local_gid = Cluster::gid(host, rail); break;
      case 6: flow.local_gid = Cluster::gid(other, rail); break;  // another node's port
      case 7: flow.peer_qpn = static_cast<uint32_t>(pick(64)), flow.qpn = static_cast<uint32_t>(pick(64)); break;
      case 8: flow.direction = static_cast<model::Direction>(pick(3)), flow.role = static_cast<model::Role>(pick(4)); break;
      case 9: flow.errors = static_cast<uint32_t>(random_()); break;
      case 10: process.comms.push_back({0xC0FFEE, static_cast<int32_t>(pick(4)), 4, 4, true, "liar"}); break;
      case 11: process.flows.push_back(flow); break;
    }
  }

  std::mt19937_64 random_;
};

bool is_of_hardware(const model::Finding& finding) {
  return finding.cls == model::Class::kLink || finding.cls == model::Class::kSwitch || finding.cls == model::Class::kCongestion;
}

TEST(JobsWord, ConfirmsNothingAgainstHardwareWhateverItSays) {
  size_t suspected = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Liar liar(seed);
    Cluster c(kHosts, kRails);
    liar.lie(c);
    if (liar.pick(2) == 0) {  // probes all pass
      for (int r = 0; r < kRails; ++r) c.ping_all(r);
    }
    for (const model::Finding& finding : c.diagnose()) {
      if (!is_of_hardware(finding)) continue;
      suspected += finding.state == model::IncidentState::kSuspected;
      EXPECT_NE(finding.state, model::IncidentState::kConfirmed) << "seed " << seed << " " << finding.subclass;
    }
  }
  EXPECT_GT(suspected, 100u) << "the lies are too lame to show anything";
}

TEST(JobsWord, StaysASuspicionHoweverLongItIsRepeated) {
  Cluster c(kHosts, kRails);
  c.stick(0, 1, 0, 30);
  c.data(0, 1, 0).first_error = model::FlowError{12, 129, c.ago(0, 20)};
  Tracker tracker("fleet");
  for (int i = 0; i < 600; ++i) {
    tracker.update(c.diagnose(), kNow + i * kSecond);
    for (const model::Incident& incident : tracker.open()) {
      if (!is_of_hardware(incident.finding)) continue;
      EXPECT_EQ(incident.state, model::IncidentState::kSuspected);
    }
  }
  EXPECT_FALSE(tracker.open().empty());
}

}  // namespace
}  // namespace railwitness::diagnose
