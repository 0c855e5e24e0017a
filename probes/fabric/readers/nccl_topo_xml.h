// NCCL's description of a host: NCCL_TOPO_DUMP_FILE's output, and the files that clouds give out for NCCL_TOPO_FILE.
//
// Source: src/graph/xml.cc of NCCL 2.4 to 2.29 (version 1) and RCCL (version 2), read through tinyxml2.
//
// Refused, with the line: what is no XML, another root than <system> (such as the <graphs> of NCCL_GRAPH_DUMP_FILE),
// more than 256 GPUs or 1024 NICs. Tolerated: comments and blank lines before the root, no <gpu>, <nic> or <net> (then
// the PCI class says what it is), an empty link_speed and a link_width of 0 (unknown), GUIDs that were blotted out,
// <nic> outside of any PCI device, unknown attributes and elements, <xgmi> for <nvlink>. Worked out: nearness, as NCCL
// does it (PIX below one bridge, PXB below several, PHB at one CPU, SYS between CPUs). NCCL writes the system image
// GUID in the other byte order; it is turned round here. Told: a GPU with fewer NVLinks than its siblings, speeds that
// are no line rate.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_NCCL_TOPO_XML_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_NCCL_TOPO_XML_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/host_topology.h"

namespace railwitness::fabric {

absl::StatusOr<model::HostTopology> read_nccl_topo_xml(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_NCCL_TOPO_XML_H_
