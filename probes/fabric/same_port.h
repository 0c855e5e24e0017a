// Whether a plan's name of a switch port and a source's can be one: "3" and "Ethernet3/1", "etp3", "swp3s0", "Eth1/3".
#ifndef RAILWITNESS_PROBES_FABRIC_SAME_PORT_H_
#define RAILWITNESS_PROBES_FABRIC_SAME_PORT_H_

#include <string_view>

namespace railwitness::fabric {

// True where one is the other, or the one is a number that the other has in it. Lenient: makers count cages, lanes and
// slots each in their own way, and a port is not called wrong on a spelling.
bool can_be_same_port(std::string_view a, std::string_view b);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_SAME_PORT_H_
