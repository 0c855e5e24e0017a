#include "probes/bus/inbox.h"

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "probes/bus/bus.h"
#include "probes/bus/subjects.h"

namespace railwitness::bus {
namespace {

std::string facts_of(const std::string& node, int sequence) {
  return fmt::format(R"({{"node":"{}","boot_id":"b","sequence":{},"sidecar_start_mono_ns":5}})", node, sequence);
}

TEST(FactsInbox, TakesANodesFactsFromItsOwnSubjectOnly) {
  FactsInbox inbox;
  const auto heard = inbox.take("railwitness.facts.host1", facts_of("host1", 1), false);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->facts.node, "host1");
  EXPECT_EQ(heard->age_ns, 0);
  EXPECT_FALSE(inbox.take("railwitness.facts.host2", facts_of("host1", 2), false));
  EXPECT_FALSE(inbox.take("railwitness.facts.host1", "no facts", false));
  EXPECT_EQ(inbox.malformed(), 2u);
}

TEST(FactsInbox, HearsNothingTwice) {
  FactsInbox inbox;
  EXPECT_TRUE(inbox.take("railwitness.facts.a", facts_of("a", 4), false));
  EXPECT_FALSE(inbox.take("railwitness.facts.a", facts_of("a", 4), true)) << "the stream says it again";
  EXPECT_EQ(inbox.take("railwitness.facts.a", facts_of("a", 5), true)->age_ns, FleetBus::kBeforeListeningNs);
  EXPECT_EQ(inbox.malformed(), 0u);
}

TEST(FactsInbox, ForgedNamesTakeNoMoreMemoryThanItAllows) {
  FactsInbox inbox;
  EXPECT_TRUE(inbox.take("railwitness.facts.real", facts_of("real", 7), false));
  for (size_t i = 0; i + 1 < FactsInbox::kMaxNames; ++i) {
    const std::string name = fmt::format("n{}", i);
    ASSERT_TRUE(inbox.take(facts_subject(name), facts_of(name, 1), false));
  }
  EXPECT_FALSE(inbox.take("railwitness.facts.real", facts_of("real", 7), true)) << "all names are still known";
  EXPECT_TRUE(inbox.take("railwitness.facts.another", facts_of("another", 1), false));
  EXPECT_TRUE(inbox.take("railwitness.facts.real", facts_of("real", 7), true)) << "all were forgotten";
}

TEST(PingRequests, AreTakenThatAskThisNodeAndNoMoreThanASecondAllows) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) {
    text += fmt::format(R"({}{{"id":{},"from_node":"{}","device":"d","to_node":"x"}})", i ? "," : "", i, i % 10 ? "me" : "other");
  }
  std::vector<model::PingRequest> out;
  take_ping_requests("me", text + "]", out);
  EXPECT_EQ(out.size(), kMaxPingRequests);
  for (const model::PingRequest& request : out) EXPECT_EQ(request.from_node, "me");
  out.clear();
  take_ping_requests("me", "{}", out);
  EXPECT_TRUE(out.empty());
}

}  // namespace
}  // namespace railwitness::bus
