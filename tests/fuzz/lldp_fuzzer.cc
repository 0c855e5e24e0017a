// Any bytes are edges or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probes/fabric/edge_memory.h"
#include "probes/fabric/readers/lldp.h"
#include "tests/fuzz/reader_fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  railwitness::fuzz::try_reader([](auto name, auto bytes) { return railwitness::fabric::read_lldp(name, bytes); }, data,
                                size);
  const auto edges = railwitness::fabric::parse_lldp_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!edges.ok()) return 0;
  railwitness::fabric::EdgeMemory memory;
  memory.update(*edges, 1);
  memory.update({}, 2);
  for (const auto& edge : memory.edges()) {
    if (edge.present || edge.netdev.empty()) __builtin_trap();
  }
  return 0;
}
