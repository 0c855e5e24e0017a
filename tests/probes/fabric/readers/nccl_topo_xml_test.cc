#include "probes/fabric/readers/nccl_topo_xml.h"

#include <gtest/gtest.h>

#include "probes/fabric/readers/host_nearness.h"

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto host = read_nccl_topo_xml("topo.xml", bytes);
  return host.ok() ? "none" : std::string(host.status().message());
}

// Two CPUs: below the first a bridge with a GPU and a NIC of two ports, and another bridge in it; below the second a
// GPU.
constexpr std::string_view kHost = R"(

<!-- by hand -->
<system version="1"><cpu numaid="0">
<pci busid="0:1" class="0x060400"><pci busid="0:2" class="0x030200" link_speed="" link_width="0"><gpu dev="0" rank="3"><nvlink target="x" count="0"/></gpu></pci>
<pci busid="0:3" class="0x020700"><nic><net name="mlx5_0" port="1" guid="0x0100000000000000" speed="180000" coll="1"/><net name="mlx5_1" port="2" guid="0xX"/></nic></pci>
<pci busid="0:4" class="0x060400"><pci busid="0:5" class="0x120000"><gpu dev="1"><xgmi target="y" count="7"/></gpu></pci></pci></pci>
</cpu><cpu numaid="1"><pci busid="1:1" class="0x030200"/><nic><net name="eth0" guid="0x0"/></nic></cpu></system>)";

TEST(NcclTopoXml, NearnessIsThatOfTheTree) {
  const auto host = read_nccl_topo_xml("t", kHost);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_EQ(host->gpus.size(), 3u);
  ASSERT_EQ(host->nics.size(), 3u);
  EXPECT_EQ(nearest_nics(*host, 0), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(nearest_nics(*host, 2), (std::vector<size_t>{2}));
  const auto nearness = [&](size_t gpu, size_t nic) { return host->paths.at(gpu * 3 + nic).nearness; };
  EXPECT_EQ(nearness(0, 0), model::Nearness::kOneBridge);
  EXPECT_EQ(nearness(1, 0), model::Nearness::kBridges);
  EXPECT_EQ(nearness(2, 2), model::Nearness::kHostBridge);
  EXPECT_EQ(nearness(2, 0), model::Nearness::kSystem);
}

TEST(NcclTopoXml, WhatIsNotSaidIsNotKnownAndGuidsAreTurnedRound) {
  const auto host = read_nccl_topo_xml("t", kHost);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(host->gpus[0].pcie_speed, "");
  EXPECT_FALSE(host->gpus[0].pcie_lanes);
  EXPECT_EQ(host->gpus[0].rank, 3u);
  EXPECT_EQ(host->nics[0].system_guid, "0000000000000001");
  EXPECT_EQ(host->nics[1].system_guid, "");
  EXPECT_EQ(host->nics[2].system_guid, "");
  EXPECT_TRUE(host->nics[0].collnet);
  EXPECT_EQ(host->nics[1].line, 6u);
}

TEST(NcclTopoXml, LostLinksAndSpeedsSetByHandAreTold) {
  const auto host = read_nccl_topo_xml("t", kHost);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_EQ(host->remarks.size(), 3u);
  EXPECT_EQ(host->remarks[0].text, "GPU0 (0:2) has 0 NVLinks where others have 7: it lost its edge to the others");
  EXPECT_EQ(host->remarks[2].text, "mlx5_0 has speed 180000, which is no line rate: set by hand");
}

TEST(NcclTopoXml, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of(" \n"), "topo.xml: empty");
  EXPECT_EQ(error_of("<system>\n<cpu>\n</system>"), "topo.xml:2: no XML: XML_ERROR_MISMATCHED_ELEMENT");
  EXPECT_EQ(error_of("\n<graphs version=\"1\"/>"),
            "topo.xml:2: <graphs> is not <system>; give the file of NCCL_TOPO_DUMP_FILE");
  EXPECT_EQ(error_of("<!-- nothing -->"), "topo.xml: no element in it");
  std::string many = "<system><cpu>";
  for (size_t i = 0; i <= kMaxGpus; ++i) many += "<pci class=\"0x030200\"/>\n";
  EXPECT_EQ(error_of(many + "</cpu></system>"), "topo.xml:257: more than 256 GPUs");
  std::string deep = "<system><cpu>";
  for (int i = 0; i < 100000; ++i) deep += "<pci>";
  EXPECT_NE(error_of(deep).find("no XML"), std::string::npos);
}

}  // namespace
}  // namespace railwitness::fabric
