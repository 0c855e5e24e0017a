// What every reader of a fabric's or a host's files owes for any bytes: facts whose indices lie within it, or a refusal
// that names the file. Use: RAILWITNESS_READER_FUZZER(read_netq)
#ifndef RAILWITNESS_TESTS_FUZZ_READER_FUZZER_H_
#define RAILWITNESS_TESTS_FUZZ_READER_FUZZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/cluster_topology.h"
#include "probes/model/fabric_facts.h"
#include "probes/model/gid_facts.h"
#include "probes/model/host_topology.h"
#include "probes/model/link_quality.h"
#include "probes/model/rdma_facts.h"

namespace railwitness::fuzz {

inline void must(bool condition) {
  if (!condition) __builtin_trap();
}

inline void check(const model::FabricFacts& facts) {
  for (const model::FabricPort& port : facts.ports) must(port.device < facts.devices.size());
  for (const model::FabricLink& link : facts.links) must(link.a < facts.ports.size() && link.b < facts.ports.size());
}

inline void check(const model::RdmaFacts& facts) {
  check(facts.fabric);
}

inline void check(const model::ClusterTopology& topology) {
  for (const model::NodeGrouping& grouping : topology.groupings) {
    for (const auto& [node, group] : grouping.group_of_node) must(group < grouping.groups.size());
    for (const model::NodeGroup& group : grouping.groups) {
      must(!group.parent || *group.parent < grouping.groups.size());
      for (const size_t child : group.children) must(child < grouping.groups.size());
    }
  }
}

inline void check(const model::HostTopology& host) {
  for (const model::GpuNicPath& path : host.paths) must(path.gpu < host.gpus.size() && path.nic < host.nics.size());
  for (const model::GpuPair& pair : host.gpu_pairs) must(pair.a < host.gpus.size() && pair.b < host.gpus.size());
}

inline void check(const model::GidFacts& facts) {
  for (const model::GidEntry& entry : facts.entries) must(entry.gid.size() == 39);
}

inline void check(const model::LinkQuality& link) {
  if (link.raw_ber) must(link.raw_ber->rate >= 0 && link.raw_ber->rate <= 1);
}

template <typename Read>
int try_reader(Read read, const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"in", "in.yaml"}) {
    const auto facts = read(name, bytes);
    if (facts.ok()) {
      check(*facts);
    } else {
      must(std::string(facts.status().message()).starts_with(name));
    }
  }
  return 0;
}

}  // namespace railwitness::fuzz

#define RAILWITNESS_READER_FUZZER(reader)                                                            \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {                          \
    return railwitness::fuzz::try_reader(                                                            \
        [](auto name, auto bytes) { return railwitness::fabric::reader(name, bytes); }, data, size); \
  }

#endif  // RAILWITNESS_TESTS_FUZZ_READER_FUZZER_H_
