#include "probes/fabric/readers/mlxlink.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

constexpr size_t kMaxLanes = 64;

std::optional<double> real_of(std::string_view text) {
  double value = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Rates below 1e-100 are no measurement: no link runs long enough.
std::optional<model::ErrorRate> rate_of(std::string_view text) {
  if (trim(text) == "15E-255") return model::ErrorRate{0, true};
  const auto rate = real_of(text);
  if (!rate || *rate < 0 || *rate > 1) return std::nullopt;
  if (*rate < 1e-100) return model::ErrorRate{0, true};
  return model::ErrorRate{*rate, false};
}

// ["1", "2"], {"values": ["1", "2"]}
std::vector<std::string> lanes_of(const json& group, const char* name) {
  std::vector<std::string> out;
  const json* list = member_of(group, name);
  if (list != nullptr && list->is_object()) list = member_of(*list, "values");
  if (list == nullptr || !list->is_array()) return out;
  for (const json& value : *list) {
    if (out.size() >= kMaxLanes) break;
    const auto* text = value.get_ptr<const std::string*>();
    out.push_back(text != nullptr ? *text : model::dump(value));
  }
  return out;
}

// "265.504,N/A,248.416,248.416 [40..480]"; empty: "N/A" or not there.
std::optional<model::ModuleValue> module_value(const json& group, const char* name) {
  const std::string said = text_member(group, name);
  std::string_view range = said;
  std::string_view list = take_until(range, "[");
  if (trim(list).empty()) return std::nullopt;
  model::ModuleValue out;
  while (!list.empty() && out.values.size() < kMaxLanes) out.values.push_back(real_of(take_until(list, ",")));
  if (take_suffix(range, "]")) {
    out.low = real_of(take_until(range, ".."));
    out.high = real_of(range);
  }
  return out;
}

model::PortState state_of(const std::string& said) {
  if (said == "Active") return model::PortState::kUp;
  if (said == "Disable" || said == "Disabled") return model::PortState::kDisabled;
  if (said == "Polling" || said == "Initialize" || said == "Init" || said == "Armed")
    return model::PortState::kTraining;
  if (said == "Down" || said == "Close port") return model::PortState::kDown;
  return model::PortState::kUnknown;
}

// "400G" of "4x": what one lane carries.
void set_speed(const json& operational, model::FabricPort& port) {
  std::string width = text_member(operational, "Width"), speed = text_member(operational, "Speed");
  std::string_view lanes = width, total = speed;
  if (take_suffix(lanes, "x")) {
    if (const auto count = number_of(lanes); count && *count > 0 && *count <= kMaxLanes)
      port.lanes = static_cast<uint32_t>(*count);
  }
  if (speed.starts_with("IB-")) {
    port.link_layer = "InfiniBand";
    if (const uint32_t mbps = lane_mbps_of(std::string_view(speed).substr(3)); mbps != 0) port.lane_mbps = mbps;
  } else if (take_suffix(total, "G")) {
    port.link_layer = "Ethernet";
    const auto gbps = number_of(total);
    if (gbps && *gbps <= 10000 && port.lanes) port.lane_mbps = static_cast<uint32_t>(*gbps * 1000 / *port.lanes);
  }
}

void set_counters(const json& counters, model::LinkQuality& out) {
  for (const char* name : {"Effective Physical Errors", "Link Down Counter", "Link Error Recovery Counter"}) {
    if (const auto value = number_member(counters, name)) out.port.counters[name] = {*value, false};
  }
  out.raw_ber = rate_of(text_member(counters, "Raw Physical BER"));
  out.effective_ber = rate_of(text_member(counters, "Effective Physical BER"));
  for (const std::string& lane : lanes_of(counters, "Raw Physical BER Per Lane"))
    out.raw_ber_of_lane.push_back(rate_of(lane));
  for (const std::string& lane : lanes_of(counters, "Raw Physical Errors Per Lane"))
    out.raw_errors_of_lane.push_back(number_of(trim(lane)));
}

void set_module(const json& module, model::LinkQuality& out) {
  out.temperature_c = module_value(module, "Temperature [C]");
  out.voltage_mv = module_value(module, "Voltage [mV]");
  out.bias_ma = module_value(module, "Bias Current [mA]");
  out.rx_power_dbm = module_value(module, "Rx Power Current [dBm]");
  out.tx_power_dbm = module_value(module, "Tx Power Current [dBm]");
  out.module_vendor = text_member(module, "Vendor Name");
  out.module_part = text_member(module, "Vendor Part Number");
  out.module_serial = text_member(module, "Vendor Serial Number");
}

void tell_uneven_lanes(model::LinkQuality& out) {
  std::optional<double> best;
  for (const auto& lane : out.raw_ber_of_lane) {
    if (lane && !lane->none_seen && (!best || lane->rate < *best)) best = lane->rate;
  }
  for (size_t i = 0; best && i < out.raw_ber_of_lane.size(); ++i) {
    const auto& lane = out.raw_ber_of_lane[i];
    if (lane && lane->rate >= *best * 9.99)
      out.remarks.push_back(
          {0, fmt::format("lane {} has a raw error rate of {:g}, the best one {:g}", i, lane->rate, *best)});
  }
}

}  // namespace

absl::StatusOr<model::LinkQuality> read_mlxlink(std::string_view file, std::string_view bytes) {
  const absl::StatusOr<json> top = read_json(file, bytes);
  if (!top.ok()) return top.status();
  if (const json* status = member_of(*top, "status")) {
    const auto code = number_member(*status, "code");
    if (!code || *code != 0) return refuse(file, 0, "mlxlink failed: " + text_member(*status, "message"));
  }
  const json* result = member_of(*top, "result");
  const json* output = result == nullptr ? nullptr : member_of(*result, "output");
  if (output == nullptr || !output->is_object())
    return refuse(file, 0, "no member result.output: no answer of mlxlink --json");

  model::LinkQuality out;
  out.source = {.kind = "mlxlink", .file = std::string(file), .wall_ns = std::nullopt};
  const json none = json::object();
  const auto group = [&](const char* name) -> const json& {
    const json* found = member_of(*output, name);
    return found == nullptr ? none : *found;
  };
  const json& operational = group("Operational Info");
  out.port.state = state_of(text_member(operational, "State"));
  out.physical_state = text_member(operational, "Physical state");
  out.fec = text_member(operational, "FEC");
  set_speed(operational, out.port);
  set_counters(group("Physical Counters and BER Info"), out);
  set_module(group("Module Info"), out);
  out.recommendation = text_member(group("Troubleshooting Info"), "Recommendation");
  tell_uneven_lanes(out);
  return out;
}

}  // namespace railwitness::fabric
