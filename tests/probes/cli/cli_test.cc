#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/cli/arguments.h"
#include "probes/cli/correlate.h"
#include "probes/cli/correlator.h"
#include "probes/cli/ls.h"
#include "probes/model/facts_json.h"
#include "tests/probes/cli/said.h"

namespace railwitness::cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

template <class T>
T parsed(const std::vector<std::string>& words) {
  const Command command = parse_arguments(words);
  const T* got = std::get_if<T>(&command);
  if (got == nullptr) {
    const Answer* answer = std::get_if<Answer>(&command);
    ADD_FAILURE() << (answer != nullptr ? answer->err + answer->out : "another command");
    return T{};
  }
  return *got;
}

TEST(Arguments, HelpOfEveryCommandHasExamplesAndExitStatus) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--help"}, {"sidecar", "--help"}, {"correlate", "--help"}, {"ls", "--help"}, {"env", "--help"}, {"doctor", "--help"},
           {"fabric", "--help"}, {"ports", "--help"},
           {"version", "--help"}}) {
    const Answer answer = parsed<Answer>(words);
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_THAT(answer.out, HasSubstr("Examples:"));
    EXPECT_THAT(answer.out, HasSubstr("Exit status:"));
  }
}

TEST(Arguments, UnknownCommandSuggestsTheNearest) {
  Answer answer = parsed<Answer>({"sidcar"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("no command 'sidcar' (maybe: sidecar?)"));
  EXPECT_THAT(parsed<Answer>({"corr"}).err, HasSubstr("maybe: correlate?"));
  EXPECT_THAT(parsed<Answer>({"xyzzy"}).err, testing::Not(HasSubstr("maybe")));
}

TEST(Arguments, WrongUsageIsTwo) {
  EXPECT_EQ(parsed<Answer>({}).exit_code, 2);
  EXPECT_EQ(parsed<Answer>({"ls", "--nonsense"}).exit_code, 2);
  EXPECT_EQ(parsed<Answer>({"correlate", "--interval-ms", "0"}).exit_code, 2);
}

TEST(Arguments, WrongUsageNamesTheCommandTheWordAndTheHelp) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "railwitness: a command is missing: sidecar, correlate, ls, env, doctor, fabric, ports, probe or version; see railwitness --help\n"},
      {{"ls", "--foo"}, "railwitness ls: The following argument was not expected: --foo; see railwitness ls --help\n"},
      {{"env", "--pid"}, "railwitness env: --pid: a value is missing; see railwitness env --help\n"},
      {{"env", "--pid", "me"}, "railwitness env: --pid: 'me' is given; the number of a process, 1 to 4194304, is meant"},
      {{"sidecar", "--read-interval-ms", "abc"},
       "railwitness sidecar: --read-interval-ms: 'abc' is given; a whole number of ms from 10 to 10000 is meant"},
      {{"sidecar", "--read-interval-ms", "1e2"}, "'1e2' is given; a whole number"},
      {{"correlate", "--once", "nan"}, "--once: 'nan' is given; a number of seconds from 0.1 to 86400 is meant"},
      {{"correlate", "--once", "5s"}, "'5s' is given"},
      {{"correlate", "--nodes", "0"}, "'0' is given; a whole number of nodes from 1 to 100000 is meant"}};
  for (const auto& [words, said] : cases) {
    const Answer answer = parsed<Answer>(words);
    EXPECT_EQ(answer.exit_code, kExitUsage) << said;
    EXPECT_THAT(answer.err, HasSubstr(said));
    EXPECT_EQ(answer.out, "");
  }
}

