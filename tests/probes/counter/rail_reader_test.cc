#include "probes/counter/rail_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railwitness::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;
constexpr char kZero[] = "0000:0000:0000:0000:0000:0000:0000:0000\n";

class RailReaderTest : public testing::Test {
 protected:
  RailReaderTest() : root_(std::filesystem::temp_directory_path() / ("sysfs_" + std::to_string(getpid()))) {}
  ~RailReaderTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / "class/infiniband" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // The shape of a ConnectX port on Ethernet.
  void write_mlx5(const std::string& device) {
    write(device + "/ports/1/state", "4: ACTIVE\n");
    write(device + "/ports/1/phys_state", "5: LinkUp\n");
    write(device + "/ports/1/link_layer", "Ethernet\n");
    write(device + "/ports/1/lid", "0x0\n");
    write(device + "/ports/1/gids/0", "fe80:0000:0000:0000:0e42:a1ff:fe00:1122\n");
    write(device + "/ports/1/gids/1", kZero);
    write(device + "/ports/1/gids/10", "0000:0000:0000:0000:0000:ffff:0a00:0110\n");
    write(device + "/ports/1/gid_attrs/ndevs/0", "ens1f0np0\n");
    write(device + "/ports/1/counters/link_downed", "3\n");
    write(device + "/ports/1/counters/port_xmit_data", "18446744073709551615");
    write(device + "/ports/1/hw_counters/out_of_sequence", "17\n");
    write(device + "/ports/1/hw_counters/lifespan", "12\n");
  }

  std::filesystem::path root_;
};

TEST(ParseState, DropsTheNumber) {
  EXPECT_EQ(parse_state("4: ACTIVE"), "ACTIVE");
  EXPECT_EQ(parse_state("5: LinkUp"), "LinkUp");
  EXPECT_EQ(parse_state("ACTIVE"), "ACTIVE");
  EXPECT_EQ(parse_state(""), "");
}

TEST_F(RailReaderTest, ReadsAPortOfEthernet) {
  write_mlx5("mlx5_0");
  const std::vector<model::Rail> rails = RailReader(root_).read({"mlx5_0"}, kSecond);
  ASSERT_THAT(rails, SizeIs(1));
  const model::Rail& rail = rails[0];
  EXPECT_EQ(rail.index, 0);
  EXPECT_EQ(rail.state, "ACTIVE");
  EXPECT_EQ(rail.phys_state, "LinkUp");
  EXPECT_EQ(rail.link_layer, "Ethernet");
  EXPECT_EQ(rail.netdev, "ens1f0np0");
  EXPECT_EQ(rail.state_since_mono_ns, kSecond);
  EXPECT_THAT(rail.gids,
              ElementsAre("fe80:0000:0000:0000:0e42:a1ff:fe00:1122", "0000:0000:0000:0000:0000:ffff:0a00:0110"));
  EXPECT_EQ(rail.counters.at("link_downed"), 3u);
  EXPECT_EQ(rail.counters.at("port_xmit_data"), UINT64_MAX);
  EXPECT_EQ(rail.counters.at("out_of_sequence"), 17u);
  EXPECT_FALSE(rail.counters.contains("lifespan"));
}

TEST_F(RailReaderTest, NumbersRailsInNaturalOrder) {
  for (const char* device : {"mlx5_10", "mlx5_2", "mlx5_0"}) write_mlx5(device);
  RailReader reader(root_);
  EXPECT_THAT(reader.devices(), ElementsAre("mlx5_0", "mlx5_2", "mlx5_10"));
  const std::vector<model::Rail> rails = reader.read({"mlx5_10", "mlx5_2", "mlx5_0"}, 0);
  ASSERT_THAT(rails, SizeIs(3));
  EXPECT_EQ(rails[1].device, "mlx5_2");
  EXPECT_EQ(rails[2].device, "mlx5_10");
  EXPECT_EQ(rails[2].index, 2);
}

TEST_F(RailReaderTest, ReadsSoftRoceWithItsCountersAndParent) {
  write("rxe_h0r0/ports/1/state", "4: ACTIVE\n");
  write("rxe_h0r0/ports/1/link_layer", "Ethernet\n");
  write("rxe_h0r0/ports/1/hw_counters/retry_exceeded_err", "2\n");
  write("rxe_h0r0/parent", "h0r0\n");
  const std::vector<model::Rail> rails = RailReader(root_).read({"rxe_h0r0"}, 0);
  EXPECT_EQ(rails.at(0).netdev, "h0r0");
  EXPECT_THAT(rails.at(0).counters, SizeIs(1));
}

