// lldpctl -f json and json0.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/lldp_heard.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

absl::Status bad(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("lldpctl: member {}: {}", path, what));
}

// json0 wraps every value in an array, json only where there are several: the first one stands for both.
const json& first_of(const json& value) {
  return value.is_array() && !value.empty() ? value.front() : value;
}

const json* member(const json& object, const char* name) {
  return member_of(first_of(object), name);
}

// "x", {"value": "x"}, [{"value": "x"}]; empty if it is none of these.
std::string text_of(const json* value) {
  if (value == nullptr) return {};
  const json& inner = first_of(*value);
  if (const auto* text = inner.get_ptr<const std::string*>()) return model::printable(*text, kMaxNameBytes);
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

void add_capabilities(const json& chassis, LldpHeard& out) {
  const json* list = member(chassis, "capability");
  if (list == nullptr || !list->is_array()) return;
  for (const json& item : *list) {
    const std::string type = text_of(member(item, "type"));
    out.mentioned.insert(type);
    const json* on = member(item, "enabled");
    if (on != nullptr && on->is_boolean() && on->get<bool>()) out.enabled.insert(type);
  }
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
  return Chassis{model::printable(only.key(), kMaxNameBytes), &only.value()};
}

absl::Status add_heard(const std::string& netdev, const json& fields, const std::string& path, LldpOutput& out) {
  if (netdev.empty()) return bad(path, "an interface without name");
  if (!first_of(fields).is_object()) return bad(path, "not an object");
  if (out.heard.size() >= kMaxHeard) return bad(path, fmt::format("more than {} neighbours", kMaxHeard));
  absl::StatusOr<Chassis> chassis = chassis_of(fields, path);
  if (!chassis.ok()) return chassis.status();
  const json* port = member(fields, "port");
  if (port != nullptr && !first_of(*port).is_object()) return bad(path + ".port", "not an object");

  LldpHeard heard;
  heard.netdev = netdev;
  heard.name = chassis->name;
  if (chassis->fields != nullptr) {
    Id id = id_of(*chassis->fields);
    heard.chassis_type = std::move(id.type);
    heard.chassis_id = std::move(id.value);
    heard.descr = text_of(member(*chassis->fields, "descr"));
    add_capabilities(*chassis->fields, heard);
  }
  if (port != nullptr) {
    Id id = id_of(*port);
    heard.port_type = std::move(id.type);
    heard.port_id = std::move(id.value);
    heard.port_descr = text_of(member(*port, "descr"));
  }
  out.heard.push_back(std::move(heard));
  return absl::OkStatus();
}

// One element of the interface list: json0 has {"name": "eth0", ...}, json {"eth0": {...}, ...}; the neighbours of one
// port may also stand in an array behind its name.
absl::Status add_interfaces(const json& element, const std::string& path, LldpOutput& out) {
  if (!element.is_object()) return bad(path, "not an object");
  if (const json* name = member(element, "name"); name != nullptr && name->is_string()) {
    return add_heard(text_of(name), element, path, out);
  }
  for (const auto& [key, fields] : element.items()) {
    const std::string netdev = model::printable(key, kMaxNameBytes);
    const std::string below = fmt::format("{}.{}", path, netdev);
    if (!fields.is_array()) {
      if (absl::Status added = add_heard(netdev, fields, below, out); !added.ok()) return added;
      continue;
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      absl::Status added = add_heard(netdev, fields[i], fmt::format("{}[{}]", below, i), out);
      if (!added.ok()) return added;
    }
  }
  return absl::OkStatus();
}

// SONiC: who runs lldpd.
absl::Status add_local(const json& top, LldpOutput& out) {
  const json* wrapper = member(top, "lldp_loc_chassis");
  const json* local = wrapper == nullptr ? nullptr : member(*wrapper, "local-chassis");
  if (local == nullptr) return absl::OkStatus();
  absl::StatusOr<Chassis> chassis = chassis_of(*local, "lldp_loc_chassis.local-chassis");
  if (!chassis.ok()) return chassis.status();
  out.local_name = chassis->name;
  if (chassis->fields != nullptr) out.local_chassis = id_of(*chassis->fields).value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LldpOutput> heard_in_json(const json& top) {
  LldpOutput out;
  if (!first_of(top).is_object()) return bad("(top)", "not an object");
  if (absl::Status added = add_local(top, out); !added.ok()) return added;
  const json* lldp = member(top, "lldp");
  if (lldp == nullptr) return out;
  if (lldp->is_array() && lldp->empty()) return out;
  if (!first_of(*lldp).is_object()) return bad("lldp", "not an object");
  const json* interfaces = member(*lldp, "interface");
  if (interfaces == nullptr) return out;

  if (interfaces->is_object()) {
    if (absl::Status added = add_interfaces(*interfaces, "lldp.interface", out); !added.ok()) return added;
  } else if (interfaces->is_array()) {
    for (size_t i = 0; i < interfaces->size(); ++i) {
      absl::Status added = add_interfaces((*interfaces)[i], fmt::format("lldp.interface[{}]", i), out);
      if (!added.ok()) return added;
    }
  } else {
    return bad("lldp.interface", "neither an object nor an array");
  }
  return out;
}

}  // namespace railwitness::fabric
