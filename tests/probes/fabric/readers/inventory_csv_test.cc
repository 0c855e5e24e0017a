#include "probes/fabric/readers/inventory_csv.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto facts = read_inventory_csv("plan.csv", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

// "DEVICE PORT>DEVICE PORT" of each cable.
std::string cables(const model::FabricFacts& facts) {
  const auto end = [&](size_t port) {
    return facts.devices[facts.ports[port].device].name + " " + facts.ports[port].label;
  };
  std::string out;
  for (const model::FabricLink& link : facts.links)
    out += end(link.a) + ">" + end(link.b) + " line " + std::to_string(link.line) + "; ";
  return out;
}

TEST(InventoryCsv, ColumnsWithoutNameOrWithTheSameAndSummariesBesideTheTableDoNoHarm) {
  const auto facts =
      read_inventory_csv("p",
                         ",rack #,U height,#Fields:StartDevice,StartPort,EndDevice,EndPort,U height,,Sum\r\n\r\n"
                         ",r1,U4,leaf-1,Port 21,spine-1,\"Blade 1_Port 1/1\",U2,,7\r\n,,,,,,,,,total 1\r\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->is_plan);
  EXPECT_EQ(cables(*facts), "leaf-1 Port 21>spine-1 Blade 1_Port 1/1 line 3; ");
  EXPECT_EQ(facts->ports[0].number, 21u);
  EXPECT_EQ(facts->ports[1].number, 0u);
  EXPECT_TRUE(facts->remarks.empty());
}

TEST(InventoryCsv, DevicesThatAreNamedByTheirPlaceAreToldAndNoHostIsInvented) {
  const auto facts = read_inventory_csv(
      "p", "rack #;StartDevice;StartPort;EndDevice;EndPort\nr7;Server 1 IB Port 2;IB Port 2;leaf;Port 1\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(cables(*facts), "r7 Server 1 IB Port 2>leaf Port 1 line 2; ");
  EXPECT_EQ(facts->devices[0].host, "");
  EXPECT_NE(facts->remarks.at(0).text.find("no host name is in this plan"), std::string::npos);
}

TEST(InventoryCsv, NicsAreNamedByHostAndNicInEitherColumn) {
  const auto facts = read_inventory_csv(
      "p", "StartDevice,StartPort,EndDevice,EndPort\nn1 mlx5_4,1,leaf,7\nn1,mlx5_5,leaf,8\nn2,HCA-3/2,leaf,Port 9\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(cables(*facts), "n1 mlx5_4 1>leaf 7 line 2; n1 mlx5_5 1>leaf 8 line 3; n2 HCA-3 2>leaf Port 9 line 4; ");
  for (const model::FabricDevice& device : facts->devices) EXPECT_EQ(device.kind == model::DeviceKind::kNic, !device.nic.empty()) << device.name;
  EXPECT_EQ(facts->devices[0].host + "/" + facts->devices[0].nic, "n1/mlx5_4");
  EXPECT_EQ(facts->ports[4].number, 2u);  // of HCA-3
  EXPECT_EQ(facts->ports[1].number, 7u);
}

TEST(InventoryCsv, PortsPlannedTwiceAndHalfRowsAreTold) {
  const auto facts = read_inventory_csv(
      "p", "StartDevice,StartPort,EndDevice,EndPort\na,1,b,1\nc,1,b,1\nd,,,\n\"two\nlines\",1,e,1\nf,1,a,1\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->remarks.size(), 3u);
  EXPECT_EQ(facts->remarks[0].text, "b 1 is planned twice");
  EXPECT_EQ(facts->remarks[0].line, 3u);
  EXPECT_EQ(facts->remarks[1].line, 4u);
  EXPECT_EQ(facts->remarks[2].line, 7u);
}

TEST(InventoryCsv, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of("cyber\n"),
            "plan.csv:1: no column StartDevice; StartDevice, StartPort, EndDevice and EndPort are needed");
  EXPECT_EQ(error_of("StartDevice,EndDevice,EndPort\n"),
            "plan.csv:1: no column StartPort; StartDevice, StartPort, EndDevice and EndPort are needed");
  EXPECT_EQ(error_of("StartDevice,StartPort,EndDevice,EndPort\n"), "plan.csv: no cable in it");
  EXPECT_EQ(error_of("a,b\nc,\"d"), "plan.csv:2: broken CSV: error parsing data while strict checking enabled");
  EXPECT_EQ(error_of(""), "plan.csv: empty");
}

}  // namespace
}  // namespace railwitness::fabric
