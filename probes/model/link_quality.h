// How well one port's link carries: speed, error rates, what its module measures. As mlxlink says it; nothing is
// judged.
#ifndef RAILWITNESS_PROBES_MODEL_LINK_QUALITY_H_
#define RAILWITNESS_PROBES_MODEL_LINK_QUALITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::model {

// A bit error rate; empty where it is not known.
struct ErrorRate {
  double rate = 0;
  bool none_seen = false;  // the tool's way to say 0, "15E-255"
};

// Of a module, per lane or one for all, with the range that the tool says is right.
struct ModuleValue {
  std::vector<std::optional<double>> values;  // empty optional: "N/A"
  std::optional<double> low, high;
};

struct LinkQuality {
  Source source;
  FabricPort port;  // device and number are not said
  std::string physical_state, fec, recommendation;
  std::optional<ErrorRate> raw_ber, effective_ber;
  std::vector<std::optional<ErrorRate>> raw_ber_of_lane;
  std::vector<std::optional<uint64_t>> raw_errors_of_lane;
  std::optional<ModuleValue> temperature_c, voltage_mv, bias_ma, rx_power_dbm, tx_power_dbm;
  std::string module_vendor, module_part, module_serial;
  std::vector<Remark> remarks;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_LINK_QUALITY_H_
