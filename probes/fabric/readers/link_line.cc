#include "probes/fabric/readers/link_line.h"

#include "absl/strings/numbers.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

struct Patterns {
  //       0xec0d9a03003d62be      4    1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>   2   17[  ] "MF0;SB7700:MSB7700/U1" ( )
  // 0xf452140300f55051 "  node mlx4_0"  37    1[  ] ==( ... )==>  0xf45214030067c630  5   16[  ] "MF0;switch:SX6036/U1" ( )
  // Behind the state, with -p: " (HOQ:16 VL_Stall:7)".
  const Pattern line{R"re(\s*(?:0[xX]([0-9a-fA-F]+)\s+)?(?:"(.*?)"\s+)?(\d+)\s+(\d+)\[[^\]]*\]\s+==\((.*?)\)(?:\s*\([^)]*\))?==>)re"
                     R"re(\s*(?:0[xX]([0-9a-fA-F]+)\s+)?(?:(\d+)\s+(\d+))?\s*\[[^\]]*\]\s*"(.*)"\s*(\(.*\))?\s*)re"};
  const Pattern state{R"re(\s*(?:(\d+)X\s+(.*\S)\s+)?(\w+)/\s*(\w+)\s*)re"};
  const Pattern speed{R"re((?:([0-9.]+)\s*Gbps.*|(FDR10).*))re"};
  const Pattern could_be_wide{R"re(.*Could be\s+(\d+)X.*)re"};
  const Pattern could_be_fast{R"re(.*Could be\s+(?:([0-9.]+)\s*Gbps|(FDR10)).*)re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

std::optional<uint32_t> speed_of(const Pattern& pattern, std::string_view text) {
  std::string gbps, name;
  if (!pattern.matches(text, &gbps, &name)) return std::nullopt;
  // "10.0 Gbps (FDR10)" in some versions.
  if (!name.empty() || text.find("FDR10") != std::string_view::npos) return lane_mbps_of("FDR10");
  return mbps_of_gbps(gbps);
}

}  // namespace

model::PortState port_state_of(std::string_view logical, std::string_view physical) {
  if (physical == "Disabled") return model::PortState::kDisabled;
  if (logical == "Active") return model::PortState::kUp;
  if (logical.starts_with("Init") || logical == "Armed" || physical.find("Training") != std::string_view::npos) {
    return model::PortState::kTraining;
  }
  return logical == "Down" ? model::PortState::kDown : model::PortState::kUnknown;
}

std::optional<LinkLine> link_line_of(std::string_view line) {
  LinkLine read;
  std::string state, far_lid, far_port, could_be, width, speed, logical, physical;
  if (!patterns().line.matches(line, &read.guid, &read.name, &read.lid, &read.port, &state, &read.far_guid, &far_lid, &far_port,
                               &read.far_name, &could_be) ||
      !patterns().state.matches(state, &width, &speed, &logical, &physical)) {
    return std::nullopt;
  }
  read.guid = guid_of(read.guid);
  read.far_guid = guid_of(read.far_guid);
  read.name = std::string(trim(read.name));
  read.far_name = std::string(trim(read.far_name));
  read.state = port_state_of(logical, physical);
  if (uint32_t lanes = 0; absl::SimpleAtoi(width, &lanes)) read.lanes = lanes;
  read.lane_mbps = speed_of(patterns().speed, speed);
  if (uint32_t lanes = 0; patterns().could_be_wide.matches(could_be, &lanes)) read.could_be_lanes = lanes;
  read.could_be_lane_mbps = speed_of(patterns().could_be_fast, could_be);
  read.has_far = absl::SimpleAtoi(far_lid, &read.far_lid) && absl::SimpleAtoi(far_port, &read.far_port);
  return read;
}

void describe_port(const LinkLine& from, uint32_t line, model::FabricPort& port) {
  port.line = line;
  port.state = from.state;
  port.lanes = from.lanes;
  port.lane_mbps = from.lane_mbps;
  port.could_be_lanes = from.could_be_lanes;
  port.could_be_lane_mbps = from.could_be_lane_mbps;
}

}  // namespace railwitness::fabric
