#include "probes/sidecar/control_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "probes/sidecar/clock.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace railwitness::sidecar {
namespace {

class ControlServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ControlServer::open(path());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::string path() const { return folder_.at("control.sock"); }
  void serve(int64_t later_ns = 0) {
    server_->serve(now_mono_ns() + later_ns, [this] {
      ++asked_;
      return text_;
    });
  }
  // All that comes until the end, serving meanwhile.
  std::string read_all(const ring::UniqueFd& client) {
    std::string all;
    char piece[65536];
    for (int i = 0; i < 10000; ++i) {
      serve();
      const ssize_t got = recv(client.get(), piece, sizeof(piece), MSG_DONTWAIT);
      if (got == 0) return all;
      if (got > 0) all.append(piece, static_cast<size_t>(got));
    }
    return "no end";
  }

  TestFolder folder_;
  std::unique_ptr<ControlServer> server_;
  ControlServer::Text text_ = std::make_shared<const std::string>("{\"node\":\"a\"}\n");
  int asked_ = 0;
};

TEST_F(ControlServerTest, IsForTheOperatorAndHisGroup) {
  struct stat file {};
  ASSERT_EQ(stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0660u);
}

TEST_F(ControlServerTest, GivesTheFactsAndTheEnd) {
  const ring::UniqueFd client = connect_to(path(), SOCK_STREAM);
  EXPECT_EQ(read_all(client), *text_);
  serve();
  EXPECT_EQ(asked_, 1) << "the text is not made when nobody asks";
}

TEST_F(ControlServerTest, GivesALongTextToASlowClient) {
  text_ = std::make_shared<const std::string>(4 << 20, 'x');
  const ring::UniqueFd client = connect_to(path(), SOCK_STREAM);
  EXPECT_EQ(read_all(client).size(), text_->size());
}

TEST_F(ControlServerTest, GivesUpAClientThatDoesNotRead) {
  text_ = std::make_shared<const std::string>(4 << 20, 'x');
  const ring::UniqueFd lazy = connect_to(path(), SOCK_STREAM);
  serve();
  EXPECT_GT(text_.use_count(), 1) << "waits for it";
  serve(ControlServer::kDeadlineNs + kNsPerSecond);
  EXPECT_EQ(text_.use_count(), 1);
}

TEST_F(ControlServerTest, WithoutDescriptorsIsNotReadableAllTheTimeAndServesLater) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "without descriptors UBSan takes every object for a wrong one: it looks at memory through a pipe";
#endif
  const ring::UniqueFd client = connect_to(path(), SOCK_STREAM);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  serve();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  pollfd event{server_->poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0) << "the loop would spin";
  serve(ControlServer::kPauseNs);
  EXPECT_EQ(read_all(client), *text_);
}

TEST_F(ControlServerTest, BoundsItsClients) {
  text_ = std::make_shared<const std::string>(4 << 20, 'x');
  std::vector<ring::UniqueFd> clients;
  for (size_t i = 0; i < 3 * ControlServer::kMaxClients; ++i) {
    clients.push_back(connect_to(path(), SOCK_STREAM));
    serve();
  }
  EXPECT_LE(text_.use_count(), static_cast<long>(ControlServer::kMaxClients) + 1);
  EXPECT_TRUE(is_closed(clients.back(), 1000));
}

}  // namespace
}  // namespace railwitness::sidecar