TEST(Arguments, AWrongVariableIsBlamedByItsName) {
  setenv("RAILWITNESS_READ_INTERVAL_MS", "abc", 1);
  const Answer answer = parsed<Answer>({"sidecar"});
  EXPECT_EQ(answer.exit_code, kExitUsage);
  EXPECT_EQ(answer.err,
            "railwitness sidecar: RAILWITNESS_READ_INTERVAL_MS is 'abc'; a whole number of ms from 10 to 10000 is meant\n");
  EXPECT_EQ(parsed<sidecar::Options>({"sidecar", "--read-interval-ms", "50"}).read_interval_ms, 50);
  parsed<LsOptions>({"ls"});  // not its variable
  unsetenv("RAILWITNESS_READ_INTERVAL_MS");
}

TEST(Arguments, RailsAreRepeatedOrListed) {
  EXPECT_THAT(parsed<sidecar::Options>({"sidecar", "--rail", "eth1", "--rail", "eth2"}).rails,
              testing::ElementsAre("eth1", "eth2"));
  EXPECT_THAT(parsed<sidecar::Options>({"sidecar", "--rail", "eth1,eth2"}).rails, testing::ElementsAre("eth1", "eth2"));
  EXPECT_THAT(parsed<sidecar::Options>({"sidecar"}).rails, testing::IsEmpty());
}

TEST(Arguments, DefaultsAndOptions) {
  const auto sidecar = parsed<sidecar::Options>({"sidecar"});
  EXPECT_EQ(sidecar.socket, "/run/railwitness/sidecar.sock");
  EXPECT_EQ(sidecar.control_socket, "/run/railwitness/control.sock");
  EXPECT_EQ(sidecar.nats_url, "");
  EXPECT_TRUE(sidecar.answer_pings);
  EXPECT_FALSE(parsed<sidecar::Options>({"sidecar", "--no-pings"}).answer_pings);
  EXPECT_EQ(parsed<sidecar::Options>({"sidecar", "--lldp-command", ""}).lldp_command, "");
  const auto correlate =
      parsed<CorrelateOptions>({"correlate", "--nats", "nats://h:1", "--json", "--once", "2.5", "--nodes", "4"});
  EXPECT_EQ(correlate.nats_url, "nats://h:1");
  EXPECT_TRUE(correlate.json);
  EXPECT_EQ(correlate.once_s, 2.5);
  EXPECT_EQ(correlate.nodes, 4);
  EXPECT_TRUE(parsed<LsOptions>({"ls", "--json"}).json);
}

TEST(Arguments, EnvironmentFillsWhatTheCommandLineDoesNotSay) {
  setenv("RAILWITNESS_NATS", "nats://env:1", 1);
  EXPECT_EQ(parsed<sidecar::Options>({"sidecar"}).nats_url, "nats://env:1");
  EXPECT_EQ(parsed<CorrelateOptions>({"correlate", "--nats", "nats://h:1"}).nats_url, "nats://h:1");
  unsetenv("RAILWITNESS_NATS");
}

// --- ls

model::NodeFacts facts() {
  model::NodeFacts out;
  out.node = "host1";
  out.boot_id = "b";
  out.taken_mono_ns = 100'000'000'000;
  model::Rail rail;
  rail.index = 1;
  rail.device = "rxe_h1r1";
  rail.netdev = "h1r1";
  rail.state = "ACTIVE";
  out.rails.push_back(rail);
  model::Edge edge;
  edge.netdev = "h1r1";
  edge.switch_name = "leaf-r1";
  edge.switch_port = "swp2";
  edge.source = "lldp";
  edge.present = false;
  edge.seen_mono_ns = 96'000'000'000;
  out.edges.push_back(edge);
  model::Process process;
  process.pid = 42;
  process.state = model::ProcessState::kSleeping;
  process.comms.push_back({1, 2, 8, 2, true, ""});
  model::Flow flow;
  flow.device = "rxe_h1r1";
  flow.port = 1;
  flow.qpn = 0x11;
  flow.peer_qpn = 0x12;
  flow.peer_gid = "gid";
  flow.posted = 7;
  flow.completed = 4;
  flow.oldest_post_mono_ns = 98'600'000'000;
  process.flows.push_back(flow);
  flow.destroyed = true;
  flow.qpn = 0x99;
  process.flows.push_back(flow);
  out.processes.push_back(process);
  out.notes = {"no LLDP"};
  return out;
}

