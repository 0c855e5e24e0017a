#include "probes/sidecar/handover_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "probes/sidecar/clock.h"
#include "probes/sidecar/process_table.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace railwitness::sidecar {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HandoverServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = HandoverServer::open(path(), "", seats_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::string path() const { return folder_.at("run/sidecar.sock"); }
  // Twice: a connection is accepted in one turn and heard in the next.
  HandoverServer::Served serve() {
    HandoverServer::Served first = server_->serve(now_mono_ns());
    HandoverServer::Served second = server_->serve(now_mono_ns());
    for (HandOver& arrived : second.arrived) first.arrived.push_back(std::move(arrived));
    first.lost.insert(first.lost.end(), second.lost.begin(), second.lost.end());
    return first;
  }
  // Until something arrived or was lost; at most 2 s.
  HandoverServer::Served serve_until_news() {
    for (int i = 0; i < 200; ++i) {
      pollfd event{server_->poll_fd(), POLLIN, 0};
      poll(&event, 1, 10);
      HandoverServer::Served served = serve();
      if (!served.arrived.empty() || !served.lost.empty()) return served;
    }
    return {};
  }
  HandOver hand_over(const ring::UniqueFd& fd) {
    EXPECT_TRUE(send_message(fd, honest_hello()));
    HandoverServer::Served served = serve_until_news();
    EXPECT_THAT(served.arrived, SizeIs(1));
    return std::move(served.arrived.at(0));
  }

  TestFolder folder_;
  Seats seats_{8};
  std::unique_ptr<HandoverServer> server_;
};

