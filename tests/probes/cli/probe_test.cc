// `railwitness probe rail` over a bus and sidecars that the test plays, in a time that the test makes.
#include "probes/cli/probe.h"

#include <cstdlib>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "probes/cli/arguments.h"
#include "tests/probes/cli/said.h"
#include "tests/probes/diagnose/cluster.h"

namespace railwitness::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMs = 1'000'000;

// Sidecars of a healthy cluster, each speaking twice a second and answering what it is asked; a test spoils them.
class FakeFleet final : public bus::FleetBus {
 public:
  explicit FakeFleet(int hosts = 3, int rails = 2) : cluster_(hosts, rails) {
    for (int h = 0; h < hosts; ++h) {
      cluster_.facts(h).processes.clear();
      for (int r = 0; r < rails; ++r) {
        model::PingPort port;
        port.device = diagnose::Cluster::device(h, r);
        port.gid = diagnose::Cluster::gid(h, r);
        port.qpn = static_cast<uint32_t>(100 * h + r + 1);
        cluster_.facts(h).ping_ports.push_back(port);
      }
    }
  }

  bus::State state() const override { return state_; }
  uint64_t malformed() const override { return 0; }
  absl::Status publish_incident(const std::string&) override { return absl::OkStatus(); }

  std::vector<model::Heard> take_facts() override {
    std::vector<model::Heard> out;
    for (size_t h = 0; h < cluster_.all().size(); ++h) {
      model::NodeFacts& facts = cluster_.facts(static_cast<int>(h));
      int64_t& next = next_mono_ns_[facts.node];
      if (silent_from_mono_ns_.contains(facts.node) && now_ >= silent_from_mono_ns_[facts.node]) {
        if (next == 0) out.push_back({facts, kBeforeListeningNs});
        next = 1;
        continue;
      }
      if (now_ < next) continue;
      next = now_ + 500 * kMs;
      facts.pings.clear();
      for (const auto& [when, from, result] : results_) {
        if (from == facts.node && when <= now_) facts.pings.push_back(result);
      }
      if (on_speak_) on_speak_(facts);
      ++facts.sequence;
      out.push_back({facts, 0});
    }
    return out;
  }

  absl::Status request_pings(const std::vector<model::PingRequest>& requests) override {
    for (const model::PingRequest& request : requests) {
      asked_.push_back(request);
      model::Ping result{request.id, request.device, request.to_node, request.to.gid, 3, 3, 100'000, 0, ""};
      if (answer_) answer_(request, result);
      if (result.id != 0) results_.push_back({now_ + 1400 * kMs, request.from_node, result});
    }
    return absl::OkStatus();
  }

  diagnose::Cluster cluster_;
  bus::State state_{bus::Connection::kConnected, ""};
  int64_t now_ = 1'000'000 * kMs;
  std::map<std::string, int64_t> silent_from_mono_ns_;
  std::function<void(const model::PingRequest&, model::Ping&)> answer_;  // id 0: no result
  std::function<void(model::NodeFacts&)> on_speak_;
  std::vector<model::PingRequest> asked_;

 private:
  std::map<std::string, int64_t> next_mono_ns_;
  std::vector<std::tuple<int64_t, std::string, model::Ping>> results_;
};

ProbeOptions rounds(int count) {
  ProbeOptions out;
  out.rounds = count;
  return out;
}

Said probe(FakeFleet& fleet, ProbeOptions options = {}, const std::function<bool()>& should_stop = [] { return false; }) {
  if (options.a.empty()) options.a = "host0";
  if (options.b.empty()) options.b = "host1";
  const Pace pace{[&] { return fleet.now_; }, [&](int64_t ns) { fleet.now_ += ns; }, [] { return uint64_t{12345}; }};
  const int64_t begin = fleet.now_;
  Said said = said_by([&](const Streams& streams) { return run_probe(fleet, options, streams, should_stop, pace); });
  said.seconds = static_cast<double>(fleet.now_ - begin) / 1e9;
  return said;
}

bool is_on_rail_1(const model::PingRequest& request) { return request.device.ends_with("r1"); }

TEST(Probe, GoodRailsAreZeroAndEachDirectionHasItsRow) {
  FakeFleet fleet;
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitOk) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("0     host0 rxe_h0r0  host1 rxe_h1r0  15 of 15  100.0 us  100.0 us  good"));
  EXPECT_THAT(said.out, HasSubstr("1     host1 rxe_h1r1  host0 rxe_h0r1  15 of 15  100.0 us  100.0 us  good"));
  EXPECT_THAT(said.out, testing::EndsWith("\nprobe: rails 0 and 1 between host0 and host1 are good both ways\n"));
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(fleet.asked_.size(), 5u * 2 * 2);
  EXPECT_LT(said.seconds, 0.7 * 4 + 3) << "it does not wait for what is there";
}

