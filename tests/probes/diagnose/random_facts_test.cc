// Whatever facts say, diagnose, plan_pings and the tracker come back, and bounds hold.
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/tracker.h"
#include "tests/probes/diagnose/cluster.h"

namespace railwitness::diagnose {
namespace {

class Mangler {
 public:
  explicit Mangler(uint32_t seed) : random_(seed) {}

  void mangle(Cluster& c, int hosts) {
    for (int i = 0; i < 30; ++i) one(c, static_cast<int>(pick(static_cast<uint64_t>(hosts))));
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }

  int64_t time() {
    constexpr int64_t kOdd[] = {0, 1, -1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    return pick(3) == 0 ? kOdd[pick(5)] : static_cast<int64_t>(pick(20'000)) * kSecond;
  }

  void one(Cluster& c, int host) {
    model::NodeFacts& facts = c.facts(host);
    model::Process& process = facts.processes[pick(facts.processes.size())];
    model::Flow& flow = process.flows[pick(process.flows.size())];
    switch (pick(20)) {
      case 0:
        flow.oldest_post_mono_ns = time();
        break;
      case 1:
        flow.receive_wait_mono_ns = time();
        break;
      case 2:
        flow.last_completion_mono_ns = time();
        break;
      case 3:
        flow.posted = random_();
        break;
      case 4:
        flow.peer_gid = flow.local_gid;
        break;
      case 5:
        flow.device.clear();
        break;
      case 6:
        flow.first_error = model::FlowError{12, 0, time()};
        break;
      case 7:
        process.state = static_cast<model::ProcessState>(pick(7));
        process.state_since_mono_ns = time();
        break;
      case 8:
        facts.processes.push_back(process);
        break;
      case 9:
        facts.rails[pick(facts.rails.size())].state = pick(2) ? "DOWN" : "";
        break;
      case 10:
        facts.edges.clear();
        break;
      case 11:
        facts.taken_mono_ns = time();
        break;
      case 12:
        c.heard(host).age_ns = time();
        break;
      case 13:
        c.ping(host, static_cast<int>(pick(4)), 0, pick(2) != 0, static_cast<double>(pick(20)));
        break;
      case 14:
        process.comms.clear();
        break;
      case 15:
        flow.destroyed = !flow.destroyed;
        break;
      case 16:
        flow.direction = static_cast<model::Direction>(pick(3));
        break;
      case 17:
        facts.node = "host0";
        break;
      case 18:
        facts.rails[0].index = static_cast<int32_t>(random_());
        break;
      case 19:
        flow.peer_qpn = flow.qpn;
        break;
    }
  }

  std::mt19937_64 random_;
};

TEST(RandomFacts, AlwaysGiveFindingsWithinBounds) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Cluster c(4, 2);
    Mangler(seed).mangle(c, 4);
    Tracker tracker("t");
    for (int step = 0; step < 3; ++step) {
      const auto findings = c.diagnose();
      EXPECT_LE(plan_pings(c.all(), findings, Thresholds{}, 1).size(), 64u);
      tracker.update(findings, kNow + step * kSecond);
      for (const model::Finding& finding : findings) {
        EXPECT_GE(finding.confidence, 0);
        EXPECT_LE(finding.confidence, 1);
        EXPECT_FALSE(finding.subclass.empty());
        EXPECT_FALSE(finding.evidence_for.empty());
      }
    }
  }
}

}  // namespace
}  // namespace railwitness::diagnose
