// What every reader of the fabric promises of its facts: indices that exist, texts that are bounded.
#ifndef RAILWITNESS_TESTS_FUZZ_FACTS_HOLD_H_
#define RAILWITNESS_TESTS_FUZZ_FACTS_HOLD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fuzz {

// Ends the program where a promise is broken.
inline void read_and_hold(absl::StatusOr<model::FabricFacts> (*read)(std::string_view, std::string_view), const uint8_t* data,
                          size_t size) {
  const auto facts = read("fuzzed", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!facts.ok()) {
    if (!std::string(facts.status().message()).starts_with("fuzzed:")) __builtin_trap();
    return;
  }
  for (const auto& port : facts->ports) {
    if (port.device >= facts->devices.size()) __builtin_trap();
  }
  for (const auto& link : facts->links) {
    if (link.a >= facts->ports.size() || link.b >= facts->ports.size()) __builtin_trap();
  }
  for (const auto& hardware : facts->hardware) {
    if (hardware.device >= facts->devices.size()) __builtin_trap();
  }
  for (const auto& device : facts->devices) {
    if (!device.guid.empty() && device.guid.size() != 16) __builtin_trap();
  }
}

}  // namespace railwitness::fuzz

#endif  // RAILWITNESS_TESTS_FUZZ_FACTS_HOLD_H_