TEST(Ls, TablesShowRailsProcessesAndFlows) {
  const std::string text = tables(facts(), false);
  EXPECT_THAT(text, HasSubstr("1     rxe_h1r1/1  h1r1    ACTIVE"));
  EXPECT_THAT(text, HasSubstr("leaf-r1:swp2 (lldp said it 4.0 s ago)"));
  EXPECT_THAT(text, HasSubstr("2/8"));
  EXPECT_THAT(text, HasSubstr("gid 0x12"));
  EXPECT_THAT(text, HasSubstr("1.4 s"));
  EXPECT_THAT(text, HasSubstr("note: no LLDP"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0x99")));
  EXPECT_THAT(tables(facts(), true), HasSubstr("0x99"));
}

TEST(Ls, WhatIsNotWitnessedIsToldOfEachProcessAndInAll) {
  model::NodeFacts node = facts();
  EXPECT_THAT(tables(node, false), Not(HasSubstr("not witnessed")));
  node.processes[0].unwitnessed_flows = 3;
  node.processes[0].unwitnessed_events = 70;
  node.processes.push_back(node.processes[0]);
  const std::string text = tables(node, false);
  EXPECT_THAT(text, HasSubstr("3 flows not witnessed, at least 70 posts and completions so far"));
  EXPECT_THAT(text, HasSubstr("4 flows, 6 more not witnessed"));
}

TEST(Ls, ManyCommunicatorsOfOneProcessLeaveTheColumnNarrow) {
  model::NodeFacts hostile = facts();
  for (int i = 0; i < 64; ++i) {
    hostile.processes[0].comms.push_back({static_cast<uint64_t>(i), i, 1 << 20, 1, true, "x"});
  }
  const std::string text = tables(hostile, false);
  EXPECT_THAT(text, HasSubstr("more"));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) EXPECT_LE(line.size(), 200u) << line;
}

TEST(Ls, SaysWhatTheSidecarItselfTakes) {
  model::NodeFacts with = facts();
  with.taken_mono_ns = with.sidecar_start_mono_ns + 100'000'000'000;
  with.self = model::Self{.cpu_ns = 2'000'000'000, .rss_bytes = 9 << 20, .descriptors = 12,
                          .longest_turn_ns = 3'000'000, .longest_turn_cpu_ns = 1, .longest_unread_ns = 1};
  EXPECT_THAT(tables(with, false), HasSubstr("0.020 of a core  9 MiB  12 descriptors  longest turn 3 ms"));
}

TEST(Ls, PeersAreShownAsPeopleKnowThem) {
  model::NodeFacts node = facts();
  node.processes[0].flows[0].peer_gid = "0000:0000:0000:0000:0000:ffff:c000:0202";
  EXPECT_THAT(tables(node, false), HasSubstr("  192.0.2.2 0x12  "));
  node.processes[0].flows[0].peer_gid = "fe80:0000:0000:0000:0000:0000:0000:0001";
  EXPECT_THAT(tables(node, false), HasSubstr("  fe80:0000:0000:0000:0000:0000:0000:0001 0x12  "));
}

TEST(Ls, AProcessThatIsGoneKeepsItsJobAndTheRankItHad) {
  model::NodeFacts node = facts();
  node.processes[0].job = "train";
  node.processes[0].comms[0].open = false;
  EXPECT_THAT(tables(node, false), Not(HasSubstr("2/8"))) << "it lives and has closed its communicator";
  node.processes[0].state = model::ProcessState::kGone;
  EXPECT_THAT(tables(node, false), testing::ContainsRegex("gone .* train +2/8"));
}

TEST(Ls, SaysWhatRecordingCostsAndWhereOnlyCountersAreKept) {
  model::NodeFacts node = facts();
  EXPECT_THAT(tables(node, false), HasSubstr("COST"));
  EXPECT_THAT(tables(node, false), Not(HasSubstr(" %")));
  node.processes[0].witness_cost.emplace().max_permille = 20;
  EXPECT_THAT(tables(node, false), Not(HasSubstr(" %"))) << "nobody called, so nothing was measured";
  node.processes[0].witness_cost->event_ns = 40;
  EXPECT_THAT(tables(node, false), HasSubstr("  0.00 %  ")) << "calls so few that they cost nothing";
  node.processes[0].witness_cost->ppm = 2780;
  EXPECT_THAT(tables(node, false), HasSubstr("  0.28 %  "));
  node.processes[0].witness_cost->counters_only = true;
  EXPECT_THAT(tables(node, false), HasSubstr("  (0.28 %) counters only  "));
}

TEST(Ls, EmptyNodeSaysWhatIsMissing) {
  model::NodeFacts empty;
  empty.node = "n";
  EXPECT_THAT(tables(empty, false), HasSubstr("no rails: "));
  EXPECT_THAT(tables(empty, false), HasSubstr("no processes: "));
}

TEST(Ls, WithoutSidecarNamesTheSocketAndTheWayOut) {
  const Answer answer = run_ls({.control_socket = "/nonexistent/control.sock", .json = false, .all = false});
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.err, HasSubstr("no sidecar at /nonexistent/control.sock: No such file or directory"));
  EXPECT_THAT(answer.err, HasSubstr("railwitness sidecar"));
  EXPECT_EQ(run_ls({.control_socket = std::string(300, 'x'), .json = false, .all = false}).exit_code, 3);
}