TEST_F(HandoverServerTest, LetsEveryUserConnect) {
  struct stat file {};
  ASSERT_EQ(stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0666u);
  ASSERT_EQ(stat(folder_.at("run").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0755u);
}

TEST_F(HandoverServerTest, HandsASealedSegmentToAnHonestJob) {
  const ring::UniqueFd job = connect_to(path());
  const HandOver arrived = hand_over(job);
  EXPECT_EQ(arrived.pid, getpid());
  EXPECT_EQ(arrived.uid, getuid());
  EXPECT_EQ(arrived.job, "job-1");
  const auto welcomed = receive_welcome(job, 1000);
  ASSERT_TRUE(welcomed.has_value());
  EXPECT_EQ(welcomed->welcome.magic, RAILWITNESS_HANDOVER_MAGIC);
  EXPECT_EQ(welcomed->welcome.status, static_cast<uint32_t>(RAILWITNESS_WELCOME_OK));
  EXPECT_EQ(welcomed->welcome.segment_bytes, arrived.segment.geometry.segment_bytes);
  ASSERT_TRUE(welcomed->segment.is_open());
  EXPECT_EQ(ftruncate(welcomed->segment.get(), 0), -1);
  void* mapped = mmap(nullptr, welcomed->welcome.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      welcomed->segment.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  static_cast<char*>(mapped)[300] = 'x';
  char byte = 0;
  EXPECT_EQ(pread(arrived.segment.fd.get(), &byte, 1, 300), 1);
  EXPECT_EQ(byte, 'x') << "both have the same memory";
  munmap(mapped, welcomed->welcome.segment_bytes);
  EXPECT_EQ(seats_.taken(), 1u);
}

TEST_F(HandoverServerTest, TellsWhenTheJobIsGone) {
  ring::UniqueFd job = connect_to(path());
  const uint64_t connection = hand_over(job).connection;
  job.reset();
  EXPECT_THAT(serve_until_news().lost, testing::ElementsAre(connection));
}

TEST_F(HandoverServerTest, EndsAConnectionThatGoesOnTalking) {
  const ring::UniqueFd job = connect_to(path());
  const uint64_t connection = hand_over(job).connection;
  for (int i = 0; i < 100; ++i) send_message(job, honest_hello());
  EXPECT_THAT(serve_until_news().lost, testing::ElementsAre(connection));
  EXPECT_THAT(serve().lost, IsEmpty());
}

TEST_F(HandoverServerTest, AnswersAnotherVersionWithItsOwn) {
  const ring::UniqueFd job = connect_to(path());
  railwitness_hello hello = honest_hello();
  hello.abi_major = RAILWITNESS_ABI_MAJOR + 1;
  send_message(job, hello);
  EXPECT_THAT(serve().arrived, IsEmpty());
  const auto welcomed = receive_welcome(job, 1000);
  ASSERT_TRUE(welcomed.has_value());
  EXPECT_EQ(welcomed->welcome.status, static_cast<uint32_t>(RAILWITNESS_WELCOME_VERSION));
  EXPECT_EQ(welcomed->welcome.abi_major, RAILWITNESS_ABI_MAJOR);
  EXPECT_FALSE(welcomed->segment.is_open());
  EXPECT_TRUE(is_closed(job, 1000));
  EXPECT_EQ(server_->counters().other_versions, 1u);
}

TEST_F(HandoverServerTest, WhoOnlyAsksIsAnsweredAndCountsAsNoJob) {
  const ring::UniqueFd doctor = connect_to(path());
  railwitness_hello hello = honest_hello();
  hello.abi_major = RAILWITNESS_HANDOVER_ASKS;
  send_message(doctor, hello);
  EXPECT_THAT(serve().arrived, IsEmpty());
  const auto welcomed = receive_welcome(doctor, 1000);
  ASSERT_TRUE(welcomed.has_value());
  EXPECT_EQ(welcomed->welcome.abi_major, RAILWITNESS_ABI_MAJOR);
  EXPECT_FALSE(welcomed->segment.is_open());
  EXPECT_EQ(server_->counters().other_versions, 0u);
  EXPECT_EQ(seats_.taken(), 0u);
}

TEST_F(HandoverServerTest, RefusesHalfAMessageAndAnotherMagic) {
  for (const size_t bytes : {size_t{1}, sizeof(railwitness_hello) - 1}) {
    const ring::UniqueFd job = connect_to(path());
    send_message(job, honest_hello(), bytes);
    serve();
    EXPECT_EQ(receive_welcome(job, 1000)->welcome.status, static_cast<uint32_t>(RAILWITNESS_WELCOME_BAD_HELLO));
  }
  const ring::UniqueFd job = connect_to(path());
  railwitness_hello hello = honest_hello();
  hello.magic = 1;
  send_message(job, hello);
  serve();
  EXPECT_EQ(receive_welcome(job, 1000)->welcome.status, static_cast<uint32_t>(RAILWITNESS_WELCOME_BAD_HELLO));
  EXPECT_EQ(server_->counters().bad_hellos, 3u);
  EXPECT_EQ(seats_.taken(), 0u);
}

TEST_F(HandoverServerTest, TakesALongerHelloOfALaterMinorByItsKnownPart) {
  struct Longer {
    railwitness_hello hello = honest_hello();
    uint64_t more[4] = {};
  } longer;
  longer.hello.abi_minor = 99;
  longer.hello.hello_bytes = sizeof(longer);
  const ring::UniqueFd job = connect_to(path());
  send_message(job, longer);
  EXPECT_THAT(serve_until_news().arrived, SizeIs(1));
}

TEST_F(HandoverServerTest, ClosesAConnectionThatSaysNothingForASecond) {
  const ring::UniqueFd job = connect_to(path());
  const int64_t now = now_mono_ns();
  server_->serve(now);
  server_->serve(now + HandoverServer::kHelloWithinNs - 1);
  EXPECT_FALSE(is_closed(job, 0));
  server_->serve(now + HandoverServer::kHelloWithinNs);
  EXPECT_TRUE(is_closed(job, 1000));
  EXPECT_EQ(server_->counters().silent, 1u);
}

TEST_F(HandoverServerTest, LeavesAQuarterOfTheSeatsToOtherUsers) {
  std::vector<ring::UniqueFd> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(connect_to(path()));
    send_message(jobs.back(), honest_hello());
    serve();
    const auto welcomed = receive_welcome(jobs.back(), 1000);
    ASSERT_TRUE(welcomed.has_value());
    EXPECT_EQ(welcomed->welcome.status,
              static_cast<uint32_t>(i < 6 ? RAILWITNESS_WELCOME_OK : RAILWITNESS_WELCOME_FULL));
  }
  EXPECT_TRUE(seats_.try_take(getuid() + 1));
}

TEST_F(HandoverServerTest, ServesAnHonestJobAmongAThousandSilentConnections) {
  std::vector<ring::UniqueFd> silent;
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(connect_to(path()));
    ASSERT_TRUE(silent.back().is_open()) << i;
    if (i % 50 == 0) serve();
  }
  const ring::UniqueFd job = connect_to(path());
  EXPECT_EQ(hand_over(job).pid, getpid());
  EXPECT_GT(server_->counters().crowded_out, 0u);
}

