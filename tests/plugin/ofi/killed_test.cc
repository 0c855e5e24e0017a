// A peer whose process is killed, wherever the connection had got to: an error that names it, soon, and never a hang.
#include "tests/plugin/ofi/peer_process.h"

#include <cstdio>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace railwitness::ofi_test {
namespace {

constexpr double kPromptS = 10;  // 0.2 on an idle machine

class AKilledPeer : public testing::Test {
 protected:
  void SetUp() override {
    context_ = make_context();
    take_log();
  }
  void TearDown() override { transport().finalize(context_); }

  void expect_error_that_names(const std::string& peer, const std::function<Result()>& call) {
    double after = 0;
    EXPECT_EQ(wait_for_error(call, &after), nccl::kRemoteError);
    EXPECT_LT(after, kPromptS);
    const std::string log = text_of(take_log());
    EXPECT_NE(log.find(peer), std::string::npos) << log;
    EXPECT_NE(log.find("127.0.0.1:"), std::string::npos) << log;
    printf("after %.3f s: %s", after, log.c_str());
  }

  static std::string process(const PeerProcess& peer) { return "process " + std::to_string(peer.pid()) + ")"; }

  // The peer does nothing from then on. Nothing is tested before: both ends at once might move it all.
  static void wait_until_there(PeerProcess* peer) {
    for (const double start = seconds(); !peer->is_there() && seconds() - start < 30;) usleep(1000);
    ASSERT_TRUE(peer->is_there());
  }

  // Until what the sockets hold has gone or come. shm reads all of it from the peer's memory without its help.
  static void move_some(void* request) {
    if (uses("shm")) return;
    for (const double start = seconds(); seconds() - start < 0.2;) ASSERT_FALSE(test_once(request, nullptr));
  }

  static auto until_done(void* request) {
    return [request] {
      int done = 0, sizes[8];
      const Result result = transport().test(request, &done, sizes);
      EXPECT_FALSE(done);
      return result;
    };
  }

  void kill_and_expect_error_of(void* request, PeerProcess* peer) {
    const std::string name = process(*peer);
    peer->kill();
    expect_error_that_names(name, until_done(request));
  }

  void* context_ = nullptr;
};

TEST_F(AKilledPeer, BetweenListenAndAcceptIsAnErrorOfConnect) {
  for (const int steps_before : {0, 1, 50}) {
    PeerProcess peer(Task::kListen);
    alignas(8) Handle handle = peer.take_handle();
    void* comm = nullptr;
    const auto connect = [&] { return transport().connect(context_, 0, handle.data(), &comm, nullptr); };
    for (int i = 0; i < steps_before; i++, usleep(1000)) ASSERT_EQ(connect(), nccl::kSuccess);
    peer.kill();
    expect_error_that_names("connecting to 127.0.0.1:", connect);
    EXPECT_EQ(comm, nullptr);
  }
}

TEST_F(AKilledPeer, ThatHasPostedNoReceiveIsAnErrorOfTheNextSend) {
  PeerProcess peer(Task::kAccept);
  void* comm = connect_to(&peer, context_);
  ASSERT_NE(comm, nullptr);
  const std::string name = process(peer);
  peer.kill();
  uint8_t byte = 1;
  expect_error_that_names(name, [&] {
    void* request = nullptr;
    const Result result = transport().isend(comm, &byte, 1, 0, nullptr, nullptr, &request);
    EXPECT_EQ(request, nullptr);
    return result;
  });
  transport().close_send(comm);
}

TEST_F(AKilledPeer, InTheMidstOfALargeSendIsAnErrorOfIt) {
  PeerProcess peer(Task::kReceive);
  Pair pair{.context = context_, .send = connect_to(&peer, context_)};
  ASSERT_NE(pair.send, nullptr);
  wait_until_there(&peer);
  const std::vector<uint8_t> out(kManyBytes);
  void* request = send_until_taken(pair, out.data(), out.size(), 0);
  ASSERT_NE(request, nullptr);
  move_some(request);
  kill_and_expect_error_of(request, &peer);
  transport().close_send(pair.send);
}

TEST_F(AKilledPeer, InTheMidstOfALargeReceiveIsAnErrorOfIt) {
  PeerProcess peer(Task::kSend);
  Pair pair{.context = context_, .receive = accept_from(&peer, context_)};
  ASSERT_NE(pair.receive, nullptr);
  std::vector<uint8_t> in(kManyBytes);
  void* request = receive(pair, in.data(), in.size(), 0);
  wait_until_there(&peer);
  move_some(request);
  kill_and_expect_error_of(request, &peer);
  transport().close_recv(pair.receive);
}

TEST_F(AKilledPeer, ThatHasSentNothingIsAnErrorOfTheReceiveThatWaits) {
  PeerProcess peer(Task::kConnect);
  Pair pair{.context = context_, .receive = accept_from(&peer, context_)};
  ASSERT_NE(pair.receive, nullptr);
  std::vector<uint8_t> in(100);
  void* request = receive(pair, in.data(), in.size(), 0);
  for (const double start = seconds(); seconds() - start < 0.5;) ASSERT_FALSE(test_once(request, nullptr));
  kill_and_expect_error_of(request, &peer);
  transport().close_recv(pair.receive);
}

}  // namespace
}  // namespace railwitness::ofi_test
