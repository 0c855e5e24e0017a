#include "probes/fabric/readers/ufm_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

// "SW-10:19" of port 19 to "SW-10".
std::string without_port(const std::string& description, uint32_t port) {
  std::string_view text = description;
  take_suffix(text, fmt::format(":{}", port));
  return std::string(trim(text));
}

model::PortState state_of(const std::string& physical) {
  if (physical == "Link Up" || physical == "LinkUp") return model::PortState::kUp;
  if (physical == "Disabled") return model::PortState::kDisabled;
  if (physical == "Polling" || physical == "Sleep" || physical == "Link Down") return model::PortState::kDown;
  if (physical.find("raining") != std::string::npos || physical.find("ecovery") != std::string::npos)
    return model::PortState::kTraining;
  return model::PortState::kUnknown;
}

struct End {
  std::string guid;
  uint32_t port = 0;
};

// "506b4b0300854600_25"
End end_of(std::string_view text) {
  std::string guid = guid_of(take_until(text, "_"));
  const auto port = number_of(text);
  if (guid.empty() || !port || *port > 65535) return {};
  return {std::move(guid), static_cast<uint32_t>(*port)};
}

class Facts {
 public:
  explicit Facts(std::string_view file) : file_(file) {
    out_.source = {.kind = "ufm_json", .file = file_, .wall_ns = std::nullopt};
  }

  absl::Status element(const json& value, const std::string& path) {
    if (member_of(value, "source_guid") != nullptr) return link(value, path);
    if (member_of(value, "node_guid") != nullptr && member_of(value, "port_num") != nullptr)
      return telemetry(value, path);
    if (member_of(value, "guid") != nullptr && member_of(value, "number") != nullptr) return port(value, path);
    return refuse(file_, 0, fmt::format("member {}: neither a link, a port nor telemetry of UFM", path));
  }

  model::FabricFacts take() && {
    if (rates_ > 0) out_.remarks.push_back({0, fmt::format("{} rates beside the counters are left out", rates_)});
    return std::move(out_);
  }

 private:
  void remark(std::string text) {
    if (out_.remarks.size() < 256) out_.remarks.push_back({0, std::move(text)});
  }

  size_t device(const std::string& guid) {
    const auto [known, is_new] = devices_.try_emplace(guid, out_.devices.size());
    if (is_new) out_.devices.emplace_back().guid = guid;
    return known->second;
  }

  size_t port_of(const std::string& guid, uint32_t number) {
    const size_t of = device(guid);
    const auto [known, is_new] = ports_.try_emplace({of, number}, out_.ports.size());
    if (is_new) {
      model::FabricPort& added = out_.ports.emplace_back();
      added.device = of;
      added.number = number;
      added.link_layer = "InfiniBand";
    }
    return known->second;
  }

  void name_device(size_t of, const std::string& description, uint32_t port, bool is_switch) {
    model::FabricDevice& known = out_.devices[of];
    known.name = without_port(description, port);
    const HostAndNic names = host_and_nic_of(known.name);
    known.host = names.host;
    known.nic = names.nic;
    if (!names.host.empty()) {
      known.kind = model::DeviceKind::kNic;
    } else if (is_switch) {
      known.kind = model::DeviceKind::kSwitch;
    }
  }

  void add_link(size_t a, size_t b, bool one_sided) {
    const auto [known, is_new] = links_.try_emplace({std::min(a, b), std::max(a, b)}, out_.links.size());
    if (is_new) {
      out_.links.push_back({.a = a, .b = b, .one_sided = one_sided, .cable = {}, .line = 0});
    } else {
      out_.links[known->second].one_sided = false;  // the far end says it too
    }
  }

  absl::Status link(const json& value, const std::string& path) {
    size_t ends[2] = {};
    std::string named;
    for (int i = 0; i < 2; ++i) {
      const std::string side = i == 0 ? "source" : "destination";
      const std::string guid = guid_of(text_member(value, (side + "_guid").c_str()));
      const auto number = small_number_member(value, (side + "_port").c_str());
      if (guid.empty() || !number)
        return refuse(file_, 0, fmt::format("member {}: {} has no GUID or no port", path, side));
      ends[i] = port_of(guid, *number);
      const std::string dname = text_member(value, (side + "_port_dname").c_str());
      name_device(out_.ports[ends[i]].device, text_member(value, (side + "_port_node_description").c_str()), *number,
                  number_of(dname).has_value());
      out_.ports[ends[i]].label = dname;
      if (const auto lanes = lanes_of(text_member(value, "width"))) out_.ports[ends[i]].lanes = lanes;
      named += fmt::format("{}{}_{}", named.empty() ? "" : ":", guid, *number);
    }
    add_link(ends[0], ends[1], false);
    std::string_view name_rest, name;
    const std::string said = text_member(value, "name");
    name_rest = said;
    name = take_until(name_rest, ":");
    const End a = end_of(name), b = end_of(name_rest);
    if (!a.guid.empty() && !b.guid.empty() && fmt::format("{}_{}:{}_{}", a.guid, a.port, b.guid, b.port) != named) {
      remark(fmt::format("member {}: its name {} has other GUIDs than its members {}; the members are taken", path,
                         said, named));
    }
    const std::string severity = text_member(value, "severity");
    if (!severity.empty() && severity != "Info") remark(fmt::format("member {}: UFM says severity {}", path, severity));
    return absl::OkStatus();
  }