TEST_F(RailReaderTest, ReadsAPortOfInfiniBandWithoutANetdev) {
  write("mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("mlx5_0/ports/1/link_layer", "InfiniBand\n");
  write("mlx5_0/ports/1/lid", "0x1a2\n");
  write("mlx5_0/device/net/ibs1/ifindex", "5\n");
  const std::vector<model::Rail> rails = RailReader(root_).read({"mlx5_0"}, 0);
  EXPECT_EQ(rails.at(0).lid, 0x1a2);
  EXPECT_EQ(rails.at(0).netdev, "");
}

TEST_F(RailReaderTest, TakesTheNetdevOfTheDeviceOnlyIfThereIsOne) {
  write("mlx5_0/ports/1/state", "1: DOWN\n");
  write("mlx5_0/device/net/ens1/ifindex", "5\n");
  write("mlx5_1/ports/1/state", "1: DOWN\n");
  write("mlx5_1/device/net/ens2/ifindex", "5\n");
  write("mlx5_1/device/net/ens3/ifindex", "5\n");
  const std::vector<model::Rail> rails = RailReader(root_).read({"mlx5_0", "mlx5_1"}, 0);
  EXPECT_EQ(rails.at(0).netdev, "ens1");
  EXPECT_EQ(rails.at(1).netdev, "");
}

TEST_F(RailReaderTest, LeavesOutCountersThatAreNoNumbers) {
  write_mlx5("mlx5_0");
  write("mlx5_0/ports/1/counters/symbol_error", "N/A (no PMA)\n");
  write("mlx5_0/ports/1/counters/port_rcv_errors", "");
  write("mlx5_0/ports/1/counters/minus", "-1\n");
  const std::vector<model::Rail> rails = RailReader(root_).read({"mlx5_0"}, 0);
  EXPECT_FALSE(rails.at(0).counters.contains("symbol_error"));
  EXPECT_FALSE(rails.at(0).counters.contains("port_rcv_errors"));
  EXPECT_FALSE(rails.at(0).counters.contains("minus"));
}

TEST_F(RailReaderTest, RemembersSinceWhenAPortIsDown) {
  write_mlx5("mlx5_0");
  RailReader reader(root_);
  reader.read({"mlx5_0"}, kSecond);
  write("mlx5_0/ports/1/state", "1: DOWN\n");
  EXPECT_EQ(reader.read({"mlx5_0"}, 2 * kSecond).at(0).state_since_mono_ns, 2 * kSecond);
  EXPECT_EQ(reader.read({"mlx5_0"}, 3 * kSecond).at(0).state_since_mono_ns, 2 * kSecond);
}

TEST_F(RailReaderTest, ReadsAddressesAgainWhenTheStateChanged) {
  write_mlx5("mlx5_0");
  RailReader reader(root_);
  reader.read({"mlx5_0"}, kSecond);
  write("mlx5_0/ports/1/gids/10", kZero);
  EXPECT_THAT(reader.read({"mlx5_0"}, 2 * kSecond).at(0).gids, SizeIs(2));
  write("mlx5_0/ports/1/state", "1: DOWN\n");
  EXPECT_THAT(reader.read({"mlx5_0"}, 3 * kSecond).at(0).gids, SizeIs(1));
}

TEST_F(RailReaderTest, ShowsADeviceThatSysfsLostAsARailWithoutState) {
  const std::vector<model::Rail> rails = RailReader(root_).read({"mlx5_0"}, kSecond);
  ASSERT_THAT(rails, SizeIs(1));
  EXPECT_EQ(rails[0].state, "");
  EXPECT_FALSE(rails[0].state_since_mono_ns.has_value());
  EXPECT_THAT(rails[0].counters, IsEmpty());
}

TEST_F(RailReaderTest, FindsNothingWhereThereIsNothing) {
  RailReader reader("/nowhere");
  EXPECT_THAT(reader.devices(), IsEmpty());
  EXPECT_THAT(reader.read({}, 0), IsEmpty());
}

}  // namespace
}  // namespace railwitness::counter
