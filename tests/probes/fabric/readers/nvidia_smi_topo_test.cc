#include "probes/fabric/readers/nvidia_smi_topo.h"

#include <gtest/gtest.h>

#include "probes/fabric/readers/host_nearness.h"

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto host = read_nvidia_smi_topo("topo.txt", bytes);
  return host.ok() ? "none" : std::string(host.status().message());
}

std::string nearest(const model::HostTopology& host) {
  std::string out;
  for (size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
    out += called(host.gpus[gpu]) + "=";
    for (const size_t nic : nearest_nics(host, gpu)) out += called(host.nics[nic]) + ",";
    out += " ";
  }
  return out;
}

TEST(NvidiaSmiTopo, TabsThatWereLostAndUnderlinedHeadsDoNoHarm) {
  const auto host = read_nvidia_smi_topo(
      "t",
      "$ nvidia-smi topo -m\n\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV18\tPIXNODE\t0-3,8\t1\t\tN/A\nGPU1\tNV18\t X \tNODE\tPIX\t0-3,8\t1\t\tN/A\n"
      "NIC0\tPIX\tNODE\t X NODE\t\t\nNIC1\tNODE\tPIX\tNODE\t X \t\t\n\nNIC Legend:\n  NIC0: mlx5_7\n");
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(nearest(*host), "GPU0=mlx5_7, GPU1=NIC1, ");
  EXPECT_EQ(host->gpus[0].cpus, "0-3,8");
  EXPECT_EQ(host->gpus[0].numa, 1u);
  EXPECT_EQ(host->gpu_pairs.at(0).said, "NV18");
  EXPECT_TRUE(host->remarks.empty());
}

TEST(NvidiaSmiTopo, OlderHeadsNameTheNicsAndUnknownLinksAreKept) {
  const auto host = read_nvidia_smi_topo(
      "t",
      "        GPU0    GPU1    mlx5_0  Node Affinity  CPU Affinity\n"
      "GPU0    X       HT      PXB     2              32-47\nGPU1    HT      X       SYS     3              48-63\n");
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(nearest(*host), "GPU0=mlx5_0, GPU1=mlx5_0, ");
  EXPECT_EQ(host->gpus[1].numa, 3u);
  EXPECT_EQ(host->gpus[1].cpus, "48-63");
  EXPECT_EQ(host->gpu_pairs.at(0).said, "HT");
  EXPECT_EQ(host->remarks.at(0).text, "no row of mlx5_0");
}

TEST(NvidiaSmiTopo, SeveralNicsEquallyNearAndRowsThatDifferAreTold) {
  const auto host =
      read_nvidia_smi_topo("t",
                           "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\tX\tNV4\tPIX\tPIX\tSYS\nGPU1\tNV6\tX\tSYS\tSYS\tPIX\n"
                           "NIC0\tPIX\tSYS\tX\tPIX\tSYS\nNIC1\tPIX\tSYS\tPIX\tX\tSYS\nNIC2\tSYS\tPIX\tSYS\tSYS\tX\n");
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_EQ(host->remarks.size(), 2u);
  EXPECT_EQ(host->remarks[0].text, "GPU0 to GPU1 is NV4 in one row and NV6 in the other");
  EXPECT_EQ(host->remarks[1].text,
            "GPU0: NIC0, NIC1 are equally near, where other GPUs have 1: which of them is its rail, topology alone "
            "cannot tell");
}

TEST(NvidiaSmiTopo, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of("hello\n"), "topo.txt: no head of columns with GPU0: no output of nvidia-smi topo -m");
  EXPECT_EQ(error_of("\tGPU0\tGPU1\nGPU0\tX\n"), "topo.txt:2: 1 cells in the row of GPU0, where 2 columns are");
  EXPECT_EQ(error_of("\tGPU0\tGPU0\n"), "topo.txt:1: GPU0 is there twice");
}

}  // namespace
}  // namespace railwitness::fabric
