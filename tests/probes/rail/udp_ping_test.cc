// Probes over UDP between two services on this machine's loopback: real sockets, no privileges. Whether a packet really
// crosses the interface's own wire is for the bed of network namespaces (tests/netns) to say.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "probes/rail/message.h"
#include "probes/rail/ping_service.h"
#include "railwitness/base/clock.h"

namespace railwitness::rail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UdpPing : public testing::Test {
 protected:
  UdpPing() {
    asking_.open({}, {"lo"});
    answering_.open({}, {"lo"});
  }
  void SetUp() override {
    ASSERT_THAT(asking_.problems(), IsEmpty());
    ASSERT_THAT(answering_.ports(), SizeIs(1));
  }

  model::PingRequest request(const std::string& to_node) const {
    model::PingRequest request;
    request.id = 7;
    request.from_node = "host0";
    request.device = "lo";
    request.to_node = to_node;
    request.to = answering_.ports().at(0);
    return request;
  }
  // Both services run until the probe has ended.
  model::Ping run(const model::PingRequest& request) {
    EXPECT_TRUE(asking_.start(request, now_mono_ns()).ok());
    for (int i = 0; i < 400; ++i) {
      answering_.tick(now_mono_ns());
      const auto ended = asking_.tick(now_mono_ns());
      if (!ended.empty()) return ended[0];
      pollfd events[2] = {{asking_.poll_fd(), POLLIN, 0}, {answering_.poll_fd(), POLLIN, 0}};
      poll(events, 2, 20);
    }
    ADD_FAILURE() << "the probe does not end";
    return {};
  }

  PingService asking_{"host0"}, answering_{"host1"};
};

TEST_F(UdpPing, AnnouncesAPortAndItsAddress) {
  const model::PingPort port = answering_.ports().at(0);
  EXPECT_EQ(port.device, "lo");
  EXPECT_EQ(port.gid, "0000:0000:0000:0000:0000:ffff:7f00:0001");
  EXPECT_NE(port.udp_port, 0);
  EXPECT_EQ(port.qpn, 0u);
}

TEST_F(UdpPing, IsAnsweredByTheNodeThatIsMeant) {
  const model::Ping ping = run(request("host1"));
  EXPECT_EQ(ping.problem, "");
  EXPECT_EQ(ping.sent, PingService::kPackets);
  EXPECT_EQ(ping.received, PingService::kPackets);
  EXPECT_TRUE(ping.rtt_ns.has_value());
  EXPECT_EQ(answering_.answered(), PingService::kPackets);
}

TEST_F(UdpPing, IsNotAnsweredByAnotherNodeAtThatAddress) {
  const model::Ping ping = run(request("host7"));
  EXPECT_EQ(ping.problem, "");
  EXPECT_EQ(ping.received, 0u);
  EXPECT_EQ(answering_.refused(), PingService::kPackets);
}

TEST_F(UdpPing, CannotReachAQueuePair) {
  model::PingRequest to_verbs = request("host1");
  to_verbs.to.udp_port = 0;
  to_verbs.to.qpn = 17;
  EXPECT_THAT(run(to_verbs).problem, HasSubstr("not over UDP"));
  model::PingRequest without_address = request("host1");
  without_address.to.gid.clear();
  EXPECT_THAT(run(without_address).problem, HasSubstr("no address"));
}

TEST_F(UdpPing, StrangersPacketsAreIgnored) {
  const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(answering_.ports().at(0).udp_port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto send_bytes = [&](const void* bytes, size_t length) {
    EXPECT_EQ(sendto(stranger, bytes, length, 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
              static_cast<ssize_t>(length));
  };
  char junk[9000];
  std::memset(junk, 0x5a, sizeof(junk));
  send_bytes(junk, 0);
  send_bytes(junk, kMessageBytes);
  send_bytes(junk, sizeof(junk));
  // A pong that nobody asked for, and a ping that is one byte too long.
  const auto pong = encode_message({MessageKind::kPong, 0, 7, 1, "host1", "host0"});
  send_bytes(pong.data(), pong.size());
  char longer[kMessageBytes + 1] = {};
  const auto ping = encode_message({MessageKind::kPing, 0, 7, 1, "host0", "host1"});
  std::memcpy(longer, ping.data(), ping.size());
  send_bytes(longer, sizeof(longer));
  close(stranger);
  answering_.tick(now_mono_ns());
  EXPECT_EQ(answering_.answered(), 0u);
  EXPECT_EQ(run(request("host1")).received, PingService::kPackets) << "and it goes on";
}

TEST_F(UdpPing, AnswersAreBoundedInAnySecond) {
  const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(answering_.ports().at(0).udp_port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto ping = encode_message({MessageKind::kPing, 0, 7, 1, "host0", "host1"});
  const int64_t moment = now_mono_ns();
  for (int i = 0; i < 3000; ++i) {
    sendto(stranger, ping.data(), ping.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
    if (i % 50 == 49) answering_.tick(moment);
  }
  close(stranger);
  EXPECT_LE(answering_.answered(), PingService::kAnswersPerSecond);
  EXPECT_GT(answering_.refused(), 0u);
}

TEST(UdpPingPort, AnInterfaceThatIsNotThereIsAProblemInWords) {
  PingService service("host0");
  service.open({}, {"no_such_eth"});
  EXPECT_THAT(service.problems(), ElementsAre("no network interface no_such_eth"));
  EXPECT_THAT(service.ports(), IsEmpty());
  service.open({}, {"lo"});
  EXPECT_THAT(service.problems(), IsEmpty());
  EXPECT_THAT(service.ports(), SizeIs(1));
  service.open({}, {});
  EXPECT_THAT(service.ports(), IsEmpty());
}

}  // namespace
}  // namespace railwitness::rail