TEST(Probe, ASilentRailIsOneAndTheOtherExoneratesTheHosts) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (is_on_rail_1(request)) result.received = 0, result.rtt_ns.reset();
  };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("0 of 15   -         -         no answer: none of 15 answered"));
  EXPECT_THAT(said.out, HasSubstr("probe: rail 1 is bad (no answer both ways) between host0 and host1; rail 0 is good both ways, "
                                  "which exonerates it, both hosts and their sidecars\n"));
}

TEST(Probe, OneLossyDirectionIsNamed) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (is_on_rail_1(request) && request.from_node == "host1") result.received = 2;
  };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("rail 1 is bad (lossy from host1 to host0)"));
  EXPECT_THAT(said.out, HasSubstr("10 of 15"));
}

TEST(Probe, WithoutAGoodRailNothingIsExonerated) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest&, model::Ping& result) { result.received = 0, result.rtt_ns.reset(); };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("rails 0 and 1 are bad (no answer both ways)"));
  EXPECT_THAT(said.out, HasSubstr("nothing is exonerated"));
}

TEST(Probe, ABadRailThatWasAskedAloneLeavesTheHostsUnderSuspicion) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest&, model::Ping& result) { result.received = 0, result.rtt_ns.reset(); };
  ProbeOptions options = rounds(1);
  options.rails = {1};
  EXPECT_THAT(probe(fleet, options).out, HasSubstr("no other rail was asked, so neither host is exonerated"));
}

TEST(Probe, ANodeThatIsNotHeardIsFourWithWhoWasAndTheNearestName) {
  FakeFleet fleet;
  ProbeOptions misspelt;
  misspelt.b = "hots1";
  const Said said = probe(fleet, misspelt);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err, "railwitness probe rail: nothing is heard from hots1 (maybe: host1?); heard: host0 host1 host2\n");
  EXPECT_TRUE(fleet.asked_.empty());
  EXPECT_NEAR(said.seconds, 5, 0.1);
}

TEST(Probe, ANodeThatTheStreamOnlyRemembersIsNotHeard) {
  FakeFleet fleet;
  fleet.silent_from_mono_ns_["host1"] = 0;
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.err, HasSubstr("nothing is heard from host1, whose sidecar spoke before; heard: host0 host2"));
}

TEST(Probe, NoBusIsThreeWithTheWayOut) {
  FakeFleet fleet;
  fleet.state_ = {bus::Connection::kConnecting, "no nats-server at nats://h:1; name another with --nats"};
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitCannot);
  EXPECT_EQ(said.err, "railwitness probe rail: no nats-server at nats://h:1; name another with --nats\n");
  EXPECT_LT(said.seconds, 3);
}

TEST(Probe, ASidecarWithoutPingPortsIsUnknownAndNeitherGoodNorBad) {
  FakeFleet fleet;
  fleet.cluster_.facts(1).ping_ports.clear();
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: the sidecar of host1 answers no probes on rxe_h1r0; was it started with --no-pings?"));
  EXPECT_THAT(said.out, HasSubstr("probe: rails 0 and 1 are unknown"));
  EXPECT_TRUE(fleet.asked_.empty());
}

TEST(Probe, ARailThatOnlyOneNodeHasIsUnknownAndTheOthersAreJudged) {
  FakeFleet fleet;
  fleet.cluster_.facts(1).rails.pop_back();
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: host1 has no rail 1; it has 0"));
  EXPECT_THAT(said.out, HasSubstr("rail 0 between host0 and host1 is good both ways"));
}

