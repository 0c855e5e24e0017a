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

}  // namespace
}  // namespace railwitness::model
