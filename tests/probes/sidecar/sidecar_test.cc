// The whole daemon in this process, with a /sys of its own and fake jobs.
#include "probes/sidecar/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "probes/model/facts_json.h"
#include "probes/ring/segment.h"
#include "probes/sidecar/clock.h"
#include "probes/sidecar/line_budget.h"
#include "tests/probes/ring/mapped_segment.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace railwitness::sidecar {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class SidecarTest : public testing::Test {
 protected:
  SidecarTest() {
    options_.node = "node-a";
    options_.socket = folder_.at("sidecar.sock");
    options_.control_socket = folder_.at("control.sock");
    options_.lldp_command = "";
    options_.lldp_interval_ms = 200;
    options_.sysfs_root = folder_.at("sys");
    options_.answer_pings = false;
    write_port("4: ACTIVE");
  }
  ~SidecarTest() override { stop(); }

  void write_port(const std::string& state) {
    const std::filesystem::path port = folder_.at("sys/class/infiniband/mlx5_0/ports/1");
    std::filesystem::create_directories(port);
    std::ofstream(port / "state") << state << '\n';
    std::ofstream(port / "link_layer") << "InfiniBand\n";
  }
  void start() {
    thread_ = std::thread([this] { status_ = run(options_, [this] { return stop_.load(); }); });
    ASSERT_TRUE(wait_for([this] { return connect_to(options_.control_socket, SOCK_STREAM).is_open(); }));
  }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void write_interface(const std::string& name, const std::string& carrier) {
    const std::filesystem::path interface = folder_.at("sys/class/net/" + name);
    std::filesystem::create_directories(interface);
    std::ofstream(interface / "type") << (name == "lo" ? "772\n" : "1\n");
    std::ofstream(interface / "carrier") << carrier << '\n';
    std::ofstream(interface / "operstate") << (carrier == "1" ? "up\n" : "lowerlayerdown\n");
  }
  static bool wait_for(const std::function<bool()>& what) {
    for (int i = 0; i < 500; ++i) {
      if (what()) return true;
      const timespec pause{0, 20'000'000};
      nanosleep(&pause, nullptr);
    }
    return false;
  }
  model::NodeFacts facts() const {
    const ring::UniqueFd client = connect_to(options_.control_socket, SOCK_STREAM);
    std::string text;
    char piece[65536];
    for (ssize_t got = 0; (got = recv(client.get(), piece, sizeof(piece), 0)) > 0;) {
      text.append(piece, static_cast<size_t>(got));
    }
    const auto facts = model::parse_node_facts(text);
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.ok() ? *facts : model::NodeFacts();
  }

  TestFolder folder_;
  Options options_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
  absl::Status status_;
};

// A segment taken by this process, with one flow that waits for its completion.
class StuckJob {
 public:
  explicit StuckJob(const std::string& socket, const char* device = "mlx5_0") : socket_(connect_to(socket)) {
    send_message(socket_, honest_hello("train"));
    auto welcomed = receive_welcome(socket_, 2000);
    if (!welcomed || !welcomed->segment.is_open()) return;
    segment_ = ring::MappedSegment(welcomed->segment.get());
    const auto long_ago = static_cast<uint64_t>(now_mono_ns());
    std::memcpy(segment_.rail(0).device, device, strlen(device) + 1);
    railwitness_comm& comm = segment_.comm(0);
    comm.comm_hash = 0xfeed;
    comm.nranks = 2;
    comm.nnodes = 2;
    comm.open = 1;
    railwitness_identity& identity = segment_.identity(0);
    identity.qpn = 0x11;
    identity.peer_qpn = 0x22;
    identity.port = 1;
    identity.direction = RAILWITNESS_DIRECTION_SEND;
    identity.role = RAILWITNESS_ROLE_DATA;
    identity.sequence = 2;
    railwitness_state& state = segment_.state(0);
    state.posted = 8;
    state.completed = 4;
    state.oldest_post_ticks = state.last_post_ticks = state.last_completion_ticks = long_ago;
    railwitness_writer& writer = segment_.writer();
    writer.clock = RAILWITNESS_CLOCK_MONO_NS;
    writer.attach = RAILWITNESS_ATTACH_STUB;
    writer.rails = writer.comms = writer.flows = 1;
  }
  bool has_segment() const { return segment_.is_mapped(); }

