#include "tests/plugin/ofi/driver.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace railwitness::ofi_test {
namespace {

class Transfers : public testing::Test {
 protected:
  void SetUp() override {
    take_log();
    pair = connect_pair(make_context());
    ASSERT_TRUE(pair.send && pair.receive);
  }
  void TearDown() override {
    close_pair(&pair);
    EXPECT_EQ(transport().finalize(pair.context), nccl::kSuccess);
    const std::string log = text_of(take_log());
    EXPECT_TRUE(may_warn || log.find("WARN") == std::string::npos) << log;
  }
  Pair pair;
  bool may_warn = false;
};

TEST_F(Transfers, DataOfEverySizeArrivesWhole) {
  for (const size_t bytes : {0, 1, 7, 63, 64, 65, 4096, 16384, 16385, 65536, 1 << 20, (9 << 20) + 3}) {
    const std::vector<uint8_t> data = pattern(bytes, static_cast<unsigned>(bytes) + 1);
    std::vector<uint8_t> got(bytes + 32, 0xee);
    void* receiving = receive(pair, got.data(), bytes + 16, 7);
    void* sending = send_until_taken(pair, data.data(), bytes, 7);
    ASSERT_TRUE(receiving && sending);
    int sent = -1;
    std::array<int, 64> received;
    received.fill(-1);
    finish(sending, receiving, &sent, received.data());
    EXPECT_EQ(sent, static_cast<int>(bytes));
    EXPECT_EQ(received[0], static_cast<int>(bytes));
    EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin())) << bytes;
    EXPECT_EQ(got[bytes], 0xee) << "nothing is written behind the message of " << bytes;
  }
}

TEST_F(Transfers, ASendThatNobodyWaitsForIsANullRequest) {
  uint8_t byte = 1;
  for (int i = 0; i < 1000; i++) {
    void* request = &byte;
    ASSERT_EQ(transport().isend(pair.send, &byte, 1, 3, nullptr, nullptr, &request), nccl::kSuccess);
    ASSERT_EQ(request, nullptr);
  }
}

TEST_F(Transfers, ASendWithAnotherTagIsANullRequestUntilItsOwnReceiveIsThere) {
  uint8_t out = 9, in[2] = {};
  void* first = receive(pair, &in[0], 1, 1);
  void* request = nullptr;
  for (int i = 0; i < 200; i++) {
    ASSERT_EQ(transport().isend(pair.send, &out, 1, 2, nullptr, nullptr, &request), nccl::kSuccess);
    ASSERT_EQ(request, nullptr);
  }
  void* second = receive(pair, &in[1], 1, 2);
  finish(send_until_taken(pair, &out, 1, 2), second, nullptr, nullptr);
  EXPECT_EQ(in[1], 9);
  EXPECT_EQ(in[0], 0);
  finish(send_until_taken(pair, &out, 1, 1), first, nullptr, nullptr);
  EXPECT_EQ(in[0], 9);
}

