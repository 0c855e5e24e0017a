#include "probes/fabric/lldp.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

constexpr size_t kMaxInterfaces = 1024;
constexpr size_t kMaxName = 256;

absl::Status bad(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("lldpctl: member {}: {}", path, what));
}

// json0 wraps every value in an array, json only where there are several: the first one stands for both.
const json& first_of(const json& value) {
  return value.is_array() && !value.empty() ? value.front() : value;
}

const json* member(const json& object, const char* name) {
  const json& inner = first_of(object);
  if (!inner.is_object()) return nullptr;
  const auto found = inner.find(name);
  return found == inner.end() ? nullptr : &*found;
}

// "x", {"value": "x"}, [{"value": "x"}]; empty if it is none of these.
std::string text_of(const json* value) {
  if (value == nullptr) return {};
  const json& inner = first_of(*value);
  if (const auto* text = inner.get_ptr<const std::string*>()) return model::printable(*text, kMaxName);
  const json* wrapped = member(inner, "value");
  return wrapped == nullptr ? std::string() : text_of(wrapped);
}

struct Id {
  std::string type, value;
};

Id id_of(const json& holder) {
  const json* id = member(holder, "id");
  if (id == nullptr) return {};
  if (first_of(*id).is_string()) return {"", text_of(id)};
  return {text_of(member(*id, "type")), text_of(member(*id, "value"))};
}

struct Neighbour {
  model::Edge edge;
  bool nic_agent = false;  // a NIC's own agent: not a switch
  int likeness = 0;        // to a switch: larger is likelier
};

bool enabled_capability(const json& chassis, std::string_view type) {
  const json* list = member(chassis, "capability");
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->begin(), list->end(), [&](const json& item) {
    const json* on = member(item, "enabled");
    return text_of(member(item, "type")) == type && on != nullptr && on->is_boolean() && on->get<bool>();
  });
}

bool mentions_capability(const json& chassis, std::string_view type) {
  const json* list = member(chassis, "capability");
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->begin(), list->end(),
                     [&](const json& item) { return text_of(member(item, "type")) == type; });
}

// Switches bridge or route, and say neither "Station" nor "Wlan"; lldpd of a general-purpose Linux lists these.
int switch_likeness(const json& chassis, bool named) {
  int likeness = named ? 2 : 0;
  if (enabled_capability(chassis, "Bridge") || enabled_capability(chassis, "Router")) likeness += 2;
  if (mentions_capability(chassis, "Wlan")) likeness -= 1;
  if (enabled_capability(chassis, "Station")) likeness -= 2;
  if (absl::AsciiStrToLower(text_of(member(chassis, "descr"))).find("bluefield") != std::string::npos) likeness -= 3;
  return likeness;
}

bool looks_like_port_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text.find(' ') == std::string_view::npos;
}

