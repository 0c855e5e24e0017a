// What both sources of a host's topology say of rails: the nearest NICs of each GPU.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_HOST_NEARNESS_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_HOST_NEARNESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "probes/model/host_topology.h"

namespace railwitness::fabric {

// Bounds of a host; the pairs are GPUs times NICs.
inline constexpr size_t kMaxGpus = 256, kMaxNics = 1024;

// The NICs that no other is nearer than; indices. Empty: no path of known nearness.
std::vector<size_t> nearest_nics(const model::HostTopology& host, size_t gpu);

// "mlx5_0", else "NIC0", else the PCI address.
std::string called(const model::HostNic& nic);
std::string called(const model::HostGpu& gpu);

// Remarks: GPUs with more nearest NICs below a bridge than others have, of which topology alone cannot tell the rail.
void tell_ambiguous_nics(model::HostTopology& host);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_HOST_NEARNESS_H_
