#include "probes/fabric/readers/ethtool_S.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto facts = read_ethtool_s("eth0.txt", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

TEST(EthtoolS, ACounterThatIsLeftOutIsNotKnown) {
  const auto facts = read_ethtool_s("e", "NIC statistics:\n     rx_packets: 7\n     tx0_bytes: 0\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->ports.at(0).counters.size(), 2u);
  EXPECT_EQ(facts->ports.at(0).counters.at("rx_packets").value, 7u);
  EXPECT_FALSE(facts->ports.at(0).counters.contains("rx_crc_errors_phy"));
  EXPECT_TRUE(facts->remarks.empty());
}

TEST(EthtoolS, DiscardsWithPausesOfItsOwnSayThatTheHostDoesNotTakeWhatItReceives) {
  const auto facts = read_ethtool_s(
      "e",
      "rx_discards_phy: 50\nrx_packets_phy: 100\nrx_prio2_discards: 50\ntx_global_pause: 9\nrx_crc_errors_phy: 0\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->remarks.at(0).text,
            "rx_discards_phy 50 of rx_packets_phy 100, all on priority 2, and this host sent 9 global pause frames: it "
            "does not take what it "
            "receives; counters of cable faults stand at 0");
}

TEST(EthtoolS, PausesWithoutLossAreCongestionAndWithoutTheCounterNotJudged) {
  const auto without_loss = read_ethtool_s("e", "rx_prio3_pause: 5\nrx_prio3_buf_discard: 0\n");
  ASSERT_TRUE(without_loss.ok());
  EXPECT_EQ(without_loss->remarks.at(0).text,
            "priority 3 paused, received 5; no buffer overran: congestion without loss");
  const auto unknown = read_ethtool_s("e", "tx_prio3_pause: 5\n");
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->remarks.at(0).text, "priority 3 paused, sent 5; whether buffers overran is not in this output");
}

TEST(EthtoolS, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of("NIC statistics:\nrx_packets 7\n"), "eth0.txt:2: not \"NAME: NUMBER\"");
  EXPECT_EQ(error_of("a: 1\na: 2\n"), "eth0.txt:2: a is there twice: the output of more than one interface");
  EXPECT_EQ(error_of("NIC statistics:\n"), "eth0.txt: no counter in it");
  EXPECT_EQ(error_of("a: -1\n"), "eth0.txt:1: not \"NAME: NUMBER\"");
}

}  // namespace
}  // namespace railwitness::fabric
