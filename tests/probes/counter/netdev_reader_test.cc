#include "probes/counter/netdev_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railwitness::counter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

class NetdevReaderTest : public testing::Test {
 protected:
  NetdevReaderTest() : root_(std::filesystem::temp_directory_path() / ("sysfs_net_" + std::to_string(getpid()))) {}
  ~NetdevReaderTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / "class/net" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_interface(const std::string& name) {
    write(name + "/type", "1\n");
    write(name + "/carrier", "1\n");
    write(name + "/operstate", "up\n");
    write(name + "/speed", "100000\n");
    write(name + "/carrier_down_count", "2\n");
    write(name + "/statistics/tx_bytes", "18446744073709551615\n");
    write(name + "/statistics/rx_errors", "7\n");
  }

  std::filesystem::path root_;
};

TEST(InterfaceName, IsWhatTheKernelTakes) {
  for (const char* good : {"eth0", "h0r1", "enp193s0f0np0", "bond0.100", "a"}) EXPECT_TRUE(is_interface_name(good)) << good;
  for (const char* bad : {"", ".", "..", "../../x", "a/b", "eth0:1", "a b", "sixteen_bytes_xx", "\x01"}) {
    EXPECT_FALSE(is_interface_name(bad)) << bad;
  }
}

TEST(InterfaceState, ComesFromCarrierAndOperstate) {
  EXPECT_EQ(interface_state("1", "up"), "ACTIVE");
  EXPECT_EQ(interface_state("1", "unknown"), "ACTIVE") << "drivers that do not tell their operstate";
  EXPECT_EQ(interface_state("0", "lowerlayerdown"), "DOWN");
  EXPECT_EQ(interface_state("0", "unknown"), "DOWN");
  EXPECT_EQ(interface_state("", "down"), "DOWN") << "administratively down: its carrier cannot be read";
  EXPECT_EQ(interface_state("1", "dormant"), "DORMANT");
  EXPECT_EQ(interface_state("", ""), "") << "not known is neither up nor down";
  EXPECT_EQ(interface_state("", "unknown"), "");
}

TEST_F(NetdevReaderTest, ReadsAnInterface) {
  write_interface("eth1");
  NetdevReader reader(root_);
  const std::vector<model::Rail> rails = reader.read({"eth1"}, kSecond);
  ASSERT_THAT(rails, SizeIs(1));
  EXPECT_EQ(rails[0].kind, model::RailKind::kNetdev);
  EXPECT_EQ(rails[0].device, "eth1");
  EXPECT_EQ(rails[0].netdev, "eth1");
  EXPECT_EQ(rails[0].port, 1);
  EXPECT_EQ(rails[0].link_layer, "Ethernet");
  EXPECT_EQ(rails[0].state, "ACTIVE");
  EXPECT_EQ(rails[0].phys_state, "up");
  EXPECT_EQ(rails[0].state_since_mono_ns, kSecond);
  EXPECT_EQ(rails[0].speed_mbps, 100000u);
  EXPECT_THAT(rails[0].counters, Contains(Pair("tx_bytes", UINT64_MAX)));
  EXPECT_THAT(rails[0].counters, Contains(Pair("rx_errors", 7)));
  EXPECT_THAT(rails[0].counters, Contains(Pair("carrier_down_count", 2)));
}

TEST_F(NetdevReaderTest, TellsSinceWhenTheCarrierIsLost) {
  write_interface("eth1");
  NetdevReader reader(root_);
  reader.read({"eth1"}, kSecond);
  write("eth1/carrier", "0\n");
  write("eth1/operstate", "lowerlayerdown\n");
  reader.read({"eth1"}, 2 * kSecond);
  const auto rails = reader.read({"eth1"}, 5 * kSecond);
  EXPECT_EQ(rails[0].state, "DOWN");
  EXPECT_EQ(rails[0].phys_state, "lowerlayerdown");
  EXPECT_EQ(rails[0].state_since_mono_ns, 2 * kSecond);
}

TEST_F(NetdevReaderTest, AnInterfaceThatIsGoneIsARailWithoutState) {
  const auto rails = NetdevReader(root_).read({"eth7", "eth10", "eth9"}, kSecond);
  ASSERT_THAT(rails, SizeIs(3));
  EXPECT_EQ(rails[0].device, "eth7");
  EXPECT_EQ(rails[1].device, "eth9");
  EXPECT_EQ(rails[2].device, "eth10");
  EXPECT_EQ(rails[0].state, "");
  EXPECT_FALSE(rails[0].state_since_mono_ns);
  EXPECT_FALSE(rails[0].speed_mbps);
  EXPECT_THAT(rails[0].counters, IsEmpty());
}

TEST_F(NetdevReaderTest, ALoopbackAndWhatIsNotThereCannotBeRails) {
  write_interface("eth1");
  write("lo/type", "772\n");
  const NetdevReader reader(root_);
  EXPECT_TRUE(reader.can_be_rail("eth1"));
  EXPECT_FALSE(reader.is_loopback("eth1"));
  EXPECT_FALSE(reader.can_be_rail("lo"));
  EXPECT_TRUE(reader.is_loopback("lo"));
  EXPECT_FALSE(reader.can_be_rail("eth2"));
  EXPECT_FALSE(reader.is_loopback("eth2"));
  EXPECT_FALSE(reader.can_be_rail("../net/eth1")) << "a job may name anything";
  EXPECT_FALSE(reader.is_loopback("../net/lo"));
}

TEST_F(NetdevReaderTest, AnUnknownSpeedIsNotKnown) {
  write_interface("eth1");
  write("eth1/speed", "-1\n");
  EXPECT_FALSE(NetdevReader(root_).read({"eth1"}, kSecond)[0].speed_mbps);
}

TEST(InterfaceAddresses, ShowTheLoopbackOfThisMachineAsAMappedAddress) {
  const auto addresses = read_interface_addresses();
  const auto lo = addresses.find("lo");
  if (lo == addresses.end()) GTEST_SKIP() << "the loopback has no address here";
  EXPECT_THAT(lo->second, Contains("0000:0000:0000:0000:0000:ffff:7f00:0001"));
}

}  // namespace
}  // namespace railwitness::counter