TEST_F(HandoverServerTest, StopsListeningToAUserWhoConnectsWithoutEnd) {
  const int64_t now = now_mono_ns();
  for (int i = 0; i < 2000; ++i) {
    const ring::UniqueFd job = connect_to(path());
    server_->serve(now);
  }
  EXPECT_GT(server_->counters().refused, 0u);
  const ring::UniqueFd later = connect_to(path());
  send_message(later, honest_hello());
  server_->serve(now + kNsPerSecond);
  EXPECT_THAT(server_->serve(now + kNsPerSecond).arrived.size() + server_->counters().handed_over, testing::Ge(1u));
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_F(HandoverServerTest, TakesNoDescriptorThatIsPushedAtIt) {
  const ring::UniqueFd job = connect_to(path());
  serve();
  railwitness_hello hello = honest_hello();
  iovec piece{&hello, sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int pushed = job.get();
  std::memcpy(CMSG_DATA(header), &pushed, sizeof(pushed));
  const size_t before = open_descriptors();
  const bool sent = sendmsg(job.get(), &message, MSG_NOSIGNAL) > 0;  // newer kernels refuse with EPERM
  const HandoverServer::Served served = sent ? serve_until_news() : serve();
  EXPECT_THAT(served.arrived, SizeIs(sent ? 1 : 0));
  const size_t for_the_segment = sent ? 2 : 0;  // ours, and the one that waits in the socket is not open yet
  EXPECT_LE(open_descriptors(), before + for_the_segment);
}

// --- further segments

railwitness_request request_for(uint32_t part) {
  railwitness_request request{};
  request.magic = RAILWITNESS_REQUEST_MAGIC;
  request.request_bytes = sizeof(request);
  request.part = part;
  return request;
}

class FurtherSegments : public HandoverServerTest {
 protected:
  // A job that has its first segment.
  ring::UniqueFd connect_job() {
    ring::UniqueFd job = connect_to(path());
    connection_ = hand_over(job).connection;
    EXPECT_TRUE(receive_welcome(job, 1000).has_value());
    return job;
  }
  std::optional<Welcomed> ask(const ring::UniqueFd& job, uint32_t part) {
    EXPECT_TRUE(send_message(job, request_for(part)));
    HandoverServer::Served served = server_->serve(now_mono_ns());
    for (FurtherSegment& further : served.further) given_.push_back(std::move(further));
    lost_.insert(lost_.end(), served.lost.begin(), served.lost.end());
    return receive_welcome(job, 0);
  }
  static uint32_t status_of(const std::optional<Welcomed>& welcomed) {
    return welcomed ? welcomed->welcome.status : UINT32_MAX;
  }

  uint64_t connection_ = 0;
  std::vector<FurtherSegment> given_;
  std::vector<uint64_t> lost_;
};

TEST_F(FurtherSegments, AreGivenOnRequestOneAfterTheOther) {
  const ring::UniqueFd job = connect_job();
  uint32_t blocks = 0;
  for (uint32_t part = 1; part < 5; ++part) {
    const auto welcomed = ask(job, part);
    ASSERT_EQ(status_of(welcomed), uint32_t{RAILWITNESS_WELCOME_OK}) << part;
    EXPECT_EQ(welcomed->welcome.part, part);
    railwitness_segment_header header{};
    ASSERT_EQ(pread(welcomed->segment.get(), &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    EXPECT_EQ(header.part, part);
    EXPECT_EQ(header.flow_capacity, RAILWITNESS_PART_FLOWS(part));
    EXPECT_EQ(header.thread_capacity + header.rail_capacity + header.comm_capacity + header.control_capacity, 0u);
    EXPECT_EQ(header.segment_bytes, welcomed->welcome.segment_bytes);
    EXPECT_EQ(ftruncate(welcomed->segment.get(), 0), -1);
    ASSERT_THAT(given_, SizeIs(part));
    EXPECT_EQ(given_.back().connection, connection_);
    EXPECT_EQ(given_.back().segment.part, part);
    blocks += RAILWITNESS_PART_FLOWS(part) / 256;
  }
  EXPECT_EQ(seats_.blocks_taken(), blocks);
  EXPECT_EQ(server_->counters().further, 4u);
}

TEST_F(FurtherSegments, OutOfOrderAreRefusedAndTheConnectionStays) {
  const ring::UniqueFd job = connect_job();
  for (const uint32_t part : {0u, 2u, 7u, UINT32_MAX}) {
    const auto welcomed = ask(job, part);
    EXPECT_EQ(status_of(welcomed), uint32_t{RAILWITNESS_WELCOME_FULL}) << part;
    EXPECT_FALSE(welcomed->segment.is_open());
  }
  EXPECT_THAT(given_, IsEmpty());
  EXPECT_EQ(seats_.blocks_taken(), 0u);
  EXPECT_GT(server_->counters().further_refused_mono_ns, 0);
  EXPECT_EQ(status_of(ask(job, 1)), uint32_t{RAILWITNESS_WELCOME_OK});
}

TEST_F(FurtherSegments, AskedForWithoutEndCostNothingAndEndTheConnection) {
  const ring::UniqueFd job = connect_job();
  const size_t before = open_descriptors();
  for (int i = 0; i < 5000 && lost_.empty(); ++i) ask(job, 5);
  EXPECT_THAT(lost_, testing::ElementsAre(connection_));
  EXPECT_LE(server_->counters().further_refused, 20u);
  EXPECT_LT(open_descriptors(), before) << "the connection itself";
  EXPECT_EQ(seats_.blocks_taken(), 0u);
}

TEST_F(FurtherSegments, OfAJobThatAsksAndDiesAreGivenBack) {
  const int32_t pid = getpid();
  Seats seats(4);
  ASSERT_TRUE(seats.try_take(1) && seats.try_take_part(1, 1));
  const ServiceManager manager;
  ProcessTable table("/nowhere", seats, manager);
  table.add({9, pid, 1, "job", *ring::make_segment(1, "")}, now_mono_ns());
  table.add_part({9, 1, *ring::make_segment(2, "", 1)});
  table.lose_connection(9, now_mono_ns());
  EXPECT_EQ(table.facts().at(0).state, model::ProcessState::kGone);
  EXPECT_EQ(seats.taken(), 0u);
  EXPECT_EQ(seats.blocks_taken(), 0u);
  ASSERT_TRUE(seats.try_take_part(1, 2));
  table.add_part({9, 1, *ring::make_segment(3, "", 2)});
  EXPECT_EQ(seats.blocks_taken(), 0u) << "asked for by a child that held the socket";
}

TEST(Seats, LeaveAQuarterOfTheBlocksToOthers) {
  Seats seats(4, 16);
  EXPECT_TRUE(seats.try_take_part(1, 1) && seats.try_take_part(1, 2) && seats.try_take_part(1, 2));
  EXPECT_FALSE(seats.try_take_part(1, 2)) << "12 of 16";
  EXPECT_TRUE(seats.try_take_part(1, 1));
  EXPECT_FALSE(seats.try_take_part(1, 1));
  EXPECT_TRUE(seats.try_take_part(2, 2));
  EXPECT_FALSE(seats.try_take_part(3, 1));
  seats.give_back_part(1, 2);
  EXPECT_TRUE(seats.try_take_part(3, 1));
}

TEST_F(HandoverServerTest, MakesItsSocketAgainWhenSomebodyRemovedIt) {
  EXPECT_FALSE(*server_->mend()) << "nothing to do";
  const ring::UniqueFd before = connect_to(path());
  const uint64_t connection = hand_over(before).connection;
  std::filesystem::remove_all(folder_.at("run"));
  EXPECT_FALSE(connect_to(path()).is_open());
  EXPECT_TRUE(*server_->mend());
  EXPECT_FALSE(*server_->mend());
  const ring::UniqueFd after = connect_to(path());
  ASSERT_TRUE(after.is_open());
  EXPECT_NE(hand_over(after).connection, connection) << "and serves on it";
  EXPECT_FALSE(is_closed(before, 0) && !receive_welcome(before, 0)) << "who was connected stays so";
  std::filesystem::remove(path());
  const auto other = UnixListener::open({path(), SOCK_SEQPACKET, 0666, "--socket"});
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(server_->mend().status().message(), HasSubstr("is serving it already"));
}

// Its number may be another's by then.
TEST_F(HandoverServerTest, GivesNothingToAChildThatSpeaksForAProcessThatEnded) {
  int probe = -1;
  socklen_t size = sizeof(probe);
  const ring::UniqueFd any = connect_to(path());
  if (getsockopt(any.get(), SOL_SOCKET, 77 /* SO_PEERPIDFD */, &probe, &size) != 0) GTEST_SKIP() << "needs Linux 6.5";
  const ring::UniqueFd owned(probe);
  int answer[2];
  ASSERT_EQ(pipe(answer), 0);
  const pid_t job = fork();
  if (job == 0) {
    const ring::UniqueFd socket = connect_to(path());
    const pid_t parent = getpid();
    if (fork() != 0) _exit(0);
    alarm(20);
    while (getppid() == parent) usleep(1000);  // its number is free when we have another parent and it was waited for
    usleep(50'000);
    send_message(socket, honest_hello());
    const char got = receive_welcome(socket, 3000) ? 'y' : 'n';
    _exit(write(answer[1], &got, 1) == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(job, &status, 0), job);
  EXPECT_THAT(serve_until_news().arrived, IsEmpty());
  char got = 0;
  ASSERT_EQ(read(answer[0], &got, 1), 1);
  EXPECT_EQ(got, 'n');
  EXPECT_EQ(server_->counters().handed_over, 0u);
  ::close(answer[0]), ::close(answer[1]);
}

TEST(UnixListener, TakesThePlaceOfADeadSidecar) {
  TestFolder folder;
  const std::string path = folder.at("dead.sock");
  {
    const ring::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    const sockaddr_un address = unix_address(path);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_TRUE(UnixListener::open({path, SOCK_SEQPACKET, 0666, "--socket"}).ok());
  EXPECT_FALSE(std::filesystem::exists(path)) << "it removes its own file at the end";
}

TEST(UnixListener, LeavesALivingSidecarAloneAndNamesIt) {
  TestFolder folder;
  const std::string path = folder.at("living.sock");
  const auto living = UnixListener::open({path, SOCK_SEQPACKET, 0666, "--socket"});
  ASSERT_TRUE(living.ok());
  const auto second = UnixListener::open({path, SOCK_SEQPACKET, 0666, "--socket"});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(path));
  EXPECT_THAT(second.status().message(), HasSubstr("pid " + std::to_string(getpid()) + " is serving it already"));
  EXPECT_THAT(second.status().message(), HasSubstr("--socket"));
  EXPECT_TRUE(connect_to(path).is_open());
}

TEST(UnixListener, SaysWhatToDoWhereItCannotServe) {
  TestFolder folder;
  const std::string file = folder.at("file");
  ring::UniqueFd(creat(file.c_str(), 0600));
  EXPECT_THAT(UnixListener::open({file, SOCK_STREAM, 0660, "--control-socket"}).status().message(),
              HasSubstr("no socket"));
  EXPECT_THAT(UnixListener::open({folder.at("a/b/c.sock"), SOCK_STREAM, 0660, "--control-socket"}).status().message(),
              testing::AllOf(HasSubstr("mkdir -p"), HasSubstr("No such file"), HasSubstr("--control-socket")));
  EXPECT_THAT(UnixListener::open({std::string(200, 'x'), SOCK_STREAM, 0660, "--socket"}).status().message(),
              HasSubstr("107 bytes"));
  EXPECT_FALSE(UnixListener::open({"", SOCK_STREAM, 0660, "--socket"}).ok());
}

}  // namespace
}  // namespace railwitness::sidecar
