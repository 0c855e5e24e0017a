#include "probes/fabric/readers/ibswinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/fabric/readers/read_data.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Ibswinfo, HealthIsAsSaidAndWhatIsNotSaidIsUnknown) {
  const auto facts = facts_of(read_ibswinfo, text_of("ibswinfo/half_known.txt"));
  ASSERT_THAT(facts.hardware, SizeIs(1));
  const auto& hardware = facts.hardware[0];
  EXPECT_EQ(facts.devices[hardware.device].guid, "00000000000000a1");
  EXPECT_EQ(facts.devices[0].port_count, 36u);
  EXPECT_EQ(hardware.serial_number, "MT0000X00001");
  EXPECT_EQ(hardware.uptime_s, 86410u);
  ASSERT_THAT(hardware.power_supplies, SizeIs(2));
  EXPECT_EQ(hardware.power_supplies[0].watts, 72.5);
  EXPECT_EQ(hardware.power_supplies[0].fan_status, "ERROR");
  EXPECT_EQ(hardware.power_supplies[1].status, "");
  EXPECT_FALSE(hardware.power_supplies[1].watts);
  EXPECT_EQ(hardware.fan_status, "ERROR");
  ASSERT_THAT(hardware.fans, SizeIs(2));
  EXPECT_FALSE(hardware.fans[0].rpm);
  EXPECT_EQ(hardware.fans[1].rpm, 7349u);
  EXPECT_FALSE(hardware.celsius);
  EXPECT_EQ(hardware.max_celsius, 57);
}

TEST(Ibswinfo, WhatIsNoNumberOrNotKnownIsRemarked) {
  EXPECT_THAT(remarks_of(facts_of(read_ibswinfo, text_of("ibswinfo/half_known.txt"))),
              ElementsAre("16: temperature (C): \"warm\" is no number: unknown", HasSubstr("left out: pump")));
}

TEST(Ibswinfo, AnUnknownSwitchIsRefused) {
  EXPECT_THAT(refusal_of(read_ibswinfo, "ports | 36\n"), HasSubstr("no row \"GUID"));
  EXPECT_THAT(refusal_of(read_ibswinfo, "-E- cannot open device\n"), HasSubstr("no row \"NAME"));
  read_every_beginning(read_ibswinfo, text_of("ibswinfo/half_known.txt"), 3);
}

}  // namespace
}  // namespace railwitness::fabric
