#include "probes/bus/bus.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "probes/bus/subjects.h"
#include "tests/probes/bus/server.h"

namespace railwitness::bus {
namespace {

using testing::HasSubstr;

model::NodeFacts facts_of(const std::string& node, uint64_t sequence) {
  model::NodeFacts facts;
  facts.node = node;
  facts.boot_id = "boot";
  facts.sequence = sequence;
  return facts;
}

class BusWithServer : public testing::Test {
 protected:
  void SetUp() override {
    if (Server::binary().empty()) GTEST_SKIP() << "no nats-server here";
  }
  static bool connected(const auto& bus) {
    return wait_until([&] { return bus->connection() == Connection::kConnected; });
  }
};

TEST(Subjects, NameOfANodeIsOneToken) {
  EXPECT_EQ(facts_subject("host-1_a"), "railwitness.facts.host-1_a");
  EXPECT_EQ(facts_subject("h.example.net"), "railwitness.facts.h%2Eexample%2Enet");
  EXPECT_EQ(probe_subject("a b*>"), "railwitness.probe.a%20b%2A%3E");
  EXPECT_EQ(facts_subject(""), "railwitness.facts.%");
}

TEST(Subjects, UrlsThatCannotBeOneAreRefusedWithTheReason) {
  for (const char* good : {"nats://127.0.0.1:4222", "127.0.0.1", "tls://user:secret@nats.example:4443",
                           "nats://[::1]:4222", "nats://a:1,nats://b:2"}) {
    EXPECT_TRUE(check_url(good).ok()) << good;
  }
  for (const char* bad : {"", "http://x:1", "nats://", "nats://host:0", "nats://host:99999", "nats://host:4222x",
                          "nats://a b:1", "nats://a:1,"}) {
    const absl::Status status = check_url(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no URL of a nats-server"));
  }
}

TEST(Subjects, SecretsAreNotShown) {
  EXPECT_EQ(shown_url("nats://user:secret@host:4222"), "nats://host:4222");
  EXPECT_EQ(shown_url("user:secret@nats://other:secret@host"), "host") << "a scheme in the middle is none";
  EXPECT_THAT(std::string(check_url("http://user:secret@host").message()), testing::Not(HasSubstr("secret")));
}

TEST(Subjects, HostIsWhatStandsBetweenUserAndPort) {
  for (const auto& [url, host] : std::vector<std::pair<const char*, const char*>>{
           {"foo", "foo"}, {"nats://a.b:1/", "a.b"}, {"tls://u:p@h:4222", "h"}, {"nats://[::1]:4222", "::1"}, {"[::1]", "::1"}}) {
    EXPECT_EQ(host_of(url), host) << url;
  }
}

TEST(Bus, HostWithoutAddressIsNotAServerToStart) {
  for (const char* url : {"nats://nohost.invalid:4222", "user:secret@nohost.invalid"}) {
    auto bus = open_fleet_bus(url);
    ASSERT_TRUE(bus.ok());
    EXPECT_TRUE(wait_until([&] { return (*bus)->problem().find("connecting") != 0; }, 60));
    EXPECT_THAT((*bus)->problem(), HasSubstr("host 'nohost.invalid' cannot be resolved: "));
    EXPECT_THAT((*bus)->problem(), HasSubstr("correct its name, or name another with --nats"));
    EXPECT_THAT((*bus)->problem(), testing::Not(testing::AnyOf(HasSubstr("nats-server -js"), HasSubstr("secret"))));
  }
}

TEST(Bus, MissingServerIsAStatusWithTheWayOut) {
  Server server;  // never started
  auto bus = open_node_bus(server.url(), "host1");
  ASSERT_TRUE(bus.ok());
  EXPECT_TRUE(wait_until([&] { return (*bus)->problem().find("no nats-server at " + server.url()) == 0; }));
  EXPECT_THAT((*bus)->problem(), HasSubstr("start it with `nats-server -js`, or run without --nats"));
  EXPECT_EQ((*bus)->connection(), Connection::kConnecting);
  EXPECT_EQ((*bus)->publish(facts_of("host1", 1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*bus)->lost(), 1u);
}

TEST_F(BusWithServer, ServerWithoutJetStreamIsNamed) {
  Server server(false);
  server.start();
  auto bus = open_fleet_bus(server.url());
  ASSERT_TRUE(bus.ok());
  EXPECT_TRUE(wait_until([&] { return (*bus)->problem().find("without JetStream") != std::string::npos; }));
  EXPECT_THAT((*bus)->problem(), HasSubstr("nats-server -js"));
}

TEST_F(BusWithServer, FactsAndPingRequestsTravel) {
  Server server;
  server.start();
  auto node = open_node_bus(server.url(), "host.1");
  auto fleet = open_fleet_bus(server.url());
  ASSERT_TRUE(connected(*node) && connected(*fleet));
  EXPECT_EQ((*node)->problem(), "");
  ASSERT_TRUE((*node)->publish(facts_of("host.1", 1)).ok());
  std::vector<model::Heard> heard;
  ASSERT_TRUE(wait_until([&] { return !(heard = (*fleet)->take_facts()).empty(); }));
  EXPECT_EQ(heard[0].facts.node, "host.1");
  EXPECT_EQ(heard[0].age_ns, 0);

  model::PingRequest request;
  request.id = 9;
  request.from_node = "host.1";
  request.to_node = "host.2";
  request.to.qpn = 17;
  ASSERT_TRUE((*fleet)->request_pings({request}).ok());
  std::vector<model::PingRequest> asked;
  ASSERT_TRUE(wait_until([&] { return !(asked = (*node)->take_ping_requests()).empty(); }));
  EXPECT_EQ(asked[0].id, 9u);
  EXPECT_EQ(asked[0].to.qpn, 17u);
  EXPECT_TRUE((*fleet)->publish_incident("{}").ok());
}

TEST_F(BusWithServer, OnlyTheNewestFactsOfANodeAreHandedOver) {
  Server server;
  server.start();
  auto node = open_node_bus(server.url(), "host1");
  auto fleet = open_fleet_bus(server.url());
  ASSERT_TRUE(connected(*node) && connected(*fleet));
  for (uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE((*node)->publish(facts_of("host1", i)).ok());
  uint64_t last = 0;
  EXPECT_TRUE(wait_until([&] {
    for (const model::Heard& heard : (*fleet)->take_facts()) last = heard.facts.sequence;
    return last == 20;
  }));
}

TEST_F(BusWithServer, WhatWasSaidBeforeIsHeardAsOld) {
  Server server;
  server.start();
  auto node = open_node_bus(server.url(), "host1");
  ASSERT_TRUE(connected(*node));
  ASSERT_TRUE((*node)->publish(facts_of("host1", 1)).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  auto fleet = open_fleet_bus(server.url());
  std::vector<model::Heard> heard;
  ASSERT_TRUE(wait_until([&] { return !(heard = (*fleet)->take_facts()).empty(); }));
  EXPECT_EQ(heard[0].age_ns, FleetBus::kBeforeListeningNs);
}

TEST_F(BusWithServer, KilledServerThatReturnsIsFoundAndItsStreamsAreMadeAgain) {
  Server server;
  server.start();
  auto node = open_node_bus(server.url(), "host1");
  auto fleet = open_fleet_bus(server.url());
  ASSERT_TRUE(connected(*node) && connected(*fleet));
  server.stop();
  ASSERT_TRUE(wait_until([&] { return (*node)->connection() == Connection::kConnecting; }));
  ASSERT_TRUE(wait_until([&] { return (*fleet)->connection() == Connection::kConnecting; }));
  EXPECT_FALSE((*node)->publish(facts_of("host1", 1)).ok());
  EXPECT_THAT((*fleet)->problem(), HasSubstr("start it with `nats-server -js`"));
  server.start();
  ASSERT_TRUE(connected(*node) && connected(*fleet));
  uint64_t sequence = 1, last = 0;
  EXPECT_TRUE(wait_until([&] {
    (void)(*node)->publish(facts_of("host1", ++sequence));
    for (const model::Heard& heard : (*fleet)->take_facts()) last = heard.facts.sequence;
    return last >= 2;
  }));
}

TEST_F(BusWithServer, FrozenServerIsNoticedAndNothingBlocks) {
  Server server;
  server.start();
  auto node = open_node_bus(server.url(), "host1");
  ASSERT_TRUE(connected(*node));
  server.freeze(true);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_until([&] { return !(*node)->publish(facts_of("host1", 1)).ok(); }, 30));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  server.freeze(false);
  EXPECT_TRUE(connected(*node));
}

TEST_F(BusWithServer, MalformedAndForgedFactsAreCounted) {
  Server server;
  server.start();
  auto liar = open_node_bus(server.url(), "host1");
  auto fleet = open_fleet_bus(server.url());
  ASSERT_TRUE(connected(*liar) && connected(*fleet));
  ASSERT_TRUE((*liar)->publish(facts_of("host2", 1)).ok());  // on the subject of host1
  EXPECT_TRUE(wait_until([&] {
    EXPECT_TRUE((*fleet)->take_facts().empty());
    return (*fleet)->malformed() == 1;
  }));
}

}  // namespace
}  // namespace railwitness::bus
