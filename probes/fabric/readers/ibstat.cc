#include "probes/fabric/readers/ibstat.h"

#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/link_line.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::PortState;


struct Patterns {
  // ibstat: CA 'mlx5_0', Port 1:
  const Pattern ca{R"re(CA '(.*)'\s*)re"};
  const Pattern port{R"re(\s*(?:Port (\d+):|port:\s+(\d+))\s*)re"};
  // ibv_devinfo
  const Pattern hca{R"re(hca_id:\s*(\S+)\s*)re"};
  const Pattern gid{R"re(\s*GID\[\s*\d+\]:\s*([0-9a-fA-F:.]+).*)re"};
  const Pattern field{R"re(\s*([A-Za-z_ ]+):\s*(.*?)\s*)re"};
  // ibdev2netdev: [0000:1a:00.0] mlx5_0 [(MT4129 - ...) ...] port 1 [(ACTIVE)] ==> ibp26s0 (Up)
  const Pattern netdev{R"re(\s*(?:[0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F.]+\s+)?(\S+)\s(?:.*\s)?port (\d+)\s+(?:\(\w+\)\s+)?==>\s*(\S*)\s*\((\w+)\)\s*)re"};
  const Pattern host{R"re(VM_hostname\s+(\S+)\s*)re"};
  const Pattern guid{R"re(\s*(?:0x)?([0-9a-fA-F]{16})\s*)re"};
  const Pattern model{R"re(MT(\d+))re"};
  const Pattern counted{R"re((\d+)[A-Za-z]* ?(?:\((\d+)\))?.*)re"};   // "4X (2)", "4096 (5)"
  const Pattern gbps{R"re(([0-9.]+) Gbps.*)re"};                       // "106.25 Gbps (128)"
  const Pattern word{R"re((\w+).*)re"};                                // "PORT_ACTIVE (4)"
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

std::string non_zero(std::string guid) { return guid == "0000000000000000" ? "" : guid; }

// "PORT_ACTIVE" and "LINK_UP" of ibv_devinfo to ibstat's "Active" and "LinkUp".
std::string as_ibstat_says(std::string word) {
  if (!word.starts_with("PORT_")) return word;
  word = absl::AsciiStrToLower(word.substr(5));
  if (!word.empty()) word[0] = absl::ascii_toupper(static_cast<unsigned char>(word[0]));
  return word;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("ibstat", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    if (trim(line).empty()) return absl::OkStatus();
    std::string name, text, upper, lower;
    if (patterns().ca.matches(line, &name) || patterns().hca.matches(line, &name)) return begin_device(name);
    if (patterns().port.matches(line, &upper, &lower)) return begin_port(upper + lower);
    if (line.find("==>") != std::string_view::npos) return read_netdev(line);
    if (patterns().host.matches(line, &host_)) return absl::OkStatus();
    if (patterns().guid.matches(line, &text)) return read_guid(guid_of(text));
    if (port_ && patterns().gid.matches(line, &text)) {
      if (graph_.at_port(*port_).gids.size() < kMaxCountersOfPort) graph_.at_port(*port_).gids.push_back(text);
      return absl::OkStatus();
    }
    if (device_ && patterns().field.matches(line, &name, &text)) read_field(name, text);
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    complete_port();
    if (graph_.facts().devices.empty()) {
      return refuse(file_, 0, "no device as ibstat, ibv_devinfo or ibdev2netdev print one, and no list of port GUIDs");
    }
    return std::move(graph_).finish();
  }

 private:
  size_t device(const std::string& name) {
    const size_t index = graph_.device(name);
    model::FabricDevice& of = graph_.at_device(index);
    of.kind = model::DeviceKind::kNic;
    of.nic = name;
    if (of.line == 0) of.line = number_;
    return index;
  }

  absl::Status begin_device(const std::string& name) {
    complete_port();
    if (const auto known = graph_.find(name)) {
      graph_.remark(number_, absl::StrCat(name, " is there again, first in line ", graph_.at_device(*known).line));
    }
    device_ = device(name);
    return absl::OkStatus();
  }

  absl::Status begin_port(const std::string& text) {
    complete_port();
    uint32_t number = 0;
    if (!device_) return refuse(file_, number_, absl::StrCat("port ", text, " before any device"));
    if (!absl::SimpleAtoi(text, &number) || number > kMaxPort) return refuse(file_, number_, absl::StrCat("port ", text));
    port_ = graph_.port(*device_, number);
    graph_.at_port(*port_).line = number_;
    return absl::OkStatus();
  }

  absl::Status read_netdev(std::string_view line) {
    std::string name, netdev, state;
    uint32_t number = 0;
    if (!patterns().netdev.matches(line, &name, &number, &netdev, &state) || number > kMaxPort) {
      return refuse(file_, number_, "a port and its interface that cannot be read: cut or edited");
    }
    model::FabricPort& port = graph_.at_port(graph_.port(device(name), number));
    port.line = number_;
    port.label = netdev;
    port.state = state == "Up" ? PortState::kUp : state == "Down" ? PortState::kDown : PortState::kUnknown;
    if (netdev.starts_with("ib")) port.link_layer = "InfiniBand";
    if (netdev.starts_with("en") || netdev.starts_with("eth")) port.link_layer = "Ethernet";
    return absl::OkStatus();
  }

  absl::Status read_guid(const std::string& guid) {
    const size_t index = graph_.device("port " + guid);
    model::FabricDevice& of = graph_.at_device(index);
    if (of.line != 0) {
      graph_.remark(number_, absl::StrCat("port ", guid, " is there again, first in line ", of.line));
      return absl::OkStatus();
    }
    of.kind = model::DeviceKind::kNic;
    of.host = host_;
    of.line = number_;
    const size_t port = graph_.port(index, 0);  // a list says no number
    graph_.at_port(port).guid = guid;
    graph_.at_port(port).line = number_;
    return absl::OkStatus();
  }

  void read_field(const std::string& name, const std::string& value) {
    if (port_) {
      read_field_of_port(name, value);
      return;
    }
    model::FabricDevice& of = graph_.at_device(*device_);
    uint32_t number = 0;
    if (name == "Node GUID" || name == "node_guid") of.guid = non_zero(guid_of(value));
    if (name == "System image GUID" || name == "sys_image_guid") of.system_guid = non_zero(guid_of(value));
    if (name == "CA type" && patterns().model.matches(value, &number)) of.device_id = number;
    if (name == "vendor_part_id" && absl::SimpleAtoi(value, &number)) of.device_id = number;
    if (name == "vendor_id" && absl::SimpleHexAtoi(value, &number)) of.vendor_id = number;
    if ((name == "Number of ports" || name == "phys_port_cnt") && absl::SimpleAtoi(value, &number)) of.port_count = number;
  }

  void read_field_of_port(const std::string& name, const std::string& value) {
    model::FabricPort& of = graph_.at_port(*port_);
    uint32_t number = 0;
    std::string word;
    if ((name == "State" || name == "state") && patterns().word.matches(value, &word)) logical_ = as_ibstat_says(word);
    if ((name == "Physical state" || name == "phys_state") && patterns().word.matches(value, &word)) {
      physical_ = word == "DISABLED" ? "Disabled" : word;
    }
    if (name == "Rate") rate_mbps_ = mbps_of_gbps(value);
    if (name == "active_width" && patterns().counted.matches(value, &number)) lanes_ = number;
    if (name == "active_speed" && patterns().gbps.matches(value, &word)) lane_mbps_ = mbps_of_gbps(word);
    if (name == "active_mtu" && patterns().counted.matches(value, &number)) of.mtu_bytes = number;
    if (name == "max_mtu" && patterns().counted.matches(value, &number)) of.max_mtu_bytes = number;
    if ((name == "Base lid" || name == "port_lid") && absl::SimpleAtoi(value, &number) && number != 0) of.lid = number;
    if (name == "LMC" && absl::SimpleAtoi(value, &number)) of.lmc = number;
    if (name == "port_lmc" && absl::SimpleHexAtoi(value, &number)) of.lmc = number;
    if (name == "Port GUID") of.guid = non_zero(guid_of(value));
    if (name == "Link layer" || name == "link_layer") of.link_layer = value == "IB" ? "InfiniBand" : value;
  }

  // Speeds stand before, or without, the state that says whether they are any.
  void complete_port() {
    if (port_) {
      model::FabricPort& of = graph_.at_port(*port_);
      of.state = port_state_of(logical_, physical_);
      if (of.state == PortState::kUp) {
        of.rate_mbps = rate_mbps_;
        of.lanes = lanes_;
        of.lane_mbps = lane_mbps_;
      }
    }
    port_.reset();
    logical_.clear();
    physical_.clear();
    rate_mbps_ = lanes_ = lane_mbps_ = std::nullopt;
  }

  std::string_view file_;
  Graph graph_;
  uint32_t number_ = 0;
  std::optional<size_t> device_, port_;
  std::string host_, logical_, physical_;
  std::optional<uint32_t> rate_mbps_, lanes_, lane_mbps_;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ibstat(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
