#include "fmt/format.h"
#include "probes/fabric/readers/host_nearness.h"
#include "probes/fabric/readers/nccl_topo_xml.h"
#include "probes/fabric/readers/nvidia_smi_topo.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

const char* letters(model::Nearness nearness) {
  static constexpr const char* kNames[] = {"?", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<int>(nearness)];
}

// "GPU=NIC,NIC NEARNESS" of each GPU, then remarks.
std::string text_of(const absl::StatusOr<model::HostTopology>& host, bool with_links) {
  if (!host.ok()) return std::string(host.status().message());
  std::string out = fmt::format("{} GPUs {} NICs; ", host->gpus.size(), host->nics.size());
  for (size_t gpu = 0; gpu < host->gpus.size(); ++gpu) {
    out += called(host->gpus[gpu]) + "=";
    const char* how = "no NIC";
    const auto nearest = nearest_nics(*host, gpu);
    for (size_t i = 0; i < nearest.size(); ++i) out += (i == 0 ? "" : ",") + called(host->nics[nearest[i]]);
    for (const model::GpuNicPath& path : host->paths) {
      if (path.gpu == gpu && !nearest.empty() && path.nic == nearest[0]) how = letters(path.nearness);
    }
    uint64_t links = 0;
    for (const model::GpuLink& link : host->gpus[gpu].links) links += link.count;
    out += fmt::format(" {}{}; ", how, with_links ? fmt::format(" {} links", links) : "");
  }
  for (const model::Remark& remark : host->remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

std::string nccl(std::string_view name, std::string_view bytes) {
  return text_of(read_nccl_topo_xml(name, bytes), false);
}

std::string nccl_links(std::string_view name, std::string_view bytes) {
  return text_of(read_nccl_topo_xml(name, bytes), true);
}

// With PCIe as it is known, cards behind the ports, GUIDs.
std::string nccl_details(std::string_view name, std::string_view bytes) {
  const auto host = read_nccl_topo_xml(name, bytes);
  if (!host.ok()) return std::string(host.status().message());
  const model::HostGpu& gpu = host->gpus.at(0);
  const model::HostNic& nic = host->nics.at(0);
  return fmt::format("PCIe '{}' x{}; {} on {} guid '{}' {}{}; ", gpu.pcie_speed, gpu.pcie_lanes.value_or(0),
                     called(nic), nic.bus_id, nic.system_guid, nic.link_layer, nic.collnet ? " collnet" : "") +
         text_of(host, true);
}

std::string smi(std::string_view name, std::string_view bytes) {
  const auto host = read_nvidia_smi_topo(name, bytes);
  std::string out;
  if (host.ok() && !host->gpu_pairs.empty()) {
    bool same = true;
    for (const model::GpuPair& pair : host->gpu_pairs) same = same && pair.said == host->gpu_pairs[0].said;
    out = fmt::format("{}{} to all, NUMA {}; ", same ? "" : "not ", host->gpu_pairs[0].said,
                      host->gpus.back().numa.value_or(99));
  }
  return out + text_of(host, false);
}

}  // namespace

std::vector<FixtureRow> rows_of_hosts() {
  return {
      {"nccl_topo_xml/aws-p4d-topo.xml",
       "8 GPUs 4 NICs; 0000:10:1c.0=0000:10:1b.0 PIX; 0000:10:1d.0=0000:10:1b.0 PIX; 0000:20:1c.0=0000:20:1b.0 PIX; "
       "0000:20:1d.0=0000:20:1b.0 PIX; 0000:90:1c.0=0000:90:1b.0 PIX; 0000:90:1d.0=0000:90:1b.0 PIX; "
       "0000:a0:1c.0=0000:a0:1b.0 PIX; "
       "0000:a0:1d.0=0000:a0:1b.0 PIX; ",
       nccl},
      {"nccl_topo_xml/azure-ncv4-a100-topo-full.xml",
       "PCIe '' x0; eth0 on  guid '' ; 4 GPUs 1 NICs; GPU0=eth0 PHB 12 links; GPU1=eth0 SYS 12 links; GPU2=eth0 SYS 12 "
       "links; "
       "GPU3=eth0 SYS 12 links; ",
       nccl_details},
      {"nccl_topo_xml/azure-ndv2-v100-topo.xml",
       "8 GPUs 1 NICs; 0001:00:00.0=0101:00:00.0 PHB; 0002:00:00.0=0101:00:00.0 PHB; 0003:00:00.0=0101:00:00.0 PHB; "
       "0004:00:00.0=0101:00:00.0 PHB; 0005:00:00.0=0101:00:00.0 SYS; 0006:00:00.0=0101:00:00.0 SYS; "
       "0007:00:00.0=0101:00:00.0 SYS; "
       "0008:00:00.0=0101:00:00.0 SYS; ",
       nccl},
      {"nccl_topo_xml/azure-ndv5-h100-topo.xml",
       "8 GPUs 8 NICs; 0001:00:00.0=0101:00:00.0 PIX; 0002:00:00.0=0102:00:00.0 PIX; 0003:00:00.0=0103:00:00.0 PIX; "
       "0008:00:00.0=0104:00:00.0 PIX; 0009:00:00.0=0105:00:00.0 PIX; 000a:00:00.0=0106:00:00.0 PIX; "
       "000b:00:00.0=0107:00:00.0 PIX; "
       "000c:00:00.0=0108:00:00.0 PIX; ",
       nccl},
      {"nccl_topo_xml/gb300-1tray-gpu1-nvlink-count0.xml",
       "PCIe '64.0 GT/s PCIe' x16; mlx5_bond_0 on 0016:01:00.0 guid '' Ethernet; 4 GPUs 1 NICs; GPU0=mlx5_bond_0 SYS "
       "18 links; "
       "GPU1=mlx5_bond_0 SYS 0 links; GPU2=mlx5_bond_0 PHB 18 links; GPU3=mlx5_bond_0 PHB 18 links; "
       "(GPU1 (0009:06:00.0) has 0 NVLinks where others have 18: it lost its edge to the others) ",
       nccl_details},
      {"nccl_topo_xml/oci-a100-b4-flattened-topo.xml",
       "8 GPUs 8 NICs; 0000:0f:00.0=0000:0c:00.0,0000:16:00.0 PIX; 0000:15:00.0=0000:0c:00.0,0000:16:00.0 PIX; "
       "0000:50:00.0=0000:47:00.0,0000:4b:00.0 PIX; 0000:53:00.0=0000:47:00.0,0000:4b:00.0 PIX; "
       "0000:8c:00.0=0000:89:00.0,0000:93:00.0 PIX; 0000:91:00.0=0000:89:00.0,0000:93:00.0 PIX; "
       "0000:d6:00.0=0000:c3:00.0,0000:d1:00.0 PIX; 0000:da:00.0=0000:c3:00.0,0000:d1:00.0 PIX; ",
       nccl},
      {"nccl_topo_xml/oci-h100-rocev2-dualport-topo.xml",
       "PCIe '32.0 GT/s PCIe' x16; mlx5_0 on 0000:0c:00.0 guid '946dae030050709a' Ethernet; 8 GPUs 16 NICs; "
       "GPU0=mlx5_0,mlx5_1 PXB 18 links; GPU1=mlx5_3,mlx5_4 PXB 18 links; GPU2=mlx5_5,mlx5_6 PXB 18 links; "
       "GPU3=mlx5_7,mlx5_8 PXB 18 links; GPU4=mlx5_9,mlx5_10 PXB 18 links; GPU5=mlx5_12,mlx5_13 PXB 18 links; "
       "GPU6=mlx5_14,mlx5_15 PXB 18 links; GPU7=mlx5_16,mlx5_17 PXB 18 links; "
       "(mlx5_0 has speed 180000, which is no line rate: set by hand) ",
       nccl_details},
      {"nccl_topo_xml/rccl-collnet-n4-topo.xml",
       "PCIe '16 GT/s' x16; mlx5_1 on 0000:45:00.0 guid '0c42a1030017b948' InfiniBand collnet; 8 GPUs 4 NICs; "
       "GPU0=mlx5_1 PXB 3 links; GPU1=mlx5_1 PXB 3 links; GPU2=mlx5_3 PXB 3 links; GPU3=mlx5_3 PXB 3 links; "
       "GPU4=mlx5_5 PXB 3 links; GPU5=mlx5_5 PXB 3 links; GPU6=mlx5_7 PXB 3 links; GPU7=mlx5_7 PXB 3 links; ",
       nccl_details},
      {"nccl_topo_xml/rccl-mi100-rome-4nic-topo.xml",
       "PCIe '16 GT/s' x16; mlx5_1 on 0000:45:00.0 guid '0c42a1030017b948' InfiniBand; 8 GPUs 4 NICs; "
       "GPU0=mlx5_1 PXB 3 links; GPU1=mlx5_1 PXB 3 links; GPU2=mlx5_3 PXB 3 links; GPU3=mlx5_3 PXB 3 links; "
       "GPU4=mlx5_5 PXB 3 links; GPU5=mlx5_5 PXB 3 links; GPU6=mlx5_7 PXB 3 links; GPU7=mlx5_7 PXB 3 links; ",
       nccl_details},
      {"nccl_topo_xml/rccl-mi300x-8gpu-topo.xml",
       "8 GPUs 8 NICs; GPU0=mlx5_0 PXB 7 links; GPU1=mlx5_1 PXB 7 links; GPU2=mlx5_2 PXB 7 links; GPU3=mlx5_3 PXB 7 "
       "links; "
       "GPU4=mlx5_4 PXB 7 links; GPU5=mlx5_5 PXB 7 links; GPU6=mlx5_6 PXB 7 links; GPU7=mlx5_7 PXB 7 links; ",
       nccl_links},
      {"nccl_topo_xml/rccl-mi300x-vm-topo.xml",
       "8 GPUs 8 NICs; GPU1=mlx5_0,mlx5_1,mlx5_2,mlx5_3 PHB 7 links; GPU0=mlx5_0,mlx5_1,mlx5_2,mlx5_3 PHB 7 links; "
       "GPU2=mlx5_0,mlx5_1,mlx5_2,mlx5_3 PHB 7 links; GPU3=mlx5_0,mlx5_1,mlx5_2,mlx5_3 PHB 7 links; "
       "GPU6=mlx5_4,mlx5_5,mlx5_6,mlx5_7 PHB 7 links; GPU5=mlx5_4,mlx5_5,mlx5_6,mlx5_7 PHB 7 links; "
       "GPU4=mlx5_4,mlx5_5,mlx5_6,mlx5_7 PHB 7 links; GPU7=mlx5_4,mlx5_5,mlx5_6,mlx5_7 PHB 7 links; ",
       nccl_links},
      {"nvidia_smi_topo/dgx-a100-10nic-tabs.txt",
       "NV12 to all, NUMA 1; 8 GPUs 10 NICs; GPU0=mlx5_2,mlx5_3 PXB; GPU1=mlx5_2,mlx5_3 PXB; GPU2=mlx5_0,mlx5_1 PXB; "
       "GPU3=mlx5_0,mlx5_1 PXB; GPU4=mlx5_8,mlx5_9 PXB; GPU5=mlx5_8,mlx5_9 PXB; GPU6=mlx5_4,mlx5_5 PXB; "
       "GPU7=mlx5_4,mlx5_5 PXB; ",
       smi},
      {"nvidia_smi_topo/hgx-12nic-numa-off-lost-tab.txt",
       "NV18 to all, NUMA 0; 8 GPUs 12 NICs; GPU0=mlx5_0 PIX; GPU1=mlx5_1 PIX; GPU2=mlx5_2 PIX; GPU3=mlx5_5 PIX; "
       "GPU4=mlx5_6 PIX; "
       "GPU5=mlx5_7 PIX; GPU6=mlx5_8 PIX; GPU7=mlx5_11 PIX; "
       "(all 8 GPUs are in one NUMA node of 192 CPUs and nothing is SYS: the machine may be booted with numa=off) ",
       smi},
      {"nvidia_smi_topo/hgx-h100-8ib-4eth-spaces.txt",
       "NV18 to all, NUMA 1; 8 GPUs 12 NICs; GPU0=mlx5_0,mlx5_1,mlx5_2 PIX; GPU1=mlx5_3 PIX; GPU2=mlx5_4 PIX; "
       "GPU3=mlx5_5 PIX; "
       "GPU4=mlx5_6,mlx5_7,mlx5_8 PIX; GPU5=mlx5_9 PIX; GPU6=mlx5_10 PIX; GPU7=mlx5_11 PIX; "
       "(GPU0: mlx5_0, mlx5_1, mlx5_2 are equally near, where other GPUs have 1: which of them is its rail, topology "
       "alone cannot tell) "
       "(GPU4: mlx5_6, mlx5_7, mlx5_8 are equally near, where other GPUs have 1: which of them is its rail, topology "
       "alone cannot tell) ",
       smi},
      {"nvidia_smi_topo/old-style-mlx5-column-heads.txt",
       "NV12 to all, NUMA 1; 8 GPUs 8 NICs; GPU0=mlx5_0,mlx5_1 PXB; GPU1=mlx5_0,mlx5_1 PXB; GPU2=mlx5_2,mlx5_3 PXB; "
       "GPU3=mlx5_2,mlx5_3 PXB; GPU4=mlx5_4,mlx5_5 PXB; GPU5=mlx5_4,mlx5_5 PXB; GPU6=mlx5_6,mlx5_7 PXB; "
       "GPU7=mlx5_6,mlx5_7 PXB; ",
       smi},
      {"nvidia_smi_topo/other-vendor-ht-links.txt",
       "HT to all, NUMA 7; 8 GPUs 0 NICs; GPU0= no NIC; GPU1= no NIC; GPU2= no NIC; GPU3= no NIC; GPU4= no NIC; GPU5= "
       "no NIC; "
       "GPU6= no NIC; GPU7= no NIC; ",
       smi},
      {"nvidia_smi_topo/v100-sxm2-4gpu-2nic.txt",
       "NV2 to all, NUMA 1; 4 GPUs 2 NICs; GPU0=mlx5_0 PIX; GPU1=mlx5_0 PIX; GPU2=mlx5_1 PIX; GPU3=mlx5_1 PIX; ", smi},
  };
}

}  // namespace railwitness::fabric
