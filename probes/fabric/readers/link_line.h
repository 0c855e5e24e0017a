// The line of one port that iblinkinfo prints, and ibqueryerrors as "Link info". Source: man iblinkinfo, and the tools.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_LINK_LINE_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_LINK_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

struct LinkLine {
  std::string guid, name;  // of this end: a switch's node, a CA's port; either can be left out
  uint32_t lid = 0, port = 0;
  model::PortState state = model::PortState::kUnknown;
  std::optional<uint32_t> lanes, lane_mbps, could_be_lanes, could_be_lane_mbps;
  bool has_far = false;
  std::string far_guid, far_name;
  uint32_t far_lid = 0, far_port = 0;
};

// Empty: no such line.
std::optional<LinkLine> link_line_of(std::string_view line);

// What the line says of its own end.
void describe_port(const LinkLine& from, uint32_t line, model::FabricPort& port);

// From the words of the tools, "Active" and "LinkUp": whatever is not known is kUnknown.
model::PortState port_state_of(std::string_view logical, std::string_view physical);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_LINK_LINE_H_