class FakeSidecar {
 public:
  explicit FakeSidecar(std::string text, bool end = true) : end_(end) {
    char name[] = "/tmp/railwitness-cli-XXXXXX";
    folder_ = mkdtemp(name);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 1);
    thread_ = std::thread([this, text = std::move(text)] {
      client_ = accept(listener_, nullptr, nullptr);
      for (size_t at = 0; at < text.size();) {
        const ssize_t sent = send(client_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<size_t>(sent);
      }
      if (end_) close(client_);
    });
  }
  ~FakeSidecar() {
    thread_.join();
    if (!end_) close(client_);
    close(listener_);
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/c"; }

 private:
  bool end_;
  std::string folder_;
  int listener_ = -1, client_ = -1;
  std::thread thread_;
};

TEST(Ls, ReadsTheFactsOfASidecar) {
  FakeSidecar sidecar(model::to_json(facts()));
  const Answer answer = run_ls({.control_socket = sidecar.path(), .json = true, .all = false});
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_EQ(answer.out, model::to_json(facts()) + "\n");
}

TEST(Ls, JsonHasItsListsThoughTheyAreEmpty) {
  FakeSidecar sidecar(R"({"node":"n"})");  // of an earlier version
  const Answer answer = run_ls({.control_socket = sidecar.path(), .json = true, .all = false});
  for (const char* list : {"rails", "edges", "processes", "ping_ports", "pings", "notes"}) {
    EXPECT_THAT(answer.out, HasSubstr(std::string("\"") + list + "\":[]"));
  }
}

TEST(Ls, SidecarThatDoesNotAnswerOrTalksNonsenseIsSaid) {
  {
    FakeSidecar mute("", false);
    const Answer answer = run_ls({.control_socket = mute.path(), .json = false, .all = false});
    EXPECT_EQ(answer.exit_code, 3);
    EXPECT_THAT(answer.err, HasSubstr("does not answer for 2 s"));
  }
  {
    FakeSidecar liar("{]");
    EXPECT_THAT(run_ls({.control_socket = liar.path(), .json = false, .all = false}).err,
                HasSubstr("something else than facts"));
  }
  {
    FakeSidecar flood(std::string(5 << 20, ' '));
    EXPECT_THAT(run_ls({.control_socket = flood.path(), .json = false, .all = false}).err,
                HasSubstr("more than 4 MiB"));
  }
}

// --- correlate

constexpr int64_t kSecond = 1'000'000'000;

// A process that is gone and one that waits for it.
std::vector<model::Heard> two_nodes(uint64_t sequence, double wait_s) {
  std::vector<model::Heard> out(2);
  for (int h = 0; h < 2; ++h) {
    model::NodeFacts& at = out[h].facts;
    at.node = h == 0 ? "host0" : "host1";
    at.sequence = sequence;
    at.taken_mono_ns = 1000 * kSecond;
    model::Process process;
    process.pid = 10 + h;
    process.job = "train";
    process.state = h == 1 ? model::ProcessState::kGone : model::ProcessState::kSleeping;
    process.comms.push_back({7, h, 2, 2, true, ""});
    model::Flow flow;
    flow.device = "d";
    flow.port = 1;
    flow.qpn = static_cast<uint32_t>(100 + h);
    flow.peer_qpn = static_cast<uint32_t>(101 - h);
    flow.local_gid = h == 0 ? "1" : "2";
    flow.peer_gid = h == 0 ? "2" : "1";
    if (h == 0 && wait_s > 0) {
      flow.direction = model::Direction::kRecv;
      flow.receive_wait_mono_ns = at.taken_mono_ns - static_cast<int64_t>(wait_s * 1e9);
    }
    process.flows.push_back(flow);
    at.processes.push_back(process);
  }
  return out;
}

TEST(Correlator, OpensAnIncidentOnceAndClosesIt) {
  Correlator correlator;
  int64_t now = 5000 * kSecond;
  correlator.hear(two_nodes(1, 3), now);
  ASSERT_THAT(correlator.think(now, now).changes.incidents, SizeIs(1));
  now += kSecond;
  EXPECT_THAT(correlator.think(now, now).changes.incidents, SizeIs(0));
  now += kSecond;
  correlator.hear(two_nodes(2, 0), now);
  correlator.think(now, now);
  now += 3 * kSecond;
  const auto changes = correlator.think(now, now).changes;
  ASSERT_THAT(changes.incidents, SizeIs(1));
  EXPECT_EQ(changes.incidents[0].state, model::IncidentState::kRecovered);
}

TEST(Correlator, NodesThatFallSilentAreNamed) {
  Correlator correlator;
  correlator.hear(two_nodes(1, 0), 0);
  EXPECT_THAT(correlator.speaking(kSecond), SizeIs(2));
  correlator.hear({two_nodes(2, 0)[0]}, 20 * kSecond);
  EXPECT_THAT(correlator.silent(20 * kSecond), testing::ElementsAre("host1"));
}

TEST(Correlator, WhatWasSaidBeforeItListenedIsNoNews) {
  Correlator correlator;
  auto old = two_nodes(1, 3);
  for (auto& heard : old) heard.age_ns = bus::FleetBus::kBeforeListeningNs;
  const int64_t now = 5000 * kSecond;
  correlator.hear(std::move(old), now);
  EXPECT_THAT(correlator.think(now, now).changes.incidents, SizeIs(0));
  EXPECT_THAT(correlator.silent(now), SizeIs(2));
}

class FakeBus final : public bus::FleetBus {
 public:
  bus::State state() const override {
    return {problem_.empty() ? bus::Connection::kConnected : bus::Connection::kConnecting, problem_};
  }
  std::vector<model::Heard> take_facts() override {
    std::vector<model::Heard> heard = two_nodes(++sequence_, wait_);
    heard.resize(nodes_);
    if (two_voices_ && nodes_ > 1) heard[1].facts.boot_id = sequence_ % 2 == 0 ? "a" : "b";
    if (is_old_) heard.back().age_ns = kBeforeListeningNs;
    for (; forged_ > 0; --forged_) heard.emplace_back().facts.node = "forged-" + std::to_string(forged_);
    return heard;
  }
  uint64_t malformed() const override { return malformed_; }
  absl::Status request_pings(const std::vector<model::PingRequest>&) override { return absl::OkStatus(); }
  absl::Status publish_incident(const std::string& json) override {
    published_.push_back(json);
    return absl::OkStatus();
  }
  std::string problem_;
  double wait_ = 3;
  uint64_t sequence_ = 0, malformed_ = 0;
  size_t nodes_ = 2, forged_ = 0;  // names of no node, said once
  bool two_voices_ = false, is_old_ = false;
  std::vector<std::string> published_;
};

Said correlate(FakeBus& bus, bool json, std::optional<int> nodes = 2, bool stop = false) {
  CorrelateOptions options;
  options.once_s = 0.4;
  options.interval_ms = 50;
  options.json = json;
  options.nodes = nodes;
  return said_by([&](const Streams& streams) { return run_correlate(bus, options, streams, [stop] { return stop; }); });
}

TEST(Correlate, PrintsIncidentsAndExitsWithOne) {
  FakeBus bus;
  const Said said = correlate(bus, false);
  EXPECT_EQ(said.code, kExitFinding);
  EXPECT_THAT(said.out, HasSubstr("RANK_DEAD confirmed 0.97  rank 1 on host1"));
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1);
  EXPECT_THAT(said.err, HasSubstr("listening to railwitness.facts.* at nats://127.0.0.1:4222"));
  EXPECT_THAT(said.err, HasSubstr("hearing 2 of 2 nodes"));
  EXPECT_THAT(bus.published_, SizeIs(1));
}

