#include "tests/plugin/ofi/peer_process.h"

#include "railwitness/base/clock.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::ofi_test {
namespace {

constexpr int kSocketOfPeer = 3;
constexpr char kTaskVariable[] = "OFI_TEST_PEER_TASK";

pid_t start_this_program(int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, kSocketOfPeer);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  char name[] = "peer", filter[] = "--gtest_filter=APeerProcess.*", also[] = "--gtest_also_run_disabled_tests";
  char* arguments[] = {name, filter, also, nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

bool read_all(int socket, void* bytes, size_t count) {
  return recv(socket, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

bool write_all(int socket, const void* bytes, size_t count) {
  return send(socket, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

// libfabric's shm leaves 16 MB of a killed process for each of its endpoints.
void remove_shared_memory_of(pid_t pid) {
  const std::string begin = std::to_string(pid) + ":";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored))
    if (entry.path().filename().string().starts_with(begin)) std::filesystem::remove(entry.path(), ignored);
}

}  // namespace

PeerProcess::PeerProcess(Task task) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const char text[] = {static_cast<char>(task), 0};
  setenv(kTaskVariable, text, 1);
  pid_ = start_this_program(ends[1]);
  unsetenv(kTaskVariable);
  close(ends[1]);
  socket_ = ends[0];
}

PeerProcess::~PeerProcess() {
  kill();
  close(socket_);
}

void PeerProcess::kill() {
  if (pid_ <= 0) return;
  EXPECT_EQ(::kill(pid_, SIGKILL), 0);
  EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  remove_shared_memory_of(pid_);
  pid_ = -1;
}

Handle PeerProcess::take_handle() {
  Handle handle{};
  EXPECT_TRUE(read_all(socket_, handle.data(), handle.size()));
  return handle;
}

void PeerProcess::give_handle(const Handle& handle) { EXPECT_TRUE(write_all(socket_, handle.data(), handle.size())); }

bool PeerProcess::is_there() {
  char said = 0;
  if (!is_there_) is_there_ = recv(socket_, &said, 1, MSG_DONTWAIT) == 1;
  return is_there_;
}

void PeerProcess::go() { EXPECT_TRUE(write_all(socket_, "g", 1)); }

void* accept_from(PeerProcess* peer, void* context) {
  alignas(8) Handle handle{};
  void *listening = nullptr, *comm = nullptr;
  EXPECT_EQ(transport().listen(context, 0, handle.data(), &listening), nccl::kSuccess);
  peer->give_handle(handle);
  Result result = nccl::kSuccess;
  for (const double start = seconds(); !comm && result == nccl::kSuccess && seconds() - start < 30;)
    result = transport().accept(listening, &comm, nullptr);
  EXPECT_NE(comm, nullptr) << text_of(take_log());
  EXPECT_EQ(transport().close_listen(listening), nccl::kSuccess);
  return comm;
}

void* connect_to(PeerProcess* peer, void* context) {
  alignas(8) Handle handle = peer->take_handle();
  void* comm = nullptr;
  Result result = nccl::kSuccess;
  for (const double start = seconds(); !comm && result == nccl::kSuccess && seconds() - start < 30;)
    result = transport().connect(context, 0, handle.data(), &comm, nullptr);
  EXPECT_NE(comm, nullptr) << text_of(take_log());
  return comm;
}

// --- the process ----------------------------------------------------------------------------------------------------

namespace {

void say_i_am_there() { write_all(kSocketOfPeer, "t", 1); }

// Until the test kills this process or ends itself.
void do_nothing_more() {
  char byte;
  while (recv(kSocketOfPeer, &byte, 1, 0) > 0) {
  }
  _exit(0);
}

// What the sockets between the processes hold at most, while the other end does nothing.
void move_a_little(void* request) {
  for (int i = 0; i < 20; i++) test_once(request, nullptr);
}

void* accept_as_peer(Task task) {
  alignas(8) Handle handle{};
  void *listening = nullptr, *comm = nullptr;
  transport().listen(make_context(), 0, handle.data(), &listening);
  write_all(kSocketOfPeer, handle.data(), handle.size());
  if (task == Task::kListen) do_nothing_more();
  while (!comm)
    if (transport().accept(listening, &comm, nullptr) != nccl::kSuccess) _exit(1);
  return comm;
}

void* connect_as_peer() {
  alignas(8) Handle handle{};
  void* comm = nullptr;
  if (!read_all(kSocketOfPeer, handle.data(), handle.size())) _exit(1);
  void* context = make_context();
  while (!comm)
    if (transport().connect(context, 0, handle.data(), &comm, nullptr) != nccl::kSuccess) _exit(1);
  return comm;
}

void work() {
  while (static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID)) / 1e9 < kWorkS) {
  }
}

void play(Task task) {
  Pair pair;
  const bool accepts = task == Task::kListen || task == Task::kAccept || task == Task::kReceive;
  (accepts ? pair.receive : pair.send) = accepts ? accept_as_peer(task) : connect_as_peer();
  std::vector<uint8_t> many(task == Task::kReceive || task == Task::kSend ? kManyBytes : 1);
  if (task == Task::kReceive) move_a_little(receive(pair, many.data(), many.size(), 0));
  if (task == Task::kSend) move_a_little(send_until_taken(pair, many.data(), many.size(), 0));
  say_i_am_there();
  char byte;
  if (task == Task::kWork && recv(kSocketOfPeer, &byte, 1, 0) == 1) {
    work();
    finish(send_until_taken(pair, many.data(), many.size(), 0), nullptr, nullptr, nullptr);
  }
  do_nothing_more();
}

TEST(APeerProcess, DISABLED_DoesItsTask) {
  const char* task = getenv(kTaskVariable);
  if (!task) GTEST_SKIP() << "only as PeerProcess starts it";
  play(static_cast<Task>(*task));
}

}  // namespace
}  // namespace railwitness::ofi_test