TEST(Probe, OnlyTheRailsThatAreNamedAreAsked) {
  FakeFleet fleet;
  ProbeOptions options = rounds(1);
  options.rails = {1};
  EXPECT_EQ(probe(fleet, options).code, kExitOk);
  EXPECT_EQ(fleet.asked_.size(), 2u);
  options.rails = {7};
  EXPECT_EQ(probe(fleet, options).code, kExitBlind);
}

TEST(Probe, ResultsOfOthersRoundsAreIgnored) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (is_on_rail_1(request)) result.received = 0, result.rtt_ns.reset();
  };
  fleet.on_speak_ = [](model::NodeFacts& facts) {  // a correlator's, of good days; and of our number but another device
    for (uint64_t id = 1; id < 20; ++id) facts.pings.push_back({id, facts.node == "host0" ? "rxe_h0r1" : "rxe_h1r1", "host1", "", 3, 3, 1000, 0, ""});
    for (size_t i = 0, n = facts.pings.size(); i < n; ++i) {
      facts.pings.push_back(facts.pings[i]);
      facts.pings.back().device = "other";
    }
    std::reverse(facts.pings.begin(), facts.pings.end());
  };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("rail 1 is bad (no answer both ways)"));
  EXPECT_GT(fleet.asked_[0].id, uint64_t{1} << 52) << "far from what a correlator counts to";
  EXPECT_LT(fleet.asked_[0].id, uint64_t{1} << 53) << "a double holds it";
}

TEST(Probe, MalformedResultsAreUnknown) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest&, model::Ping& result) { result.received = 9; };
  EXPECT_EQ(probe(fleet).code, kExitBlind);
}

TEST(Probe, ResultsThatNeverComeAreUnknownThreeSecondsAfterTheLastRound) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (request.from_node == "host1") result.id = 0;
  };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: 5 of 5 results did not come back over the bus"));
  EXPECT_NEAR(said.seconds, 0.7 * 4 + 3, 0.2);
}

TEST(Probe, SilenceOfASidecarThatDiedOrWasStartedAnewAccusesNoRail) {
  const auto lose_all = [](const model::PingRequest& request, model::Ping& result) {
    if (request.from_node == "host1") result.id = 0;
    result.received = 0, result.rtt_ns.reset();
  };
  FakeFleet dying;
  dying.answer_ = lose_all;
  dying.silent_from_mono_ns_["host1"] = dying.now_ + 1000 * kMs;
  Said said = probe(dying);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: the sidecar of host1 has fallen silent on the bus"));

  FakeFleet restarted;
  restarted.answer_ = lose_all;
  restarted.on_speak_ = [&](model::NodeFacts& facts) {
    if (facts.node == "host1" && restarted.asked_.size() > 8) facts.sidecar_start_mono_ns = 7;
  };
  said = probe(restarted);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: the sidecar of host1 was started anew meanwhile"));
}

TEST(Probe, APortThatIsDownIsSaidAsTheReason) {
  FakeFleet fleet;
  fleet.cluster_.port_down(1, 1, 5);
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (is_on_rail_1(request)) result = {request.id, request.device, request.to_node, request.to.gid, 0, 0, {}, 0, "Network is down"};
  };
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("no answer: rxe_h1r1 of host1 is DOWN"));
}

TEST(Probe, ASecondPortOfADeviceIsUnknownBecauseProbesLeaveByTheFirst) {
  FakeFleet fleet(2, 1);
  for (int h = 0; h < 2; ++h) {
    model::NodeFacts& facts = fleet.cluster_.facts(h);
    facts.rails.push_back(facts.rails[0]);
    facts.ping_ports.push_back(facts.ping_ports[0]);
    facts.rails[1].index = 1;
    facts.rails[1].port = facts.ping_ports[1].port = 2;
  }
  const Said said = probe(fleet);
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_THAT(said.out, HasSubstr("unknown: probes leave rxe_h0r0 of host0 by its port 1 alone"));
}

TEST(Probe, ManyRailsAreAskedFurtherApart) {
  FakeFleet few(2, 16), many(2, 17);
  const double apart = probe(many, rounds(3)).seconds - probe(few, rounds(3)).seconds;
  EXPECT_GT(apart, 2 * 0.7 - 0.5) << "facts come twice a second";
}