  static std::optional<uint32_t> lanes_of(std::string_view width) {
    if (!take_suffix(width, "x") && !take_suffix(width, "X")) return std::nullopt;
    const auto lanes = number_of(width);
    if (!lanes || *lanes == 0 || *lanes > 64) return std::nullopt;
    return static_cast<uint32_t>(*lanes);
  }

  absl::Status port(const json& value, const std::string& path) {
    const std::string guid = guid_of(text_member(value, "guid"));
    const auto number = small_number_member(value, "number");
    if (guid.empty() || !number) return refuse(file_, 0, fmt::format("member {}: no GUID or no number", path));
    const size_t at = port_of(guid, *number);
    const bool says_switch = text_member(value, "description").starts_with("Switch");
    name_device(out_.ports[at].device, text_member(value, "node_description"), *number, says_switch);
    const bool is_host = out_.devices[out_.ports[at].device].kind == model::DeviceKind::kNic;
    if (says_switch && is_host)
      remark(fmt::format("member {}: described as a switch's port, but its node is {}: a host's", path,
                         out_.devices[out_.ports[at].device].name));
    out_.devices[out_.ports[at].device].system_guid = guid_of(text_member(value, "systemID"));
    model::FabricPort& port = out_.ports[at];
    if (is_host) port.guid = guid;
    port.label = text_member(value, "dname");
    port.lid = small_number_member(value, "lid");
    port.mtu_bytes = small_number_member(value, "mtu");
    port.state = state_of(text_member(value, "physical_state"));
    port.lanes = lanes_of(text_member(value, "active_width"));
    if (const uint32_t mbps = lane_mbps_of(text_member(value, "active_speed")); mbps != 0) port.lane_mbps = mbps;
    const End peer = end_of(text_member(value, "peer"));
    if (!peer.guid.empty()) add_link(at, port_of(peer.guid, peer.port), true);
    return absl::OkStatus();
  }

  absl::Status telemetry(const json& value, const std::string& path) {
    const std::string guid = guid_of(text_member(value, "node_guid"));
    const auto number = small_number_member(value, "port_num");
    if (guid.empty() || !number) return refuse(file_, 0, fmt::format("member {}: no node_guid or no port_num", path));
    model::FabricPort& port = out_.ports[port_of(guid, *number)];
    if (const std::string own = guid_of(text_member(value, "port_guid")); own != guid) port.guid = own;
    for (const auto& [name, counter] : value.items()) {
      if (name == "timestamp" || name == "port_num" || !counter.is_number()) continue;
      if (name.find("_f_u_") != std::string::npos || !counter.is_number_unsigned()) {
        ++rates_;
      } else {
        port.counters[model::printable(name, 128)] = {counter.get<uint64_t>(), false};
      }
    }
    const auto micros = number_member(value, "timestamp");
    if (micros && *micros < uint64_t{1} << 53)
      out_.source.wall_ns = std::max(out_.source.wall_ns.value_or(0), static_cast<int64_t>(*micros) * 1000);
    return absl::OkStatus();
  }

  std::string file_;
  model::FabricFacts out_;
  std::map<std::string, size_t> devices_;
  std::map<std::pair<size_t, uint32_t>, size_t> ports_;
  std::map<std::pair<size_t, size_t>, size_t> links_;
  size_t rates_ = 0;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ufm_json(std::string_view file, std::string_view bytes) {
  const absl::StatusOr<json> top = read_json(file, bytes);
  if (!top.ok()) return top.status();
  const json* list = &*top;
  std::string path = "(top)";
  if (const json* values = member_of(*top, "values")) {
    list = values;
    path = "values";
  }
  Facts facts(file);
  if (!list->is_array()) {
    if (absl::Status status = facts.element(*list, path); !status.ok()) return status;
    return std::move(facts).take();
  }
  for (size_t i = 0; i < list->size(); ++i) {
    if (absl::Status status = facts.element((*list)[i], fmt::format("{}[{}]", path, i)); !status.ok()) return status;
  }
  return std::move(facts).take();
}

}  // namespace railwitness::fabric
