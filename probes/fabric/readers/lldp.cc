#include "probes/fabric/readers/lldp.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/lldp_heard.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"

namespace railwitness::fabric {
namespace {

// Switches bridge or route, and say neither "Station" nor "Wlan"; lldpd of a general-purpose Linux lists these.
int switch_likeness(const LldpHeard& heard) {
  int likeness = heard.name.empty() ? 0 : 2;
  if (heard.enabled.contains("Bridge") || heard.enabled.contains("Router")) likeness += 2;
  if (heard.mentioned.contains("Wlan")) likeness -= 1;
  if (heard.enabled.contains("Station")) likeness -= 2;
  if (absl::AsciiStrToLower(heard.descr).find("bluefield") != std::string::npos) likeness -= 3;
  return likeness;
}

bool is_own_agent(const LldpHeard& heard) {
  return heard.name.empty() && heard.chassis_type == "mac" && heard.chassis_id == heard.port_id;
}

bool looks_like_port_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text.find(' ') == std::string_view::npos;
}

// The port's name as people know it. A MAC address, or a bare number (an ifIndex), names nothing: then the description
// does, which those agents fill with the interface's name.
const std::string& port_name(const LldpHeard& heard) {
  const bool number = !heard.port_id.empty() && std::all_of(heard.port_id.begin(), heard.port_id.end(),
                                                            [](unsigned char c) { return absl::ascii_isdigit(c); });
  const bool names_nothing = heard.port_type == "mac" || number || heard.port_id.empty();
  return names_nothing && looks_like_port_name(heard.port_descr) ? heard.port_descr : heard.port_id;
}

struct Chosen {
  const LldpHeard* heard = nullptr;
  std::vector<const LldpHeard*> others;
};

// By interface, the neighbour that looks most like a switch. Interfaces that hear only their own NIC have none.
std::map<std::string, Chosen> choose(const LldpOutput& output) {
  std::map<std::string, Chosen> chosen;
  for (const LldpHeard& heard : output.heard) {
    Chosen& of_port = chosen[heard.netdev];
    if (is_own_agent(heard) || (heard.name.empty() && heard.chassis_id.empty() && port_name(heard).empty())) {
      of_port.others.push_back(&heard);
    } else if (of_port.heard == nullptr) {
      of_port.heard = &heard;
    } else if (switch_likeness(heard) > switch_likeness(*of_port.heard)) {
      of_port.others.push_back(std::exchange(of_port.heard, &heard));
    } else {
      of_port.others.push_back(&heard);
    }
  }
  return chosen;
}

std::string called(const LldpHeard& heard) {
  return heard.name.empty() ? heard.chassis_id : heard.name;
}

// Facts of one output: devices once each. A name alone may be that of two switches, and a chassis id alone that of two
// which were set up alike; whether a neighbour without name is one of those with its id is for the map to say.
class Facts {
 public:
  Facts(std::string_view file, const LldpOutput& output) {
    facts_.source = {.kind = "lldp", .file = std::string(file), .wall_ns = std::nullopt};
    facts_.remarks = output.remarks;
    model::FabricDevice local;
    local.name = output.local_name;
    local.chassis = output.local_chassis;
    facts_.devices.push_back(std::move(local));
  }

  void add(const std::string& netdev, const Chosen& chosen) {
    const LldpHeard* heard = chosen.heard;
    if (heard == nullptr) {
      remark(chosen.others.front()->line,
             netdev + ": hears only an agent without a name, its own NIC's: what it is cabled to is not known");
      return;
    }
    for (const LldpHeard* other : chosen.others) {
      if (is_own_agent(*other)) continue;
      remark(other->line, fmt::format("{}: hears {} too; {} is taken, which looks more like a switch", netdev,
                                      called(*other), called(*heard)));
    }
    const size_t near = port(0, netdev, heard->line);
    const size_t far = port(device(*heard), port_name(*heard), heard->line);
    facts_.links.push_back({.a = near, .b = far, .one_sided = true, .cable = {}, .line = heard->line});
  }