TEST_F(Transfers, AGroupOfReceivesTakesItsMessagesInAnyOrder) {
  constexpr int kParts = 8;
  std::array<std::vector<uint8_t>, kParts> in;
  void *data[kParts], *mrs[kParts] = {};
  size_t sizes[kParts];
  int tags[kParts];
  for (int i = 0; i < kParts; i++) {
    in[i].assign(100'000, 0);
    data[i] = in[i].data();
    sizes[i] = in[i].size();
    tags[i] = 100 + i;
  }
  void* receiving = nullptr;
  ASSERT_EQ(transport().irecv(pair.receive, kParts, data, sizes, tags, mrs, nullptr, &receiving), nccl::kSuccess);
  ASSERT_NE(receiving, nullptr);
  std::array<std::vector<uint8_t>, kParts> out;
  std::array<int, 64> received;
  received.fill(-1);
  bool done = false;
  for (const int i : {5, 0, 7, 2, 1, 6, 4, 3}) {
    out[i] = pattern(static_cast<size_t>(i) * 13'000, static_cast<unsigned>(i));
    void* sending = send_until_taken(pair, out[i].data(), out[i].size(), 100 + i);
    ASSERT_NE(sending, nullptr);
    EXPECT_FALSE(done);
    while (sending) {  // the group may become done with the last one only
      if (test_once(sending, nullptr)) sending = nullptr;
      if (!done) done = test_once(receiving, received.data());
    }
  }
  const double start = seconds();
  while (!done && seconds() - start < 20) done = test_once(receiving, received.data());
  ASSERT_TRUE(done);
  for (int i = 0; i < kParts; i++) {
    EXPECT_EQ(received[i], static_cast<int>(out[i].size())) << i;
    EXPECT_TRUE(std::equal(out[i].begin(), out[i].end(), in[i].begin())) << i;
  }
}

TEST_F(Transfers, EqualTagsMeetInTheOrderOfPosting) {
  uint8_t in[6] = {}, out[6] = {1, 2, 3, 4, 5, 6};
  void* receiving[6];
  for (int i = 0; i < 6; i++) receiving[i] = receive(pair, &in[i], 1, 4);
  void* sending[6];
  for (int i = 0; i < 6; i++) sending[i] = send_until_taken(pair, &out[i], 1, 4);
  for (int i = 5; i >= 0; i--) finish(sending[i], receiving[i], nullptr, nullptr);
  EXPECT_TRUE(std::equal(in, in + 6, out));
}

TEST_F(Transfers, SizesMayBeNull) {
  uint8_t in = 0, out = 5;
  void* receiving = receive(pair, &in, 1, 0);
  finish(send_until_taken(pair, &out, 1, 0), receiving, nullptr, nullptr);
  EXPECT_EQ(in, 5);
}

TEST_F(Transfers, RequestsAreDoneInAnyOrder) {
  const std::vector<uint8_t> big = pattern(3 << 20, 1);
  std::vector<uint8_t> big_in(big.size());
  uint8_t small = 7, small_in = 0;
  void* big_receiving = receive(pair, big_in.data(), big_in.size(), 1);
  void* small_receiving = receive(pair, &small_in, 1, 2);
  void* small_sending = send_until_taken(pair, &small, 1, 2);  // the later receive is served first
  finish(small_sending, small_receiving, nullptr, nullptr);
  EXPECT_EQ(small_in, 7);
  finish(send_until_taken(pair, big.data(), big.size(), 1), big_receiving, nullptr, nullptr);
  EXPECT_EQ(big, big_in);
}

TEST_F(Transfers, ReceivesBeyondTheLimitAreNullRequestsAndGoOnLater) {
  std::array<uint8_t, 64> in{};
  std::vector<void*> receiving;
  for (size_t i = 0; i < in.size(); i++) {
    void* request = receive(pair, &in[i], 1, 0);
    if (request) receiving.push_back(request);
  }
  ASSERT_EQ(receiving.size(), 32u);
  uint8_t out = 3;
  for (void* request : receiving) finish(send_until_taken(pair, &out, 1, 0), request, nullptr, nullptr);
  void* again = receive(pair, &in[0], 1, 0);
  ASSERT_NE(again, nullptr);
  finish(send_until_taken(pair, &out, 1, 0), again, nullptr, nullptr);
}

TEST_F(Transfers, AMessageLargerThanItsReceiveIsAnErrorThatNamesBoth) {
  may_warn = true;
  std::vector<uint8_t> in(100), out(200);
  ASSERT_NE(receive(pair, in.data(), in.size(), 11), nullptr);
  void* request = nullptr;
  Result result = nccl::kSuccess;
  const double start = seconds();
  while (!request && result == nccl::kSuccess && seconds() - start < 10)
    result = transport().isend(pair.send, out.data(), out.size(), 11, nullptr, nullptr, &request);
  EXPECT_EQ(result, nccl::kInternalError);
  EXPECT_EQ(request, nullptr);
  const std::string log = text_of(take_log());
  EXPECT_NE(log.find("200 bytes"), std::string::npos) << log;
  EXPECT_NE(log.find("100 bytes"), std::string::npos) << log;
  EXPECT_NE(log.find("tag 11"), std::string::npos) << log;
}

TEST_F(Transfers, MemoryIsRegisteredWhileDataMoves) {
  std::atomic<bool> over{false};
  std::atomic<int> registered{0};
  std::vector<uint8_t> region(1 << 20);
  std::thread service([&] {
    while (!over) {
      for (void* comm : {pair.send, pair.receive}) {
        void* mr = nullptr;
        EXPECT_EQ(transport().register_memory(comm, region.data(), region.size(), nccl::kPtrHost, &mr), nccl::kSuccess);
        EXPECT_NE(mr, nullptr);
        EXPECT_EQ(transport().deregister(comm, mr), nccl::kSuccess);
        registered++;
      }
      std::this_thread::yield();
    }
  });
  const std::vector<uint8_t> out = pattern(200'000, 3);
  std::vector<uint8_t> in(out.size());
  const int before = registered;
  for (int i = 0; i < 100 || registered < before + 10; i++) {  // the service thread may start late
    void* receiving = receive(pair, in.data(), in.size(), 0);
    finish(send_until_taken(pair, out.data(), out.size(), 0), receiving, nullptr, nullptr);
  }
  over = true;
  service.join();
  EXPECT_EQ(in, out);
}

TEST_F(Transfers, SeveralThreadsMoveDataOnConnectionsOfOneDevice) {
  constexpr int kThreads = 4;
  std::vector<Pair> pairs;
  for (int i = 0; i < kThreads; i++) pairs.push_back(connect_pair(pair.context));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 30; round++) {
        const std::vector<uint8_t> out = pattern(static_cast<size_t>(round * 3000 + i), static_cast<unsigned>(i));
        std::vector<uint8_t> in(out.size());
        void* receiving = receive(pairs[i], in.data(), in.size(), i);
        finish(send_until_taken(pairs[i], out.data(), out.size(), i), receiving, nullptr, nullptr);
        EXPECT_EQ(in, out);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (Pair& p : pairs) close_pair(&p);
}

TEST_F(Transfers, DeviceMemoryIsNotTaken) {
  void* mr = &mr;
  EXPECT_NE(transport().register_memory(pair.send, &mr, 8, nccl::kPtrCuda, &mr), nccl::kSuccess);
  EXPECT_EQ(mr, nullptr);
}

TEST_F(Transfers, BothEndsNameTheSameConnection) {
  engine::Ends a, b;
  transport().describe(pair.send, true, &a);
  transport().describe(pair.receive, false, &b);
  EXPECT_NE(a.number, 0u);
  EXPECT_NE(a.number, b.number);
  EXPECT_EQ(a.number, b.peer_number);
  EXPECT_EQ(b.number, a.peer_number);
  EXPECT_TRUE(std::equal(a.gid, a.gid + 16, b.peer_gid));
  EXPECT_TRUE(std::equal(b.gid, b.gid + 16, a.peer_gid));
  const uint8_t loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  EXPECT_TRUE(std::equal(a.gid, a.gid + 16, loopback));
  EXPECT_EQ(a.device, 0);
}

}  // namespace
}  // namespace railwitness::ofi_test