 private:
  ring::UniqueFd socket_;
  ring::MappedSegment segment_;
};

TEST_F(SidecarTest, GoesOnWhenNobodyReadsItsOutputAndItsLog) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const ring::UniqueFd reading(ends[0]), writing(ends[1]);
  const std::string block(4096, 'x');
  while (write(writing.get(), block.data(), block.size()) > 0) {
  }
  fcntl(writing.get(), F_SETFL, 0);  // from here on a write waits for ever
  options_.out_fd = options_.log_fd = writing.get();
  start();
  const StuckJob first(options_.socket);
  EXPECT_TRUE(first.has_segment());
  EXPECT_TRUE(wait_for([this] { return facts().processes.size() == 1; }));
  const StuckJob second(options_.socket);
  EXPECT_TRUE(second.has_segment()) << "behind the line that says it of the first";
  stop();
  std::string piece(size_t{1} << 16, ' ');  // lets the threads of the outlets go on while the pipe is there
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 100; ++i, usleep(1000)) {
    while (read(reading.get(), piece.data(), piece.size()) > 0) {
    }
  }
}

TEST_F(SidecarTest, LogsANumberOfNotesThatAJobChangesAllTheTime) {
  const ring::UniqueFd log(memfd_create("log", MFD_CLOEXEC));
  options_.log_fd = log.get();
  start();
  const ring::UniqueFd socket = connect_to(options_.socket);
  send_message(socket, honest_hello("flip"));
  const auto welcomed = receive_welcome(socket, 2000);
  ASSERT_TRUE(welcomed && welcomed->segment.is_open());
  ring::MappedSegment segment(welcomed->segment.get());
  railwitness_writer& writer = segment.writer();
  writer.clock = RAILWITNESS_CLOCK_MONO_NS;
  writer.detail = RAILWITNESS_DETAIL_COUNTERS;
  for (uint32_t i = 0; i < 1200; ++i, usleep(10'000)) {  // 12 s: two spans of the budget begin at most
    writer.detail_ppm = 30'000 + 100 * i;
    writer.detail_since_ticks = static_cast<uint64_t>(now_mono_ns());
  }
  stop();
  std::string text(static_cast<size_t>(lseek(log.get(), 0, SEEK_END)), ' ');
  ASSERT_EQ(pread(log.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  size_t lines = 0;
  for (size_t at = 0; (at = text.find("witness costs", at)) != text.npos; ++at) ++lines;
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 2 * LineBudget::kLinesASpan) << text;
  EXPECT_THAT(text, HasSubstr("more notes about processes"));
}

TEST_F(SidecarTest, ServesTheFactsOfItsNode) {
  start();
  ASSERT_TRUE(wait_for([this] { return facts().sequence > 0; }));
  const model::NodeFacts facts = this->facts();
  EXPECT_EQ(facts.node, "node-a");
  EXPECT_THAT(facts.boot_id, SizeIs(36));
  ASSERT_THAT(facts.rails, SizeIs(1));
  EXPECT_EQ(facts.rails[0].state, "ACTIVE");
  EXPECT_THAT(facts.notes, Contains(HasSubstr("what happened before was not seen")));
  EXPECT_THAT(facts.processes, IsEmpty());
}

TEST_F(SidecarTest, WitnessesAJobFromItsHelloToItsEnd) {
  start();
  {
    const StuckJob job(options_.socket);
    ASSERT_TRUE(job.has_segment());
    ASSERT_TRUE(wait_for([this] {
      const auto facts = this->facts();
      return !facts.processes.empty() && !facts.processes[0].flows.empty();
    }));
    const model::Process process = facts().processes.at(0);
    EXPECT_EQ(process.pid, getpid());
    EXPECT_EQ(process.job, "train");
    EXPECT_EQ(process.segment_problem, "");
    EXPECT_EQ(process.flows[0].device, "mlx5_0");
    EXPECT_EQ(process.flows[0].qpn, 0x11u);
    EXPECT_TRUE(process.flows[0].oldest_post_mono_ns.has_value());
  }
  ASSERT_TRUE(wait_for([this] { return facts().sequence > 0; }));
  EXPECT_NE(facts().processes.at(0).state, model::ProcessState::kGone) << "this process closed a socket and lives";
}

TEST_F(SidecarTest, SaysOnStandardOutputThatAPortIsDownAndNothingElse) {
  options_.json = true;
  testing::internal::CaptureStdout();
  start();
  const StuckJob job(options_.socket);
  write_port("1: DOWN");
  ASSERT_TRUE(wait_for([this] {
    const auto facts = this->facts();
    return !facts.rails.empty() && facts.rails[0].state == "DOWN";
  }));
  const timespec pause{3, 0};
  nanosleep(&pause, nullptr);
  stop();
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("\"LINK\""));
  EXPECT_THAT(said, HasSubstr("mlx5_0"));
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.substr(0, 8), "{\"type\":") << line;
}