TEST(Probe, JsonIsOneObjectWithTheSameWords) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest& request, model::Ping& result) {
    if (is_on_rail_1(request)) result.received = 0, result.rtt_ns.reset();
  };
  ProbeOptions options;
  options.json = true;
  const Said said = probe(fleet, options);
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["type"], "probe");
  EXPECT_EQ(json["nodes"], (nlohmann::json{"host0", "host1"}));
  EXPECT_EQ(json["rails"][0]["verdict"], "good");
  EXPECT_EQ(json["rails"][0]["ways"][0]["least_rtt_ns"], 100'000);
  EXPECT_EQ(json["rails"][1]["verdict"], "no answer");
  EXPECT_EQ(json["rails"][1]["ways"][1]["from_device"], "rxe_h1r1");
  EXPECT_FALSE(json["rails"][1]["ways"][1].contains("least_rtt_ns")) << "what is not known is absent";
  EXPECT_THAT(std::string(json["line"]), HasSubstr("rail 1 is bad"));
}

TEST(Probe, ASignalEndsItWithFourAndNoVerdict) {
  FakeFleet fleet;
  int asked = 0;
  const Said said = probe(fleet, {}, [&] { return ++asked > 40; });
  EXPECT_EQ(said.code, kExitBlind);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, HasSubstr("interrupted with"));
}

TEST(Probe, ForeignTextReachesTheTerminalPlain) {
  FakeFleet fleet;
  fleet.answer_ = [](const model::PingRequest&, model::Ping& result) { result.sent = result.received = 0, result.problem = "\033[2Jowned"; };
  EXPECT_THAT(probe(fleet).out, Not(HasSubstr("\033")));
}

TEST(ProbeArguments, AreReadAndWrongOnesAreSaid) {
  const Command command = parse_arguments({"probe", "rail", "--rail", "3", "a", "b", "--rail", "5", "--rounds", "9", "--nats", "nats://h:1", "--json"});
  const auto* options = std::get_if<ProbeOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->a, "a");
  EXPECT_EQ(options->b, "b");
  EXPECT_EQ(options->rails, (std::vector<int>{3, 5}));
  EXPECT_EQ(options->rounds, 9);
  EXPECT_EQ(options->nats_url, "nats://h:1");
  EXPECT_TRUE(options->json);
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"probe"}, "railwitness probe: what to probe is missing: rail; see railwitness probe --help\n"},
      {{"probe", "rial"}, "railwitness probe: there is no command 'rial' (maybe: rail?); see railwitness probe --help\n"},
      {{"probe", "rail", "a"}, "railwitness probe rail: B is required; see railwitness probe rail --help\n"},
      {{"probe", "rail", "a", "a"}, "railwitness probe rail: a is given twice; two nodes are meant\n"},
      {{"probe", "rail", "a", "b", "--rounds", "101"},
       "railwitness probe rail: --rounds: '101' is given; a whole number of rounds from 1 to 100 is meant; see railwitness probe rail --help\n"},
      {{"prob"}, "maybe: probe?"}};
  for (const auto& [words, said] : wrong) {
    const Command refused = parse_arguments(words);
    const auto* answer = std::get_if<Answer>(&refused);
    ASSERT_NE(answer, nullptr) << said;
    EXPECT_EQ(answer->exit_code, kExitUsage);
    EXPECT_THAT(answer->err, HasSubstr(said));
  }
}

TEST(ProbeArguments, HelpSaysHowMuchTraffic) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"probe", "--help"}, {"probe", "rail", "--help"}}) {
    const Command command = parse_arguments(words);
    const auto* answer = std::get_if<Answer>(&command);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(answer->exit_code, kExitOk);
    EXPECT_THAT(answer->out, HasSubstr("Examples:"));
    EXPECT_THAT(answer->out, HasSubstr(words.size() == 3 ? "Traffic: " : "rail"));
  }
}

TEST(ProbeArguments, TheVariableNamesTheBusAndTheOptionWins) {
  setenv("RAILWITNESS_NATS", "nats://env:1", 1);
  EXPECT_EQ(std::get<ProbeOptions>(parse_arguments({"probe", "rail", "a", "b"})).nats_url, "nats://env:1");
  EXPECT_EQ(std::get<ProbeOptions>(parse_arguments({"probe", "rail", "a", "b", "--nats", "nats://h:1"})).nats_url, "nats://h:1");
  unsetenv("RAILWITNESS_NATS");
}

}  // namespace
}  // namespace railwitness::cli
