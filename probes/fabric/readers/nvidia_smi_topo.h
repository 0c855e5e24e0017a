// `nvidia-smi topo -m`: a table of how near GPUs and NICs are to each other.
//
// Source: nvidia-smi of drivers 418 to 570; other vendors' tools of the same layout.
//
// Refused, with the line: no head of columns that begins with GPU0, a row with too few cells, more than 256 GPUs or
// 1024 NICs. Tolerated: tabs and blanks, underlining (escape sequences) in the head, cells that ran together because a
// tab was lost
// ("PIXNODE"), prompts and titles around the table, a legend of NICs or none, NICs under their names as column heads
// (older drivers), "Node Affinity" and "CPU Affinity" in any order, link types that are not known (kept as said). Told:
// rows that are missing, cells that differ from their mirror image, GPUs with several NICs equally near, and tables
// that look as if the machine was booted with numa=off.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_NVIDIA_SMI_TOPO_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_NVIDIA_SMI_TOPO_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/host_topology.h"

namespace railwitness::fabric {

absl::StatusOr<model::HostTopology> read_nvidia_smi_topo(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_NVIDIA_SMI_TOPO_H_