TEST_F(SidecarTest, AnInterfaceThatAJobUsesBecomesARail) {
  write_interface("eth1", "1");
  write_interface("eth2", "1");
  start();
  ASSERT_TRUE(wait_for([this] { return facts().sequence > 0; }));
  EXPECT_THAT(facts().rails, SizeIs(1)) << "nobody uses the interfaces";
  const StuckJob job(options_.socket, "eth2");
  ASSERT_TRUE(wait_for([this] { return facts().rails.size() == 2; }));
  model::NodeFacts facts = this->facts();
  EXPECT_EQ(facts.rails[1].kind, model::RailKind::kNetdev);
  EXPECT_EQ(facts.rails[1].device, "eth2");
  EXPECT_EQ(facts.rails[1].index, 1);
  EXPECT_EQ(facts.rails[1].state, "ACTIVE");
  EXPECT_EQ(facts.processes.at(0).flows.at(0).device, "eth2");
  write_interface("eth2", "0");
  ASSERT_TRUE(wait_for([this] { return this->facts().rails.at(1).state == "DOWN"; }));
}

TEST_F(SidecarTest, AJobCannotMakeARailOfWhatIsNoInterface) {
  write_interface("lo", "1");
  start();
  const StuckJob nowhere(options_.socket, "../infiniband/mlx5_0");
  ASSERT_TRUE(wait_for([this] { return !facts().processes.empty() && !facts().processes[0].flows.empty(); }));
  EXPECT_THAT(facts().rails, SizeIs(1));
  EXPECT_EQ(facts().processes.at(0).flows.at(0).device, "");
}

TEST_F(SidecarTest, RailsThatAreNamedAreThereWithoutAJob) {
  std::filesystem::remove_all(folder_.at("sys"));
  write_interface("eth10", "1");
  write_interface("eth9", "0");
  options_.rails = {"eth10", "eth11", "eth9", "eth10"};
  start();
  ASSERT_TRUE(wait_for([this] { return facts().rails.size() == 3; }));
  const model::NodeFacts facts = this->facts();
  EXPECT_EQ(facts.rails[0].device, "eth10");
  EXPECT_EQ(facts.rails[1].state, "") << "not there, and keeps its place";
  EXPECT_EQ(facts.rails[2].device, "eth9");
  EXPECT_EQ(facts.rails[2].state, "DOWN");
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(facts.rails.at(static_cast<size_t>(i)).index, i);
  EXPECT_THAT(facts.notes, Contains(HasSubstr("rail eth11 is not an interface of this node")));
  EXPECT_THAT(facts.notes, Not(Contains(HasSubstr("RDMA"))));
}

