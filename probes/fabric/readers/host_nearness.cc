#include "probes/fabric/readers/host_nearness.h"

#include <algorithm>

#include "fmt/format.h"

namespace railwitness::fabric {

using model::Nearness;

std::vector<size_t> nearest_nics(const model::HostTopology& host, size_t gpu) {
  std::vector<size_t> nearest;
  Nearness best = Nearness::kUnknown;
  for (const model::GpuNicPath& path : host.paths) {
    if (path.gpu != gpu || path.nearness == Nearness::kUnknown) continue;
    if (best == Nearness::kUnknown || path.nearness < best) {
      best = path.nearness;
      nearest.clear();
    }
    if (path.nearness == best) nearest.push_back(path.nic);
  }
  return nearest;
}

std::string called(const model::HostNic& nic) {
  if (!nic.name.empty()) return nic.name;
  return nic.label.empty() ? nic.bus_id : nic.label;
}

std::string called(const model::HostGpu& gpu) {
  return gpu.name.empty() ? gpu.bus_id : gpu.name;
}

void tell_ambiguous_nics(model::HostTopology& host) {
  std::vector<std::vector<size_t>> below_bridge(host.gpus.size());
  for (const model::GpuNicPath& path : host.paths) {
    if (path.nearness == Nearness::kOneBridge) below_bridge[path.gpu].push_back(path.nic);
  }
  size_t fewest = host.nics.size();
  for (const auto& nics : below_bridge) {
    if (!nics.empty()) fewest = std::min(fewest, nics.size());
  }
  for (size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
    if (below_bridge[gpu].size() <= fewest) continue;
    std::string names;
    for (const size_t nic : below_bridge[gpu]) names += (names.empty() ? "" : ", ") + called(host.nics[nic]);
    host.remarks.push_back(
        {host.gpus[gpu].line,
         fmt::format(
             "{}: {} are equally near, where other GPUs have {}: which of them is its rail, topology alone cannot tell",
             called(host.gpus[gpu]), names, fewest)});
  }
}

}  // namespace railwitness::fabric
