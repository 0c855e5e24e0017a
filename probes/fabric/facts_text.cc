#include "probes/fabric/facts_text.h"

#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "probes/model/json_text.h"

namespace railwitness::fabric {
namespace {

using model::FabricFacts;
using nlohmann::json;

constexpr int kVersion = 1;
constexpr char kType[] = "railwitness-fabric";
constexpr char kWayOut[] = "remove the file to begin a new memory";

void put(json& to, const char* name, const std::string& text) {
  if (!text.empty()) to[name] = text;
}

template <class T>
void put(json& to, const char* name, const std::optional<T>& value) {
  if (value) to[name] = *value;
}

json device_json(const model::FabricDevice& device) {
  json out = json::object();
  out["kind"] = static_cast<int>(device.kind);
  put(out, "guid", device.guid);
  put(out, "system_guid", device.system_guid);
  put(out, "chassis", device.chassis);
  put(out, "name", device.name);
  put(out, "host", device.host);
  put(out, "nic", device.nic);
  put(out, "vendor_id", device.vendor_id);
  put(out, "device_id", device.device_id);
  put(out, "lid", device.lid);
  return out;
}

json port_json(const model::FabricPort& port) {
  json out{{"device", port.device}};
  if (port.number != 0) out["number"] = port.number;
  put(out, "label", port.label);
  put(out, "guid", port.guid);
  if (port.state != model::PortState::kUnknown) out["state"] = static_cast<int>(port.state);
  put(out, "lanes", port.lanes);
  put(out, "lane_mbps", port.lane_mbps);
  for (const auto& [name, value] : port.counters) {
    out["counters"][name] = value.saturated ? json::array({value.value, true}) : json::array({value.value});
  }
  return out;
}

json facts_json(const FabricFacts& facts) {
  json out{{"kind", facts.source.kind}, {"file", facts.source.file}};
  put(out, "wall_ns", facts.source.wall_ns);
  if (facts.is_plan) out["is_plan"] = true;
  out["devices"] = out["ports"] = out["links"] = json::array();
  for (const auto& device : facts.devices) out["devices"].push_back(device_json(device));
  for (const auto& port : facts.ports) out["ports"].push_back(port_json(port));
  for (const auto& link : facts.links) {
    json one = json::array({link.a, link.b});
    if (!link.cable.empty()) one.push_back(link.cable);
    out["links"].push_back(std::move(one));
  }
  return out;
}

absl::Status wrong(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{} {}; {}", where, what, kWayOut));
}

std::string text_of(const json& from, const char* name) {
  const auto at = from.find(name);
  return at != from.end() && at->is_string() ? at->get<std::string>() : std::string();
}

template <class T>
std::optional<T> number_of(const json& from, const char* name) {
  const auto at = from.find(name);
  if (at == from.end() || !at->is_number_integer()) return {};
  if (at->is_number_unsigned()) {
    const uint64_t value = at->get<uint64_t>();
    return value <= static_cast<uint64_t>(std::numeric_limits<T>::max()) ? std::optional<T>(static_cast<T>(value)) : std::nullopt;
  }
  const int64_t value = at->get<int64_t>();
  if constexpr (std::is_signed_v<T>) return static_cast<T>(value);
  return {};
}

model::FabricDevice device_from(const json& from) {
  model::FabricDevice out;
  const auto kind = number_of<uint32_t>(from, "kind").value_or(0);
  if (kind <= static_cast<uint32_t>(model::DeviceKind::kOther)) out.kind = static_cast<model::DeviceKind>(kind);
  out.guid = text_of(from, "guid");
  out.system_guid = text_of(from, "system_guid");
  out.chassis = text_of(from, "chassis");
  out.name = text_of(from, "name");
  out.host = text_of(from, "host");
  out.nic = text_of(from, "nic");
  out.vendor_id = number_of<uint32_t>(from, "vendor_id");
  out.device_id = number_of<uint32_t>(from, "device_id");
  out.lid = number_of<uint32_t>(from, "lid");
  return out;
}

model::FabricPort port_from(const json& from) {
  model::FabricPort out;
  out.number = number_of<uint32_t>(from, "number").value_or(0);
  out.label = text_of(from, "label");
  out.guid = text_of(from, "guid");
  const auto state = number_of<uint32_t>(from, "state").value_or(0);
  if (state <= static_cast<uint32_t>(model::PortState::kTraining)) out.state = static_cast<model::PortState>(state);
  out.lanes = number_of<uint32_t>(from, "lanes");
  out.lane_mbps = number_of<uint32_t>(from, "lane_mbps");
  const auto counters = from.find("counters");
  if (counters == from.end() || !counters->is_object()) return out;
  for (const auto& [name, value] : counters->items()) {
    if (!value.is_array() || value.empty() || !value[0].is_number_unsigned()) continue;
    out.counters[name] = {value[0].get<uint64_t>(), value.size() > 1};
  }
  return out;
}

absl::StatusOr<FabricFacts> facts_from(const json& from, const std::string& where) {
  if (!from.is_object()) return wrong(where, "is no object");
  for (const char* name : {"devices", "ports", "links"}) {
    if (!from.contains(name) || !from[name].is_array()) return wrong(where, fmt::format("has no list '{}'", name));
  }
  FabricFacts out;
  out.source = {text_of(from, "kind"), text_of(from, "file"), number_of<int64_t>(from, "wall_ns"), {}};
  for (const json& device : from["devices"]) {
    if (!device.is_object()) return wrong(where + ".devices", "holds what is no object");
    out.devices.push_back(device_from(device));
  }
  for (const json& port : from["ports"]) {
    const auto device = port.is_object() ? number_of<size_t>(port, "device") : std::nullopt;
    if (!device || *device >= out.devices.size()) return wrong(where + ".ports", "holds one of no device");
    out.ports.push_back(port_from(port));
    out.ports.back().device = *device;
  }
  for (const json& link : from["links"]) {
    const bool is_pair = link.is_array() && link.size() >= 2 && link[0].is_number_unsigned() && link[1].is_number_unsigned();
    if (!is_pair) return wrong(where + ".links", "holds what is no pair of ports");
    const size_t a = link[0].get<size_t>(), b = link[1].get<size_t>();
    if (a >= out.ports.size() || b >= out.ports.size()) return wrong(where + ".links", "names a port that is not there");
    out.links.push_back({a, b, false, link.size() > 2 && link[2].is_string() ? link[2].get<std::string>() : std::string(), 0});
  }
  return out;
}

}  // namespace

std::string facts_text(const FabricFacts& facts) {
  return model::dump(facts_json(facts));
}

std::string state_text(const std::vector<FabricFacts>& facts) {
  std::string out = fmt::format("{{\"type\":\"{}\",\"version\":{},\"facts\":[", kType, kVersion);
  for (size_t i = 0; i < facts.size(); ++i) out += (i > 0 ? ",\n" : "\n") + facts_text(facts[i]);
  return out + "\n]}\n";
}

absl::StatusOr<std::vector<FabricFacts>> parse_state(std::string_view text) {
  const auto top = model::parse_bounded_json(text, {kMaxStateBytes, 8});
  if (!top.ok()) return wrong("the memory is damaged:", std::string(top.status().message()));
  if (!top->is_object() || text_of(*top, "type") != kType) return wrong("the file", fmt::format("is no memory of a fabric (no \"type\":\"{}\")", kType));
  const auto version = number_of<int>(*top, "version");
  if (version != kVersion) {
    return wrong("the memory", fmt::format("has version {}, {} is meant", version ? std::to_string(*version) : "none", kVersion));
  }
  if (!top->contains("facts") || !(*top)["facts"].is_array()) return wrong("the memory", "has no list 'facts'");
  std::vector<FabricFacts> out;
  for (const json& one : (*top)["facts"]) {
    auto facts = facts_from(one, fmt::format("facts[{}]", out.size()));
    if (!facts.ok()) return facts.status();
    out.push_back(*std::move(facts));
  }
  return out;
}

}  // namespace railwitness::fabric