TEST_F(SidecarTest, RailsAreNumberedByTheirPlaceAfterThePortsAndBeforeThoseOfJobs) {
  for (const char* name : {"vb0", "va0", "aa0"}) write_interface(name, "1");
  options_.rails = {"vb0", "va0"};
  start();
  const StuckJob job(options_.socket, "aa0");
  ASSERT_TRUE(wait_for([this] { return facts().rails.size() == 4; }));
  const model::NodeFacts facts = this->facts();
  std::vector<std::string> numbered;
  for (const model::Rail& rail : facts.rails) numbered.push_back(std::to_string(rail.index) + " " + rail.device);
  EXPECT_THAT(numbered, testing::ElementsAre("0 mlx5_0", "1 vb0", "2 va0", "3 aa0"));
}

TEST_F(SidecarTest, TheLoopbackIsNoRailThoughItIsNamed) {
  write_interface("lo", "1");
  write_interface("eth1", "1");
  options_.rails = {"lo", "eth1"};
  start();
  ASSERT_TRUE(wait_for([this] { return facts().rails.size() == 2; }));
  EXPECT_EQ(facts().rails[1].device, "eth1");
  EXPECT_EQ(facts().rails[1].index, 2) << "its place in the list, after the port";
  EXPECT_THAT(facts().notes, Contains("lo is the loopback interface and cannot be a rail"));
  EXPECT_THAT(facts().notes, Not(Contains(HasSubstr("not an interface"))));
}

TEST_F(SidecarTest, RefusesWhatCannotBeMeant) {
  Options rail = options_, socket = options_;
  rail.rails = {"eth0", "eth 1"};
  EXPECT_THAT(run(rail, [] { return true; }).message(), HasSubstr("--rail 'eth 1': no interface can have that name"));
  socket.socket = folder_.at("x/../control.sock");
  const absl::Status status = run(socket, [] { return true; });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("--socket and --control-socket are both"));
}

TEST_F(SidecarTest, NotesWhatItCannotSee) {
  options_.lldp_command = "no-such-lldpctl -f json";
  options_.nats_url = "nats://127.0.0.1:1";
  std::filesystem::remove_all(folder_.at("sys"));
  start();
  ASSERT_TRUE(wait_for([this] { return facts().notes.size() >= 4; }));
  const std::vector<std::string> notes = facts().notes;
  EXPECT_THAT(notes, Contains(testing::AllOf(HasSubstr("no-such-lldpctl cannot be run"), HasSubstr("start lldpd"),
                                              HasSubstr("group adm"))));
  EXPECT_THAT(notes, Contains(HasSubstr("no RDMA device is in sight")));
  EXPECT_THAT(notes, Contains(HasSubstr("127.0.0.1:1")));
}

TEST_F(SidecarTest, WarnsOfWhatIsWrongAndOnlyInformsOfItsStart) {
  options_.nats_url = "nats://127.0.0.1:1";
  testing::internal::CaptureStderr();
  start();
  const ring::UniqueFd nameless = connect_to(options_.socket);
  send_message(nameless, honest_hello(""));
  const StuckJob job(options_.socket);
  ASSERT_TRUE(wait_for([this] {
    return testing::Value(facts().notes, Contains(HasSubstr("no nats-server at"))) && facts().processes.size() == 1;
  }));
  stop();
  std::map<std::string, std::string> lines;  // from the level on, by the first word of the message
  std::istringstream said(testing::internal::GetCapturedStderr());
  for (std::string line; std::getline(said, line);) {
    const size_t level = line.find("] [", line.find("] [") + 1);
    ASSERT_NE(level, std::string::npos) << line;
    const std::string text = line.substr(level + 2);
    lines[text.substr(text.find(' ') + 1, 10)] += text + "\n";
  }
  EXPECT_THAT(lines["sidecar st"], testing::StartsWith("[info] sidecar started at "));
  EXPECT_THAT(lines["connecting"], testing::AnyOf("", testing::StartsWith("[info] connecting to ")));
  EXPECT_THAT(lines["no nats-se"], testing::StartsWith("[warning] no nats-server at "));
  std::string segments;
  for (const auto& [begin, text] : lines) segments += begin.starts_with("pid ") ? text : "";
  const std::string whose = "[info] pid " + std::to_string(getpid()) + " uid " + std::to_string(getuid());
  EXPECT_EQ(segments, whose + " got a segment\n" + whose + " job train got a segment\n");
}

