// Who calls a listener, or hands out a handle, without being the peer that is meant: port scanners, other programs, damaged
// and forged bytes, and peers that end in the midst of the handshake.
#include "plugin/ofi/comm.h"
#include "plugin/ofi/handshake.h"
#include "tests/plugin/ofi/driver.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railwitness::ofi_test {
namespace {

using ofi::Frame;
using ofi::Kind;

// Raw TCP to a listener's side channel.
class Caller {
 public:
  explicit Caller(const uint8_t* handle) {
    sockaddr_in address;
    memcpy(&address, handle, sizeof address);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // of connect too
    is_connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  Caller(Caller&& other) noexcept : fd_(std::exchange(other.fd_, -1)), is_connected_(other.is_connected_) {}
  Caller& operator=(Caller&&) = delete;
  ~Caller() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_connected() const { return is_connected_; }
  void say(const void* bytes, size_t count) const { (void)!send(fd_, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT); }
  bool hear(Frame* frame) const { return recv(fd_, frame, sizeof *frame, MSG_WAITALL | MSG_DONTWAIT) == sizeof *frame; }

 private:
  int fd_ = -1;
  bool is_connected_ = false;
};

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    if (!uses("net") && !uses("tcp") && getenv("RAILWITNESS_OFI_PROVIDER")) GTEST_SKIP() << "the side channel is the same";
    context_ = make_context();
    take_log();
    descriptors_ = open_descriptors();
    listen();
  }
  void TearDown() override {
    if (!context_) return;
    if (listening_) transport().close_listen(listening_);
    EXPECT_EQ(ofi::objects(), 0);
    transport().finalize(context_);
  }

  void listen() {
    ASSERT_EQ(transport().listen(context_, 0, handle_, &listening_), nccl::kSuccess);
    memcpy(&known_, handle_, sizeof known_);
  }
  void listen_again() {
    ASSERT_EQ(transport().close_listen(std::exchange(listening_, nullptr)), nccl::kSuccess);
    listen();
  }

  // As the right peer would greet; `name` of its endpoint is 127.0.0.1, port 1, where nobody listens.
  Frame hello() const {
    Frame f{};
    f.magic = ofi::kFrameMagic;
    f.wire_version = ofi::kWireVersion;
    f.kind = static_cast<uint16_t>(Kind::kHello);
    f.bytes = sizeof f;
    f.cookie = known_.cookie;
    f.host_id = known_.host_id;
    f.pid = 4711;
    f.number = 99;
    f.max_group = known_.max_group;
    f.max_requests = static_cast<uint16_t>(known_.max_requests);
    f.libfabric = known_.libfabric;
    f.build = known_.build;
    memcpy(f.provider, known_.provider, sizeof f.provider);
    memcpy(f.device, "lo", 2);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(1);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(f.name, &name, sizeof name);
    f.name_bytes = sizeof name;
    seal(&f);
    return f;
  }

  // accept() again and again: its first result that is not "not yet", or success after `for_s`.
  Result accept_for(double for_s) {
    void* comm = nullptr;
    Result result = nccl::kSuccess;
    for (const double start = seconds(); result == nccl::kSuccess && !comm && seconds() - start < for_s; usleep(200))
      result = transport().accept(listening_, &comm, nullptr);
    EXPECT_EQ(comm, nullptr) << "a stranger was taken for the peer";
    return result;
  }

  // The right peer comes now.
  void expect_that_the_peer_gets_through(double within_s) {
    void *send = nullptr, *receive = nullptr;
    const double start = seconds();
    while ((!send || !receive) && seconds() - start < within_s) {
      Result result = send ? nccl::kSuccess : transport().connect(context_, 0, handle_, &send, nullptr);
      ASSERT_EQ(result, nccl::kSuccess) << text_of(take_log());
      if (!receive) result = transport().accept(listening_, &receive, nullptr);
      ASSERT_EQ(result, nccl::kSuccess) << text_of(take_log());
    }
    ASSERT_TRUE(send && receive) << "not within " << within_s << " s\n" << text_of(take_log());
    printf("the peer was there after %.2f s\n", seconds() - start);
    transport().close_send(send);
    transport().close_recv(receive);
  }