TEST(Correlate, JsonLines) {
  FakeBus bus;
  EXPECT_THAT(correlate(bus, true).out, testing::StartsWith(R"({"type":"incident",)"));
}

TEST(Correlate, NothingFoundIsZeroAndNoServerIsThree) {
  FakeBus bus;
  bus.wait_ = 0;
  EXPECT_EQ(correlate(bus, false).code, kExitOk);
  bus.problem_ = "no nats-server at nats://x";
  const Said said = correlate(bus, false);
  EXPECT_EQ(said.code, kExitCannot);
  EXPECT_THAT(said.err, HasSubstr("no nats-server at nats://x; trying again"));
}

TEST(Correlate, SilenceIsFourUnlessEveryNodeWasHeard) {
  struct Case {
    const char* what;
    std::function<void(FakeBus&)> spoil;
    std::optional<int> nodes = 2;
    bool stop = false;
  };
  for (const Case& c : std::vector<Case>{
           {"1 of 2 nodes", [](FakeBus& bus) { bus.nodes_ = 1; }},
           {"no node speaks", [](FakeBus& bus) { bus.nodes_ = 1, bus.is_old_ = true; }, std::nullopt},
           {"nothing from host1", [](FakeBus& bus) { bus.is_old_ = true; }, std::nullopt},
           {"two sidecars call themselves host1", [](FakeBus& bus) { bus.two_voices_ = true; }},
           {"more than 16384 node names are said on the bus", [](FakeBus& bus) { bus.forged_ = Correlator::kMaxNodes; }},
           {"3 messages could not be read", [](FakeBus& bus) { bus.malformed_ = 3; }},
           {"stopped before 0.4 s were over", [](FakeBus&) {}, 2, true}}) {
    FakeBus bus;
    bus.wait_ = 0;
    c.spoil(bus);
    const Said said = correlate(bus, false, c.nodes, c.stop);
    EXPECT_EQ(said.code, kExitBlind) << c.what;
    EXPECT_THAT(said.err, HasSubstr(std::string("too little was heard: ") + c.what)) << c.what;
  }
}

TEST(Correlate, WhatWasFoundIsOneHoweverFewWereHeard) {
  FakeBus bus;
  EXPECT_EQ(correlate(bus, false, 3).code, kExitFinding);
  bus.wait_ = 0;
  EXPECT_EQ(correlate(bus, false, std::nullopt).code, kExitOk) << "all that are known were heard";
}

}  // namespace
}  // namespace railwitness::cli
