#include "probes/fabric/readers/sysfs_infiniband.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using model::PortState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class Sysfs : public testing::Test {
 protected:
  const model::FabricFacts facts_ = facts_of(read_sysfs_infiniband, text_of("sysfs_infiniband/two_nics.txt"));
};

TEST_F(Sysfs, AnInfiniBandPortHasLanesGidsAndCounters) {
  ASSERT_THAT(facts_.ports, SizeIs(4));
  const auto& port = facts_.ports[0];
  EXPECT_EQ(facts_.devices[0].host, "node-01");
  EXPECT_EQ(facts_.devices[0].guid, "00000000000000b0");
  EXPECT_EQ(facts_.devices[0].device_id, 4129u);
  EXPECT_EQ(port.state, PortState::kUp);
  EXPECT_EQ(port.lanes, 4u);
  EXPECT_EQ(port.lane_mbps, 106250u);
  EXPECT_EQ(port.rate_mbps, 400000u);
  EXPECT_EQ(port.lid, 31u);
  EXPECT_EQ(port.lmc, 1u);
  EXPECT_THAT(port.gids, ElementsAre("fe80:0000:0000:0000:0000:0000:0000:00b1"));
}

TEST_F(Sysfs, CountersOfBothDirectoriesStayApartAndMissingOnesAreNotZero) {
  const auto& counters = facts_.ports[0].counters;
  EXPECT_TRUE(counters.at("link_downed").saturated);
  EXPECT_FALSE(counters.at("hw_counters/link_downed").saturated);
  EXPECT_FALSE(counters.at("port_xmit_data").saturated);
  EXPECT_EQ(counters.count("symbol_error"), 0u);
  EXPECT_EQ(counters.count("hw_counters/lifespan"), 0u);
}

TEST_F(Sysfs, OnEthernetTheNameOfASpeedIsNotBelieved) {
  EXPECT_EQ(facts_.devices[1].nic, "rocep1s0");
  EXPECT_EQ(facts_.ports[1].rate_mbps, 200000u);
  EXPECT_FALSE(facts_.ports[1].lanes);
}

TEST_F(Sysfs, APortThatIsNotUpHasNoRate) {
  EXPECT_EQ(facts_.ports[2].state, PortState::kDisabled);
  EXPECT_FALSE(facts_.ports[2].rate_mbps);
}

TEST_F(Sysfs, NumberAndWordThatDisagreeAreNotBelieved) {
  EXPECT_EQ(facts_.ports[3].state, PortState::kUnknown);
  EXPECT_THAT(remarks_of(facts_), ElementsAre(HasSubstr("25: state reads \"4: DOWN\"")));
}

TEST_F(Sysfs, NonsenseIsRefused) {
  EXPECT_THAT(refusal_of(read_sysfs_infiniband, "mlx5_0/ports/1/counters/link_downed:many"), HasSubstr("file:1: counter link_downed: many"));
  EXPECT_THAT(refusal_of(read_sysfs_infiniband, "mlx5_0/ports/999/rate:10 Gb/sec"), HasSubstr("file:1: port 999"));
  EXPECT_THAT(refusal_of(read_sysfs_infiniband, "grep: no\n"), HasSubstr("no file of a device"));
  read_every_beginning(read_sysfs_infiniband, text_of("sysfs_infiniband/two_nics.txt"), 3);
}

}  // namespace
}  // namespace railwitness::fabric