  void* context_ = nullptr;
  void* listening_ = nullptr;
  alignas(8) uint8_t handle_[nccl::kHandleBytes] = {};
  ofi::Handle known_{};
  int descriptors_ = 0;
};

// Port scanners: connections as fast as they are taken, without a word, with the beginning of one, or with junk.
class Scanners {
 public:
  explicit Scanners(const uint8_t* handle) {
    for (unsigned seed = 0; seed < 4; seed++) threads_.emplace_back([this, handle, seed] { scan(handle, seed); });
  }
  ~Scanners() {
    is_over_ = true;
    for (std::thread& t : threads_) t.join();
  }
  int calls() const { return calls_; }

 private:
  void scan(const uint8_t* handle, unsigned seed) {
    std::deque<Caller> open;
    std::mt19937 random(seed);
    uint8_t junk[600];
    for (uint8_t& b : junk) b = static_cast<uint8_t>(random());
    for (; !is_over_; calls_++) {
      open.emplace_back(handle);
      if (calls_ % 4 == 1) open.back().say(&ofi::kFrameMagic, 8);
      if (calls_ % 4 > 1) open.back().say(junk, random() % sizeof junk);
      if (open.size() > 60) open.pop_front();
    }
  }

  std::atomic<int> calls_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

TEST_F(Hostile, TenThousandCallsOfPortScannersKeepNobodyOut) {
  if (!uses("net")) GTEST_SKIP() << "it takes its time, and the side channel is the same";
  int calls = 0;
  long memory = 0;
  for (int round = 0; calls < 10'000 && round < 40; round++) {
    const Scanners scanners(handle_);
    double slowest = 0;
    for (const double start = seconds(); scanners.calls() < 2000 && seconds() - start < 8; usleep(100)) {
      void* comm = nullptr;
      const double called = seconds();
      ASSERT_EQ(transport().accept(listening_, &comm, nullptr), nccl::kSuccess) << text_of(take_log());
      ASSERT_EQ(comm, nullptr);
      slowest = std::max(slowest, seconds() - called);
    }
    EXPECT_LT(slowest, 1.0) << "the thread has other connections";
    ASSERT_NO_FATAL_FAILURE(expect_that_the_peer_gets_through(10));
    calls += scanners.calls();
    if (round == 0) memory = resident_kb();
    listen_again();
  }
  printf("%d calls\n", calls);
  EXPECT_GE(calls, 10'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators keep what was freed
  EXPECT_LT(resident_kb() - memory, 4096);
#else
  static_cast<void>(memory);
#endif
  transport().close_listen(std::exchange(listening_, nullptr));
  EXPECT_EQ(open_descriptors(), descriptors_);
}

TEST_F(Hostile, OnlyWhoGotTheHandleIsTakenForAPeerOfAnotherTransport) {
  uint64_t magic = known_.magic ^ uint64_t{1} << 40;
  Caller(handle_).say(&magic, sizeof magic);
  EXPECT_EQ(accept_for(0.1), nccl::kSuccess) << text_of(take_log());
  magic = known_.magic;
  const Caller peer(handle_);
  peer.say(&magic, sizeof magic);
  EXPECT_EQ(accept_for(5), nccl::kRemoteError);
  EXPECT_NE(text_of(take_log()).find("NCCL's own"), std::string::npos);
}

TEST_F(Hostile, SilentCallersThatStayKeepNobodyOut) {
  std::deque<Caller> silent;
  for (int i = 0; i < 100; i++) silent.emplace_back(handle_), accept_for(0);
  expect_that_the_peer_gets_through(10);
}

TEST_F(Hostile, WhateverAStrangerSaysTheListenerWaitsOn) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; i++) {
    Frame f = hello();
    f.cookie ^= 1 + random();  // not ours, whatever else is right
    if (i % 3) seal(&f);
    uint8_t bytes[sizeof f];
    memcpy(bytes, &f, sizeof f);
    if (i % 5 == 0)
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    const Caller caller(handle_);
    caller.say(bytes, i % 7 ? sizeof bytes : random() % sizeof bytes);
    ASSERT_EQ(accept_for(0.001), nccl::kSuccess) << text_of(take_log());
  }
  expect_that_the_peer_gets_through(10);
}

