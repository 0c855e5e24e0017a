// Files below /sys/class/infiniband with their values, as "grep -r . /sys/class/infiniband/" prints them: PATH:VALUE. Source: the
// kernel's Documentation/ABI/stable/sysfs-class-infiniband.
//
// Refused: text without one such line of a device; a counter that is no number; a port beyond 255.
//
// Tolerated: any beginning of the path ("./", "/sys/class/infiniband/", "/sys/devices/.../infiniband/", none), missing files and
// directories (what is not there is not known, never 0), a last line without end, other files, "grep: ..." and other lines.
// As remarks: number and word of a state that do not belong together ("phys_state: 4: ACTIVE"): then neither is believed.
//
// Counters have the names of their files; those of hw_counters are "hw_counters/NAME", as names are in both. port_xmit_data and
// port_rcv_data count words of four bytes. Lanes are those of InfiniBand ports: on Ethernet the kernel names the nearest
// speed of InfiniBand, so only the whole rate is taken. A port that is not up has no rate; what stands there is a default.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_SYSFS_INFINIBAND_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_SYSFS_INFINIBAND_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::FabricFacts> read_sysfs_infiniband(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_SYSFS_INFINIBAND_H_
