#include "probes/fabric/readers/text.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

TEST(Text, GuidsOfEverySpellingAreOne) {
  for (const char* text : {"0x0002c903007b78b0", "2c903007b78b0", "S-0002c903007b78b0", "0002:c903:007b:78b0", " 0x2C903007B78B0 "}) {
    EXPECT_EQ(guid_of(text), "0002c903007b78b0") << text;
  }
  for (const char* text : {"", "0x", "<redacted>", "0xREDACTED", "11112222333344445"}) EXPECT_EQ(guid_of(text), "") << text;
}

TEST(Text, ADescriptionNamesHostAndNicOrNeither) {
  EXPECT_EQ(host_and_nic_of("node-03 mlx5_4").host, "node-03");
  EXPECT_EQ(host_and_nic_of("cache-02 mlx5_1 ").nic, "mlx5_1");
  EXPECT_EQ(host_and_nic_of("gpu7 HCA-2").nic, "HCA-2");
  for (const char* text : {"MT4129 ConnectX7   Mellanox Technologies", "localhost HCA-1", "ubuntu mlx5_0", "leaf-r1", "", "a b c"}) {
    EXPECT_EQ(host_and_nic_of(text).host, "") << text;
    EXPECT_EQ(host_and_nic_of(text).nic, "") << text;
  }
}

TEST(Text, LinesHaveNumbersWhateverEndsThem) {
  Lines lines("a\r\n\nb");
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "a");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "b");
  EXPECT_EQ(lines.number(), 3u);
  EXPECT_FALSE(lines.next(line));
}

TEST(Text, ARefusalNamesFileLineAndReason) {
  EXPECT_EQ(refuse("fabric.txt", 7, "no GUID").message(), "fabric.txt:7: no GUID");
  EXPECT_EQ(refuse("", 0, "empty").message(), "input: empty");
}

}  // namespace
}  // namespace railwitness::fabric