TEST_F(SidecarTest, ReadsSwitchPortsFromLldp) {
  std::ofstream(folder_.at("lldp.json")) << R"({"lldp":{"interface":[{"h0r0":{"via":"LLDP","chassis":{"leaf-1":
    {"id":{"type":"mac","value":"02:00:00:00:00:01"},"capability":{"type":"Bridge","enabled":true}}},
    "port":{"id":{"type":"ifname","value":"Ethernet7"}}}}]}})";
  options_.lldp_command = "cat " + folder_.at("lldp.json");
  start();
  ASSERT_TRUE(wait_for([this] { return !facts().edges.empty(); }));
  EXPECT_EQ(facts().edges[0].switch_name, "leaf-1");
  EXPECT_TRUE(facts().edges[0].present);
  std::ofstream(folder_.at("lldp.json")) << "{}";
  ASSERT_TRUE(wait_for([this] { return !facts().edges.at(0).present; })) << "the last known edge stays";
  std::ofstream(folder_.at("lldp.json")) << "{nonsense";
  EXPECT_TRUE(wait_for([this] {
    return testing::Value(facts().notes, Contains(HasSubstr("switch ports are not known from LLDP")));
  }));
}

TEST_F(SidecarTest, AFailureThatIsToldWithTheTimeIsLoggedOnce) {
  options_.lldp_command = "sh -c date${IFS}+at.%s.%N.no.socket>&2;exit${IFS}3";
  testing::internal::CaptureStderr();
  start();
  ASSERT_TRUE(wait_for([this] { return testing::Value(facts().notes, Contains(HasSubstr("no.socket"))); }));
  const timespec pause{1, 500'000'000};  // it is asked five times a second
  nanosleep(&pause, nullptr);
  stop();
  const std::string said = testing::internal::GetCapturedStderr();
  const size_t first = said.find("sh ended with status 3: at.");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("sh ended with status 3: at.", first + 1), std::string::npos) << said;
}

TEST_F(SidecarTest, RefusesToStartBesideALivingOne) {
  start();
  const absl::Status second = run(options_, [] { return true; });
  EXPECT_THAT(second.message(), HasSubstr("is serving it already"));
  EXPECT_TRUE(connect_to(options_.socket).is_open()) << "the first goes on";
  Options other = options_;
  other.socket = folder_.at("other.sock");
  EXPECT_THAT(run(other, [] { return true; }).message(), HasSubstr("--control-socket"));
  EXPECT_FALSE(std::filesystem::exists(other.socket)) << "what was opened is cleaned up";
}

TEST_F(SidecarTest, RemovesItsSocketsAtTheEnd) {
  start();
  stop();
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_FALSE(std::filesystem::exists(options_.socket));
  EXPECT_FALSE(std::filesystem::exists(options_.control_socket));
}

TEST_F(SidecarTest, MakesSocketsAgainThatSomebodyRemoved) {
  start();
  std::filesystem::remove(options_.socket);
  std::filesystem::remove(options_.control_socket);
  ASSERT_TRUE(wait_for([this] { return connect_to(options_.control_socket, SOCK_STREAM).is_open(); }));
  ASSERT_TRUE(wait_for([this] { return StuckJob(options_.socket).has_segment(); }));
  EXPECT_TRUE(wait_for([this] { return facts().processes.size() == 1; }));
}

TEST_F(SidecarTest, RefusesAUrlThatIsNone) {
  options_.nats_url = "http://here:80";
  EXPECT_FALSE(run(options_, [] { return true; }).ok());
}

}  // namespace
}  // namespace railwitness::sidecar