// The cookie is right, so it is the peer, and it is broken: an error, soon.
TEST_F(Hostile, AGreetingWithTheRightCookieAndWrongContentIsAnError) {
  using Change = void (*)(Frame&);
  const Change changes[] = {
      [](Frame& f) { f.wire_version = 2; },
      [](Frame& f) { f.wire_version = 0; },
      [](Frame& f) { f.kind = static_cast<uint16_t>(Kind::kWelcome); },
      [](Frame& f) { f.kind = static_cast<uint16_t>(Kind::kBye); },
      [](Frame& f) { f.kind = 99; },
      [](Frame& f) { f.kind = static_cast<uint16_t>(Kind::kRefusal), memset(f.text, '%', sizeof f.text); },
      [](Frame& f) { f.max_group = 0; },
      [](Frame& f) { f.max_requests = 0; },
      [](Frame& f) { f.name_bytes = 0; },
      [](Frame& f) { f.name_bytes = 0xffffffff; },
      [](Frame& f) { f.name_bytes = ofi::kMaxName; },
      [](Frame& f) { memset(f.provider, 0xff, sizeof f.provider); },
  };
  for (const Change change : changes) {
    Frame f = hello();
    change(f);
    seal(&f);
    const Caller caller(handle_);
    caller.say(&f, sizeof f);
    EXPECT_EQ(accept_for(5), nccl::kRemoteError) << "kind " << f.kind << ", version " << f.wire_version;
    EXPECT_NE(text_of(take_log()).find("WARN"), std::string::npos);
    EXPECT_EQ(accept_for(0.01), nccl::kRemoteError) << "and stays one";
    listen_again();
  }
}

// The peer is killed, or breaks off, at each step after its greeting.
TEST_F(Hostile, APeerThatBreaksOffTheHandshakeIsAnError) {
  for (int step = 0; step < 6; step++) {
    auto caller = std::make_unique<Caller>(handle_);
    const Frame greeting = hello();
    if (step == 0) {
      caller->say(&greeting, 100);  // in the midst of it: nobody knows that it was the peer
      caller.reset();
      EXPECT_EQ(accept_for(0.2), nccl::kSuccess);
      listen_again();
      continue;
    }
    caller->say(&greeting, sizeof greeting);
    if (step == 1) caller.reset();  // before the answer
    void* comm = nullptr;
    Result result = transport().accept(listening_, &comm, nullptr);
    Frame answer{};
    for (int i = 0; i < 2000 && step > 1 && !caller->hear(&answer); i++, usleep(500))
      ASSERT_EQ(result = transport().accept(listening_, &comm, nullptr), nccl::kSuccess);
    Frame confirm = hello();
    confirm.kind = static_cast<uint16_t>(step == 3 ? Kind::kHello : Kind::kConfirm);
    if (step == 4) confirm.bytes = 7;
    seal(&confirm);
    if (step >= 3) caller->say(&confirm, sizeof confirm);
    if (step != 3 && step != 4) caller.reset();  // 2: without a confirmation; 5: right after it
    if (result == nccl::kSuccess) result = accept_for(10);
    EXPECT_EQ(result, nccl::kRemoteError) << "step " << step << "\n" << text_of(take_log());
    listen_again();
  }
}

// The handshake is whole and the endpoint's name leads nowhere.
TEST_F(Hostile, AnEndpointThatIsNowhereIsAnErrorAndNotACrash) {
  for (int form = 0; form < 5; form++) {
    Frame greeting = hello();
    if (form == 1) memset(greeting.name, 0, sizeof greeting.name);
    if (form == 2) memset(greeting.name, 0xff, sizeof greeting.name);
    if (form == 3) greeting.name[0] = AF_INET6;
    if (form == 4) memcpy(greeting.name, handle_, 16);  // the listener's own side channel
    seal(&greeting);
    auto caller = std::make_unique<Caller>(handle_);
    caller->say(&greeting, sizeof greeting);
    Frame answer{};
    Result result = nccl::kSuccess;
    void* comm = nullptr;
    for (int i = 0; i < 2000 && result == nccl::kSuccess && !caller->hear(&answer); i++, usleep(500))
      result = transport().accept(listening_, &comm, nullptr);
    Frame confirm = hello();
    confirm.kind = static_cast<uint16_t>(Kind::kConfirm);
    seal(&confirm);
    caller->say(&confirm, sizeof confirm);
    if (result == nccl::kSuccess) result = accept_for(1);
    caller.reset();
    if (result == nccl::kSuccess) result = accept_for(10);
    EXPECT_NE(result, nccl::kSuccess) << "form " << form << "\n" << text_of(take_log());
    listen_again();
  }
}