// The port's name as people know it. A MAC address, or a bare number (an ifIndex), names nothing: then the description
// does, which those agents fill with the interface's name.
std::string port_name(const json& port) {
  const Id id = id_of(port);
  const std::string descr = text_of(member(port, "descr"));
  const bool number =
      !id.value.empty() && std::all_of(id.value.begin(), id.value.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
  if ((id.type == "mac" || number || id.value.empty()) && looks_like_port_name(descr)) return descr;
  return id.value;
}

// chassis is {fields}, [{fields}] or {NAME: {fields}}: in the last one no field is called id, name or descr.
struct Chassis {
  std::string name;
  const json* fields = nullptr;
};

absl::StatusOr<Chassis> chassis_of(const json& holder, const std::string& path) {
  const json* value = member(holder, "chassis");
  if (value == nullptr) return Chassis{};
  const json& inner = first_of(*value);
  if (!inner.is_object()) return bad(path + ".chassis", "not an object");
  if (inner.contains("id") || inner.contains("name") || inner.contains("descr") || inner.empty()) {
    return Chassis{text_of(member(inner, "name")), &inner};
  }
  const auto only = inner.begin();
  if (!only.value().is_object()) return bad(path + ".chassis", "neither fields nor a neighbour's name with fields");
  return Chassis{model::printable(only.key(), kMaxName), &only.value()};
}

absl::StatusOr<Neighbour> neighbour_of(const std::string& netdev, const json& fields, const std::string& path) {
  absl::StatusOr<Chassis> chassis = chassis_of(fields, path);
  if (!chassis.ok()) return chassis.status();
  const json* port = member(fields, "port");
  if (port != nullptr && !first_of(*port).is_object()) return bad(path + ".port", "not an object");

  Neighbour out;
  out.edge.netdev = netdev;
  out.edge.source = "lldp";
  out.edge.switch_name = chassis->name;
  Id chassis_id, port_id;
  if (chassis->fields != nullptr) {
    chassis_id = id_of(*chassis->fields);
    out.likeness = switch_likeness(*chassis->fields, !chassis->name.empty());
  }
  if (port != nullptr) {
    port_id = id_of(*port);
    out.edge.switch_port = port_name(*port);
  }
  out.edge.switch_id = chassis_id.value;
  if (out.edge.switch_name.empty()) out.edge.switch_name = chassis_id.value;
  out.nic_agent = chassis->name.empty() && chassis_id.type == "mac" && chassis_id.value == port_id.value;
  return out;
}

// Interfaces by name, best neighbour of each.
class Best {
 public:
  absl::Status add(const std::string& netdev, const json& fields, const std::string& path) {
    if (netdev.empty()) return bad(path, "an interface without name");
    if (!first_of(fields).is_object()) return bad(path, "not an object");
    if (by_netdev_.size() >= kMaxInterfaces) return bad(path, fmt::format("more than {} interfaces", kMaxInterfaces));
    absl::StatusOr<Neighbour> found = neighbour_of(netdev, fields, path);
    if (!found.ok()) return found.status();
    if (found->nic_agent || (found->edge.switch_name.empty() && found->edge.switch_port.empty())) {
      return absl::OkStatus();
    }
    const auto known = by_netdev_.find(netdev);
    if (known == by_netdev_.end())
      by_netdev_.emplace(netdev, *std::move(found));
    else if (found->likeness > known->second.likeness)
      known->second = *std::move(found);
    return absl::OkStatus();
  }

  std::vector<model::Edge> edges() && {
    std::vector<model::Edge> out;
    for (auto& [netdev, neighbour] : by_netdev_) out.push_back(std::move(neighbour.edge));
    return out;
  }

 private:
  std::map<std::string, Neighbour> by_netdev_;
};

// One element of the interface list: json0 has {"name": "eth0", ...}, json {"eth0": {...}, ...}; the neighbours of one
// port may also stand in an array behind its name.
absl::Status add_interfaces(const json& element, const std::string& path, Best& best) {
  if (!element.is_object()) return bad(path, "not an object");
  if (const json* name = member(element, "name"); name != nullptr && name->is_string()) {
    return best.add(text_of(name), element, path);
  }
  for (const auto& [key, fields] : element.items()) {
    const std::string netdev = model::printable(key, kMaxName);
    const std::string below = fmt::format("{}.{}", path, netdev);
    if (!fields.is_array()) {
      if (absl::Status added = best.add(netdev, fields, below); !added.ok()) return added;
      continue;
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      absl::Status added = best.add(netdev, fields[i], fmt::format("{}[{}]", below, i));
      if (!added.ok()) return added;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<model::Edge>> parse_lldp_json(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::vector<model::Edge>();
  constexpr model::JsonBounds kBounds{.bytes = size_t{1} << 20, .depth = 32};
  const absl::StatusOr<json> top = model::parse_bounded_json(text, kBounds);
  if (!top.ok()) {
    return absl::Status(top.status().code(), fmt::format("lldpctl: {}", std::string(top.status().message())));
  }
  if (!first_of(*top).is_object()) return bad("(top)", "not an object");
  const json* lldp = member(*top, "lldp");
  if (lldp == nullptr) return std::vector<model::Edge>();
  if (lldp->is_array() && lldp->empty()) return std::vector<model::Edge>();
  if (!first_of(*lldp).is_object()) return bad("lldp", "not an object");
  const json* interfaces = member(*lldp, "interface");
  if (interfaces == nullptr) return std::vector<model::Edge>();

  Best best;
  if (interfaces->is_object()) {
    if (absl::Status added = add_interfaces(*interfaces, "lldp.interface", best); !added.ok()) return added;
  } else if (interfaces->is_array()) {
    for (size_t i = 0; i < interfaces->size(); ++i) {
      absl::Status added = add_interfaces((*interfaces)[i], fmt::format("lldp.interface[{}]", i), best);
      if (!added.ok()) return added;
    }
  } else {
    return bad("lldp.interface", "neither an object nor an array");
  }
  return std::move(best).edges();
}

}  // namespace railwitness::fabric