  model::FabricFacts take() && {
    std::map<std::string, size_t> chassis_of_name;
    for (const model::FabricDevice& device : facts_.devices) {
      if (!device.name.empty()) ++chassis_of_name[device.name];
    }
    for (const auto& [name, count] : chassis_of_name) {
      if (count > 1)
        remark(0, fmt::format("{} switches are called {}: only the chassis id tells them apart", count, name));
    }
    return std::move(facts_);
  }

 private:
  void remark(uint32_t line, std::string text) { facts_.remarks.push_back({line, std::move(text)}); }

  size_t port(size_t of, std::string label, uint32_t line) {
    const auto [known, is_new] = ports_.try_emplace({of, label}, facts_.ports.size());
    if (!is_new) return known->second;
    model::FabricPort out;
    out.device = of;
    out.label = std::move(label);
    out.link_layer = "Ethernet";
    out.line = line;
    facts_.ports.push_back(std::move(out));
    return known->second;
  }

  size_t device(const LldpHeard& heard) {
    const auto [known, is_new] = devices_.try_emplace({heard.chassis_id, heard.name}, facts_.devices.size());
    if (is_new) {
      model::FabricDevice out;
      const bool forwards = heard.enabled.contains("Bridge") || heard.enabled.contains("Router");
      out.kind = forwards && switch_likeness(heard) > 0 ? model::DeviceKind::kSwitch : model::DeviceKind::kUnknown;
      out.name = heard.name;
      out.chassis = heard.chassis_id;
      out.line = heard.line;
      facts_.devices.push_back(std::move(out));
    }
    return known->second;
  }

  model::FabricFacts facts_;
  std::map<std::pair<std::string, std::string>, size_t> devices_;
  std::map<std::pair<size_t, std::string>, size_t> ports_;
};

absl::StatusOr<LldpOutput> heard_in(std::string_view file, std::string_view bytes) {
  const std::string_view text = trim(bytes);
  if (text.empty()) return LldpOutput();
  if (text.starts_with("lldp.")) return heard_in_keyvalue(file, bytes);
  if (text.front() != '{' && text.front() != '[') {
    return refuse(file, 1, "neither JSON nor \"lldp.INTERFACE.MEMBER=VALUE\"; give the output of lldpctl -f json");
  }
  const absl::StatusOr<nlohmann::json> top = read_json(file, bytes);
  if (!top.ok()) return top.status();
  absl::StatusOr<LldpOutput> output = heard_in_json(*top);
  if (!output.ok()) return refuse(file, 0, std::string(output.status().message()));
  return output;
}

}  // namespace

absl::StatusOr<std::vector<model::Edge>> parse_lldp_json(std::string_view text) {
  if (trim(text).empty()) return std::vector<model::Edge>();
  constexpr model::JsonBounds kBounds{.bytes = size_t{1} << 20, .depth = 32};
  const absl::StatusOr<nlohmann::json> top = model::parse_bounded_json(text, kBounds);
  if (!top.ok()) {
    return absl::Status(top.status().code(), fmt::format("lldpctl: {}", std::string(top.status().message())));
  }
  absl::StatusOr<LldpOutput> output = heard_in_json(*top);
  if (!output.ok()) return output.status();
  std::vector<model::Edge> edges;
  for (const auto& [netdev, chosen] : choose(*output)) {
    if (chosen.heard == nullptr) continue;
    model::Edge edge;
    edge.netdev = netdev;
    edge.source = "lldp";
    edge.switch_name = called(*chosen.heard);
    edge.switch_port = port_name(*chosen.heard);
    edge.switch_id = chosen.heard->chassis_id;
    edges.push_back(std::move(edge));
  }
  return edges;
}

absl::StatusOr<model::FabricFacts> read_lldp(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  absl::StatusOr<LldpOutput> output = heard_in(file, bytes);
  if (!output.ok()) return output.status();
  Facts facts(file, *output);
  for (const auto& [netdev, chosen] : choose(*output)) facts.add(netdev, chosen);
  model::FabricFacts out = std::move(facts).take();
  if (out.links.empty())
    out.remarks.push_back({0, "no neighbour: LLDP says nothing here, which is not a missing cable"});
  return out;
}

}  // namespace railwitness::fabric
