// What a counter of a port counts, whatever its source calls it.
#ifndef RAILWITNESS_PROBES_FABRIC_COUNTER_KIND_H_
#define RAILWITNESS_PROBES_FABRIC_COUNTER_KIND_H_

#include <cstdint>
#include <string_view>

namespace railwitness::fabric {

struct CounterKind {
  enum class Of { kOther, kCable, kCongestion } of = Of::kOther;
  // Fewer is nothing: links count a few errors when they come up. From infiniband-diags' thresholds.
  uint64_t at_least = 0;
};

// "SymbolErrorCounter", "symbol_error", "SymbolErrors": symbol errors of the cable. Traffic, PortXmitWait (any load waits) and
// PortRcvSwitchRelayErrors (a packet that must not go back where it came from) are kOther.
CounterKind kind_of_counter(std::string_view name);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_COUNTER_KIND_H_
