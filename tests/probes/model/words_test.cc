#include "probes/model/words.h"

#include <gtest/gtest.h>

namespace railwitness::model {
namespace {

TEST(AddressText, ShowsTheGidOfAnIpv4AddressAsThatAddress) {
  EXPECT_EQ(address_text("0000:0000:0000:0000:0000:ffff:0a00:0004"), "10.0.0.4");
}

TEST(AddressText, ShowsEveryOtherGidAsItIs) {
  EXPECT_EQ(address_text("fe80:0000:0000:0000:0000:0000:0000:0001"), "gid fe80:0000:0000:0000:0000:0000:0000:0001");
  EXPECT_EQ(address_text("nonsense"), "gid nonsense");
}

TEST(Ipv4Text, IsNothingOfAnotherGid) {
  EXPECT_EQ(ipv4_text("0000:0000:0000:0000:0000:ffff:0a00:0004"), "10.0.0.4");
  EXPECT_EQ(ipv4_text("fe80:0000:0000:0000:0000:0000:0000:0001"), std::nullopt);
  EXPECT_EQ(ipv4_text(""), std::nullopt);
}

}  // namespace
}  // namespace railwitness::model