// Handles with an address on this host, so that nobody else is called.
TEST_F(Hostile, HandlesFullOfGarbageAreErrorsAndLeaveNothing) {
  std::mt19937 random(3);
  int errors = 0;
  for (int i = 0; i < 2000; i++) {
    alignas(8) uint8_t bytes[nccl::kHandleBytes];
    memcpy(bytes, handle_, sizeof bytes);
    const int kind = i % 4;
    for (size_t at = kind == 0 ? 0 : 32; at < sizeof bytes && kind < 3; at++) bytes[at] = static_cast<uint8_t>(random());
    if (kind == 1) memcpy(bytes + 32, handle_ + 32, 10);  // magic and version are right
    if (kind == 2) memcpy(bytes + 32, handle_ + 32, 8), bytes[40] = 2, bytes[41] = 0;
    if (kind == 3) bytes[32 + random() % 96] ^= static_cast<uint8_t>(1u << random() % 8);
    if (kind == 0) bytes[0] = bytes[1] = 0x77;  // no address family
    void* comm = nullptr;
    Result result = nccl::kSuccess;
    for (const double start = seconds(); result == nccl::kSuccess && !comm && seconds() - start < 0.002;)
      result = transport().connect(context_, 0, bytes, &comm, nullptr);
    ASSERT_EQ(comm, nullptr);
    errors += result != nccl::kSuccess;
    if (i % 50 == 0) (void)transport().accept(listening_, &comm, nullptr), listen_again();
  }
  EXPECT_GT(errors, 900) << "those that are damaged are told at once; those of other transports are told so first";
  transport().close_listen(std::exchange(listening_, nullptr));
  transport().finalize(std::exchange(context_, nullptr));
  EXPECT_EQ(ofi::objects(), 0);
  EXPECT_EQ(open_descriptors(), descriptors_);
}

// ulimit -n reached while connecting: errors that say so, nothing lost, and it goes on once there are descriptors again.
TEST_F(Hostile, RunningOutOfDescriptorsIsAnErrorThatSaysSo) {
  if (!uses("net")) GTEST_SKIP() << "it takes its time";
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  bool has_waited = false;
  for (int more = 0; more < 24; more++) {
    void *send = nullptr, *receive = nullptr;
    const rlimit tight{static_cast<rlim_t>(open_descriptors() + more), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &tight);
    Result sent = nccl::kSuccess, received = nccl::kSuccess;
    const auto is_open = [&] { return (!send || !receive) && sent == nccl::kSuccess && received == nccl::kSuccess; };
    const auto connect_for = [&](double for_s) {
      for (const double start = seconds(); seconds() - start < for_s && is_open();) {
        if (!send) sent = transport().connect(context_, 0, handle_, &send, nullptr);
        if (!receive) received = transport().accept(listening_, &receive, nullptr);
      }
    };
    connect_for(0.3);
    const bool is_stuck = is_open();
    if (is_stuck && !has_waited) connect_for(25), has_waited = true;  // what libfabric does not tell, the timeout does
    setrlimit(RLIMIT_NOFILE, &before);
    const std::string log = text_of(take_log());
    EXPECT_TRUE((send && receive) || (is_stuck && log.empty()) || log.find("ulimit -n") != std::string::npos ||
                log.find("Too many open files") != std::string::npos) << "with " << more << " more: " << log;
    if (send) transport().close_send(send);
    if (receive) transport().close_recv(receive);
    transport().close_listen(std::exchange(listening_, nullptr));
    transport().finalize(context_);  // what connect had begun
    context_ = make_context();
    take_log();
    EXPECT_EQ(open_descriptors(), descriptors_) << "with " << more << " more";
    listen();
  }
  expect_that_the_peer_gets_through(10);
}

}  // namespace
}  // namespace railwitness::ofi_test
