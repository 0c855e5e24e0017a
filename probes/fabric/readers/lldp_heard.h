// Between the forms of lldpctl's output and what is made of them: one neighbour as a port hears it.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_LLDP_HEARD_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_LLDP_HEARD_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

inline constexpr size_t kMaxHeard = 8192;  // of all ports

struct LldpHeard {
  std::string netdev;
  std::string chassis_type, chassis_id, name, descr;
  std::set<std::string> enabled, mentioned;  // capabilities
  std::string port_type, port_id, port_descr;
  uint32_t line = 0;
};

struct LldpOutput {
  std::string local_name, local_chassis;  // of the device that runs lldpd; empty: not said
  std::vector<LldpHeard> heard;           // in the order said
  std::vector<model::Remark> remarks;
};

// Errors name the member. `text` is already known to fit.
absl::StatusOr<LldpOutput> heard_in_json(const nlohmann::json& top);
// Lines "lldp.INTERFACE.MEMBER=VALUE".
absl::StatusOr<LldpOutput> heard_in_keyvalue(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_LLDP_HEARD_H_
