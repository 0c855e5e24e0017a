// GPUs and NICs of one host and how near they are to each other: which NIC a GPU would use is a rail's beginning.
// Plain values; nothing here is judged, an oddity is a remark.
#ifndef RAILWITNESS_PROBES_MODEL_HOST_TOPOLOGY_H_
#define RAILWITNESS_PROBES_MODEL_HOST_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::model {

// From near to far, as nvidia-smi and NCCL call them.
enum class Nearness {
  kUnknown,
  kOneBridge,   // PIX
  kBridges,     // PXB: several bridges, not the host's
  kHostBridge,  // PHB
  kNumaNode,    // NODE: between host bridges of one NUMA node
  kSystem,      // SYS: between NUMA nodes
};

// NVLink or xGMI of one GPU.
struct GpuLink {
  std::string kind;    // "nvlink", "xgmi"
  std::string target;  // PCI address of the peer or of an NVSwitch; "fffffff:ff:ff.0" is a switch without address
  uint32_t count = 0;
};

struct HostGpu {
  std::string name;    // "GPU0"; empty: an address only
  std::string bus_id;  // PCI address; empty: not said
  std::optional<uint32_t> index, rank, numa;
  std::string pcie_speed;  // as said; empty: unknown
  std::optional<uint32_t> pcie_lanes;
  std::string cpus;  // as said
  std::vector<GpuLink> links;
  uint32_t line = 0;
};

struct HostNic {
  std::string name;    // "mlx5_0"; empty: not said
  std::string label;   // "NIC0"
  std::string bus_id;  // several ports of one card can share it
  std::string system_guid;
  std::string link_layer;
  std::optional<uint32_t> port, speed_mbps, numa;
  bool collnet = false;  // SHARP can be used through it
  uint32_t line = 0;
};

struct GpuNicPath {
  size_t gpu = 0, nic = 0;  // indices
  Nearness nearness = Nearness::kUnknown;
  std::string said;  // "PIX"; empty: worked out from the tree of PCI devices
};

struct GpuPair {
  size_t a = 0, b = 0;
  std::string said;  // "NV18", "HT"
};

struct HostTopology {
  Source source;
  std::vector<HostGpu> gpus;
  std::vector<HostNic> nics;
  std::vector<GpuNicPath> paths;
  std::vector<GpuPair> gpu_pairs;
  std::vector<Remark> remarks;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_HOST_TOPOLOGY_H_
