#include "probes/fabric/readers/gid_table.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

constexpr std::string_view kHead = "DEV\tPORT\tINDEX\tGID\t\t\tIPv4\tVER\tDEV\n---\t----\t-----\t---\t----\t---\t---\n";

std::string error_of(const std::string& bytes) {
  const auto facts = read_gid_table("gids.txt", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

TEST(GidTable, TheIndexOfRoutableRoceV2IsFoundWhereverItStands) {
  const auto facts =
      read_gid_table("g", std::string("$ show_gids\n") + std::string(kHead) +
                              "mlx5_0\t1\t4\tfe80:0000:0000:0000:0000:00ff:fe00:1122\t\t\tv2\teth0\n"
                              "mlx5_0\t1\t5\t2001:0db8:0000:0000:0000:0000:0000:0001\t\t\tv2\teth0\n"
                              "mlx5_0\t1\t6\t0000:0000:0000:0000:0000:ffff:0a00:0110\t10.0.1.16  \tv1\teth0\n"
                              "mlx5_0\t1\t7\t0000:0000:0000:0000:0000:FFFF:0a00:0110\t10.0.1.16  \tv2\n"
                              "n_gids_found=5\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(routable_roce_v2(*facts, "mlx5_0", 1), (std::vector<uint32_t>{7, 5}));
  EXPECT_TRUE(routable_roce_v2(*facts, "mlx5_1", 1).empty());
  EXPECT_TRUE(facts->entries.at(0).link_local);
  EXPECT_EQ(facts->entries.at(3).gid, "0000:0000:0000:0000:0000:ffff:0a00:0110");
  EXPECT_EQ(facts->remarks.at(0).text, "5 GIDs are said, 4 are there");
}

TEST(GidTable, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of("hello\n"), "gids.txt: no head \"DEV PORT INDEX GID\": no output of show_gids");
  EXPECT_EQ(error_of(std::string(kHead) + "mlx5_0\t1\n"), "gids.txt:3: fewer than five columns");
  EXPECT_EQ(error_of(std::string(kHead) + "mlx5_0\t1\tx\tfe80::1\tv2\n"), "gids.txt:3: not DEV PORT INDEX GID");
  EXPECT_EQ(error_of(std::string(kHead) + "m\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:1122\tv3\n"),
            "gids.txt:3: neither v1 nor v2 behind the GID");
}

}  // namespace
}  // namespace railwitness::fabric
