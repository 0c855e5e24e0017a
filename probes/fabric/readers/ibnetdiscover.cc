#include "probes/fabric/readers/ibnetdiscover.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::PortState;

struct Patterns {
  const Pattern generated{R"re(# Topology file: generated on (.*))re"};
  const Pattern assignment{R"re((vendid|devid|sysimgguid|switchguid|caguid|rtguid)=\s*([^\s(#]*).*)re"};
  // Switch  41 "S-b8599f0300fc6de4"  # "MF0;leaf:MQM8700/U1" enhanced port 0 lid 13 lmc 0
  const Pattern node{R"re((Switch|Ca|Rt)\s+(\d+)\s+"([^"]*)"\s*(?:#\s*"(.*)"(?:.*\blid (\d+) lmc \d+)?.*)?)re"};
  // [24]  "H-ec0d9a03007d7d0b"[1](ec0d9a03007d7d0b)  # "srv96 HCA-2" lid 28 4xEDR
  // [1](ec0d9a03007d7d0b)  "S-b8599f0300fc6de4"[24]  # lid 28 lmc 0 "MF0;leaf:MQM8700/U1" lid 13 4xEDR
  const Pattern port{R"re(\[(\d+)\](?:\[[^\]]*\])*(?:\(([^)]*)\))?\s*"([^"]*)"\[(\d+)\](?:\[[^\]]*\])*(?:\(([^)]*)\))?\s*)re"
                     R"re(#\s*(?:lid (\d+) lmc (\d+)\s+)?"(.*)" lid (\d+) (\d+)x(\S+).*)re"};
  const Pattern heading{R"re((?:Non-Chassis Nodes|Chassis \d+.*|Spine Nodes|Line Nodes|Spine \d+.*|Line \d+.*)\s*)re"};
  // CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'leaf1' )
  const Pattern row{R"re((CA|SW|RT)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\d+)x\s+(\S+)\s+-\s+(CA|SW|RT)\s+(\d+)\s+(\d+)\s+(\S+)\s+)re"
                    R"re(\(\s*'(.*)' - '(.*)'\s*\)\s*)re"};
  // SW  2052 37 0x506b4b03005c2740 4x ???                                    'leaf4'
  const Pattern free_row{R"re((CA|SW|RT)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\d+)x\s+(\S+)\s+'(.*)'\s*)re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

// Lines before a node's, which belong to it.
struct Pending {
  std::string system_guid, guid;
  std::optional<uint32_t> vendor_id, device_id;
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("ibnetdiscover", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    line = trim(line);
    if (line.empty()) return absl::OkStatus();
    if (line.front() == '#') {
      patterns().generated.matches(line, &graph_.facts().source.time_text);
      return absl::OkStatus();
    }
    if (line.front() == '[') return read_port(line);
    if (line.starts_with("Switch") || line.starts_with("Ca\t") || line.starts_with("Ca ") || line.starts_with("Rt")) {
      return read_node(line);
    }
    if (line.starts_with("CA ") || line.starts_with("SW ") || line.starts_with("RT ")) return read_row(line);
    if (!read_assignment(line) && !patterns().heading.matches(line)) graph_.left_out(number_, line);
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    const model::FabricFacts& facts = graph_.facts();
    if (facts.devices.empty()) {
      const std::string why = facts.remarks.empty() ? "" : absl::StrCat(" (line ", facts.remarks[0].line, ", ",
                                                                        facts.remarks[0].text, ")");
      return refuse(file_, 0, absl::StrCat("no node as ibnetdiscover prints one", why));
    }
    bool has_switch = false;
    for (const auto& device : facts.devices) has_switch = has_switch || device.kind == DeviceKind::kSwitch;
    if (!has_switch && facts.links.empty()) {
      graph_.remark(0, "no fabric seen from this port: no switch and no link (port down, or no subnet manager?)");
    }
    return std::move(graph_).finish();
  }

 private:
  absl::Status damaged(const char* what) const {
    return refuse(file_, number_, absl::StrCat(what, " that cannot be read: cut or edited"));
  }

  bool read_assignment(std::string_view line) {
    std::string name, value;
    if (!patterns().assignment.matches(line, &name, &value)) return false;
    uint32_t number = 0;
    const bool is_number = absl::SimpleHexAtoi(value, &number);
    if (name == "vendid" && is_number) pending_.vendor_id = number;
    if (name == "devid" && is_number) pending_.device_id = number;
    if (name == "sysimgguid") pending_.system_guid = guid_of(value);
    if (name.ends_with("guid") && name != "sysimgguid") pending_.guid = guid_of(value);
    return true;
  }

  absl::Status read_node(std::string_view line) {
    std::string kind, id, name, lid;
    uint32_t ports = 0;
    if (!patterns().node.matches(line, &kind, &ports, &id, &name, &lid)) return damaged("a node");
    node_ = device_of_id(id, name);
    model::FabricDevice& device = graph_.at_device(*node_);
    if (device.line != 0) graph_.remark(number_, absl::StrCat("node ", id, " is there again, first in line ", device.line));
    device.line = number_;
    device.kind = kind == "Switch" ? DeviceKind::kSwitch : kind == "Ca" ? DeviceKind::kNic : DeviceKind::kRouter;
    if (kind == "Ca" && is_aggregation_id(pending_.device_id.value_or(0))) device.kind = DeviceKind::kAggregation;
    name_device(device, name);
    if (!pending_.guid.empty() && !device.guid.empty() && pending_.guid != device.guid) {
      graph_.remark(number_, absl::StrCat("node ", id, " has another GUID in the lines above: ", pending_.guid));
    }
    device.system_guid = pending_.system_guid;
    device.vendor_id = pending_.vendor_id;
    device.device_id = pending_.device_id;
    device.port_count = ports;
    if (uint32_t of_switch = 0; absl::SimpleAtoi(lid, &of_switch)) device.lid = of_switch;
    pending_ = {};
    return absl::OkStatus();
  }

  absl::Status read_port(std::string_view line) {
    std::string guid, id, far_guid, lid, lmc, name, speed;
    uint32_t number = 0, far_number = 0, far_lid = 0, lanes = 0;
    if (!patterns().port.matches(line, &number, &guid, &id, &far_number, &far_guid, &lid, &lmc, &name, &far_lid, &lanes,
                                 &speed)) {
      return damaged("a port");
    }
    if (!node_) return refuse(file_, number_, "a port before any node");
    if (const absl::Status status = check_numbers(number, far_number); !status.ok()) return status;
    const size_t far = device_of_id(id, name);
    if (graph_.at_device(far).line == 0) describe_far(far, id, name);
    const size_t near_port = port_of(*node_, number, guid), far_port = port_of(far, far_number, far_guid);
    model::FabricPort& port = graph_.at_port(near_port);
    port.line = number_;
    port.state = PortState::kUp;
    set_speed(port, lanes, speed);
    if (uint32_t own = 0; absl::SimpleAtoi(lid, &own)) port.lid = own;
    if (uint32_t own = 0; absl::SimpleAtoi(lmc, &own)) port.lmc = own;
    if (id.starts_with("S-")) {
      graph_.at_device(far).lid = far_lid;
    } else {
      graph_.at_port(far_port).lid = far_lid;
    }
    graph_.connect(near_port, far_port, number_);
    return absl::OkStatus();
  }

  // A node that its own block may still describe better.
  void describe_far(size_t far, std::string_view id, std::string_view name) {
    model::FabricDevice& device = graph_.at_device(far);
    device.kind = id.starts_with("S-") ? DeviceKind::kSwitch : id.starts_with("R-") ? DeviceKind::kRouter : DeviceKind::kNic;
    name_device(device, name);
  }

  absl::Status read_row(std::string_view line) {
    std::string kind, guid, speed, far_kind, far_guid, name, far_name;
    uint32_t lid = 0, number = 0, lanes = 0, far_lid = 0, far_number = 0;
    const bool linked = patterns().row.matches(line, &kind, &lid, &number, &guid, &lanes, &speed, &far_kind, &far_lid,
                                               &far_number, &far_guid, &name, &far_name);
    if (!linked && !patterns().free_row.matches(line, &kind, &lid, &number, &guid, &lanes, &speed, &name)) {
      return damaged("a row of ports");
    }
    if (!linked && number == 0) return absl::OkStatus();  // a switch's own port
    if (const absl::Status status = check_numbers(number, linked ? far_number : 1); !status.ok()) return status;
    const size_t near_port = end_of_row(kind, guid, lid, number, name);
    graph_.at_port(near_port).line = number_;
    graph_.at_device(graph_.at_port(near_port).device).line = number_;
    graph_.at_port(near_port).state = linked ? PortState::kUp : PortState::kDown;
    if (!linked) return absl::OkStatus();
    set_speed(graph_.at_port(near_port), lanes, speed);
    graph_.connect(near_port, end_of_row(far_kind, far_guid, far_lid, far_number, far_name), number_);
    return absl::OkStatus();
  }

  size_t end_of_row(std::string_view kind, const std::string& guid, uint32_t lid, uint32_t number, std::string_view name) {
    const size_t index = device_of_id(guid, name);
    model::FabricDevice& device = graph_.at_device(index);
    device.kind = kind == "SW" ? DeviceKind::kSwitch : kind == "CA" ? DeviceKind::kNic : DeviceKind::kRouter;
    name_device(device, name);
    if (kind == "SW") {
      device.lid = lid;
      return graph_.port(index, number);
    }
    const size_t port = port_of(index, number, guid);
    if (graph_.at_port(port).guid == device.guid) device.guid.clear();  // what is given is the port's
    graph_.at_port(port).lid = lid;
    return port;
  }

  absl::Status check_numbers(uint32_t near, uint32_t far) const {
    if (near >= 1 && near <= kMaxPortNumber && far >= 1 && far <= kMaxPortNumber) return absl::OkStatus();
    return refuse(file_, number_, absl::StrCat("port ", near >= 1 && near <= kMaxPortNumber ? far : near, ": there are 1 to ",
                                               kMaxPortNumber));
  }

  size_t device_of_id(const std::string& id, std::string_view name) {
    const std::string guid = guid_of(id);
    if (guid.empty()) {
      graph_.remark(number_, absl::StrCat("GUID ", id, " is masked or damaged: \"", std::string(name),
                                          "\" cannot be joined with other records"));
      return graph_.device();
    }
    const size_t index = graph_.device(guid);
    if (graph_.at_device(index).line == 0) graph_.at_device(index).guid = guid;
    return index;
  }

  size_t port_of(size_t device, uint32_t number, std::string_view guid) {
    const size_t index = graph_.port(device, number);
    if (std::string digits = guid_of(guid); !digits.empty()) graph_.at_port(index).guid = std::move(digits);
    return index;
  }

  static void set_speed(model::FabricPort& port, uint32_t lanes, std::string_view speed) {
    port.lanes = lanes;
    port.lane_mbps = std::nullopt;
    if (const uint32_t mbps = lane_mbps_of(speed); mbps > 0) port.lane_mbps = mbps;
  }

  std::string_view file_;
  Graph graph_;
  uint32_t number_ = 0;
  Pending pending_;
  std::optional<size_t> node_;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ibnetdiscover(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
