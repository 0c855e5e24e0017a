#include "probes/fabric/readers/counter_width.h"

#include <array>
#include <limits>

namespace railwitness::fabric {
namespace {

struct Width {
  std::string_view of_tools, of_sysfs;
  uint32_t bits = 0;
};

// sysfs gives 64 bits of data and packets where the device has them; a device without stops at 32, which nothing says.
constexpr std::array<Width, 20> kWidths{{{"SymbolErrorCounter", "symbol_error", 16},
                                         {"LinkErrorRecoveryCounter", "link_error_recovery", 8},
                                         {"LinkDownedCounter", "link_downed", 8},
                                         {"PortRcvErrors", "port_rcv_errors", 16},
                                         {"PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors", 16},
                                         {"PortRcvSwitchRelayErrors", "port_rcv_switch_relay_errors", 16},
                                         {"PortXmitDiscards", "port_xmit_discards", 16},
                                         {"PortXmitConstraintErrors", "port_xmit_constraint_errors", 8},
                                         {"PortRcvConstraintErrors", "port_rcv_constraint_errors", 8},
                                         {"LocalLinkIntegrityErrors", "local_link_integrity_errors", 4},
                                         {"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors", 4},
                                         {"VL15Dropped", "VL15_dropped", 16},
                                         {"QP1Dropped", "", 16},
                                         {"PortXmitWait", "port_xmit_wait", 32},
                                         {"PortLocalPhysicalErrors", "", 16},
                                         {"PortMalformedPktErrors", "", 16},
                                         {"PortBufferOverrunErrors", "", 16},
                                         {"PortDLIDMappingErrors", "", 16},
                                         {"PortVLMappingErrors", "", 16},
                                         {"PortLoopingErrors", "", 16}}};

}  // namespace

model::CounterValue counter_of(std::string_view name, uint64_t value, bool extended) {
  uint64_t end = std::numeric_limits<uint64_t>::max();
  if (!extended) {
    for (const Width& width : kWidths) {
      if (name == width.of_tools || name == width.of_sysfs) end = (uint64_t{1} << width.bits) - 1;
    }
  }
  return {value, value >= end};
}

}  // namespace railwitness::fabric
