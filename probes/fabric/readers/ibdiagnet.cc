#include "probes/fabric/readers/ibdiagnet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "probes/fabric/readers/counter_width.h"
#include "probes/fabric/readers/csv_line.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::PortState;
using Fields = std::vector<std::string>;

// "54002", "0xd2f2"; empty: none, or "N/A".
std::optional<uint64_t> number_of(const std::string& text) {
  uint64_t number = 0;
  const bool is_hex = text.starts_with("0x");
  if (is_hex ? absl::SimpleHexAtoi(text, &number) : absl::SimpleAtoi(text, &number)) return number;
  return std::nullopt;
}

std::optional<uint32_t> small_number_of(const std::string& text) {
  return narrowed(number_of(text));
}

// PortInfo.LinkWidthActive.
std::optional<uint32_t> lanes_of(uint32_t width) {
  static const std::map<uint32_t, uint32_t> kLanes{{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  const auto known = kLanes.find(width);
  return known == kLanes.end() ? std::nullopt : std::optional(known->second);
}

// The speed's bit: PortInfo.LinkSpeedActive below, LinkSpeedExtActive above 8 bits, which counts if it is set; FDR10 is bit 16.
std::optional<uint32_t> lane_mbps_of_bits(uint32_t bits) {
  static const std::map<uint32_t, const char*> kExtended{{1, "FDR"}, {2, "EDR"}, {4, "HDR"}, {8, "NDR"}, {16, "XDR"}};
  static const std::map<uint32_t, const char*> kFirst{{1, "SDR"}, {2, "DDR"}, {4, "QDR"}};
  if (bits >> 16 == 1) return lane_mbps_of("FDR10");
  if (const auto known = kExtended.find(bits >> 8 & 0xff); known != kExtended.end()) return lane_mbps_of(known->second);
  if (const auto known = kFirst.find(bits & 0xff); known != kFirst.end()) return lane_mbps_of(known->second);
  return std::nullopt;
}

PortState state_of(uint32_t logical, uint32_t physical) {
  if (physical == 3) return PortState::kDisabled;
  if (logical == 4) return PortState::kUp;
  if (logical == 2 || logical == 3 || physical == 4) return PortState::kTraining;
  return logical == 1 ? PortState::kDown : PortState::kUnknown;
}

struct Section {
  std::string_view name;
  std::vector<std::string_view> needs;  // columns; the first also tells which section a header without name is of
};

const std::vector<Section>& sections() {
  static const std::vector<Section> all{{"NODES", {"NodeDesc", "NodeType", "NodeGUID"}},
                                        {"PM_INFO", {"LinkDownedCounter", "NodeGUID", "PortNumber"}},
                                        {"PORTS", {"LinkSpeedActv", "NodeGuid", "PortNum", "LinkWidthActv", "PortState"}},
                                        {"LINKS", {"NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"}}};
  return all;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("ibdiagnet", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    line = trim(line);
    if (line.starts_with("START_")) return begin_section(line.substr(6));
    if (line.starts_with("END_")) return end_section(line.substr(4));
    if (line.empty()) return absl::OkStatus();
    if (is_net_dump_ || (!has_sections_ && columns_.empty() && begins_net_dump(line))) return read_net_dump(line);
    if (line.front() == '#' || (has_sections_ && section_ == nullptr)) return absl::OkStatus();
    if (line.size() > kMaxLineBytes || !split_csv_line(line, fields_)) return fail("fields that cannot be read: cut or edited");
    if (columns_.empty()) return read_header();
    if (fields_.size() != columns_.size()) {
      return fail(absl::StrCat(fields_.size(), " fields below a header of ", columns_.size(), ": cut or edited"));
    }
    if (section_->name == "NODES") return read_node();
    if (section_->name == "PORTS") return read_port();
    return section_->name == "LINKS" ? read_link() : read_counters();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    if (!open_.empty()) return refuse(file_, 0, absl::StrCat("section ", open_, " has no end: cut"));
    if (!has_known_ && !is_net_dump_) {
      return refuse(file_, 0, "no section NODES, PORTS, LINKS or PM_INFO, and no dump of links, of ibdiagnet");
    }
    for (const auto& [a, b, line] : links_) {
      graph_.connect(a, b, line);
      if (!has_nodes_ || is_known(a) == is_known(b)) graph_.connect(b, a, line);
    }
    return std::move(graph_).finish();
  }

 private:
  struct Link {
    size_t a, b;
    uint32_t line;
  };

  absl::Status fail(const std::string& what) const { return refuse(file_, number_, what); }

  bool is_known(size_t port) { return graph_.at_device(graph_.at_port(port).device).line != 0; }

  absl::Status begin_section(std::string_view name) {
    if (!open_.empty()) return fail(absl::StrCat("section ", open_, " has no end: cut"));
    has_sections_ = true;
    open_ = std::string(name);
    columns_.clear();
    section_ = nullptr;
    for (const Section& known : sections()) {
      if (known.name == name) section_ = &known;
    }
    return absl::OkStatus();
  }

  absl::Status end_section(std::string_view name) {
    if (open_ != name) return fail(absl::StrCat("the end of section ", std::string(name), ", which has not begun"));
    open_.clear();
    section_ = nullptr;
    return absl::OkStatus();
  }

  absl::Status read_header() {
    for (size_t i = 0; i < fields_.size(); ++i) columns_.emplace(fields_[i], i);
    if (columns_.size() != fields_.size()) return fail("a header with one column twice");
    if (section_ == nullptr) {
      for (const Section& known : sections()) {
        if (columns_.contains(std::string(known.needs[0]))) section_ = &known;
      }
      if (section_ == nullptr) return fail("neither a section nor the header of one that is known");
    }
    for (const std::string_view needed : section_->needs) {
      if (!columns_.contains(std::string(needed))) {
        return fail(absl::StrCat("section ", std::string(section_->name), " without column ", std::string(needed)));
      }
    }
    has_known_ = true;
    has_nodes_ |= section_->name == "NODES";
    return absl::OkStatus();
  }

  const std::string& field(const char* column) const {
    static const std::string kNone;
    const auto known = columns_.find(column);
    return known == columns_.end() ? kNone : fields_[known->second];
  }

  absl::StatusOr<size_t> device_of(const std::string& text) {
    const std::string guid = guid_of(text);
    if (guid.empty()) return fail(absl::StrCat("\"", text, "\" is no GUID"));
    const size_t index = graph_.device(guid);
    graph_.at_device(index).guid = guid;
    return index;
  }

  absl::StatusOr<size_t> port_of(const std::string& guid, const std::string& number_text) {
    const absl::StatusOr<size_t> device = device_of(guid);
    if (!device.ok()) return device.status();
    const auto number = small_number_of(number_text);
    if (!number || *number > kMaxPortNumber) return fail(absl::StrCat("port ", number_text, ": InfiniBand has ", kMaxPortNumber));
    return graph_.port(*device, *number);
  }

  absl::Status read_node() {
    const absl::StatusOr<size_t> index = device_of(field("NodeGUID"));
    if (!index.ok()) return index.status();
    model::FabricDevice& device = graph_.at_device(*index);
    if (device.line != 0) graph_.remark(number_, absl::StrCat(device.guid, " is there again, first in line ", device.line));
    device.line = number_;
    device.system_guid = guid_of(field("SystemImageGUID"));
    device.device_id = small_number_of(field("DeviceID"));
    device.vendor_id = small_number_of(field("VendorID"));
    device.port_count = small_number_of(field("NumPorts"));
    const auto type = number_of(field("NodeType"));
    device.kind = type == 1 ? DeviceKind::kNic : type == 2 ? DeviceKind::kSwitch : type == 3 ? DeviceKind::kRouter : DeviceKind::kUnknown;
    if (type == 1 && is_aggregation_id(device.device_id.value_or(0))) device.kind = DeviceKind::kAggregation;
    name_device(device, field("NodeDesc"));
    return absl::OkStatus();
  }

  absl::Status read_port() {
    const auto number = small_number_of(field("PortNum"));
    const auto lid = small_number_of(field("LID"));
    if (number == 0u) {  // a switch's own: its LID
      const absl::StatusOr<size_t> device = device_of(field("NodeGuid"));
      if (device.ok() && lid.value_or(0) != 0) graph_.at_device(*device).lid = lid;
      return device.status();
    }
    const absl::StatusOr<size_t> index = port_of(field("NodeGuid"), field("PortNum"));
    if (!index.ok()) return index.status();
    model::FabricPort& port = graph_.at_port(*index);
    port.line = number_;
    if (lid.value_or(0) != 0) {
      port.lid = lid;
      port.lmc = small_number_of(field("LMC"));
    }
    // Ports of a switch have the GUID of its own.
    port.guid = guid_of(field("PortGuid"));
    if (port.guid == graph_.at_device(port.device).guid && graph_.at_device(port.device).kind == DeviceKind::kSwitch) port.guid.clear();
    port.state = state_of(small_number_of(field("PortState")).value_or(0), small_number_of(field("PortPhyState")).value_or(0));
    if (port.state != PortState::kUp) return absl::OkStatus();
    port.lanes = lanes_of(small_number_of(field("LinkWidthActv")).value_or(0));
    port.lane_mbps = lane_mbps_of_bits(small_number_of(field("LinkSpeedActv")).value_or(0));
    if (const auto mtu = small_number_of(field("NMTU")); mtu >= 1u && mtu <= 5u) port.mtu_bytes = 128u << *mtu;
    return absl::OkStatus();
  }

  absl::Status read_link() {
    const absl::StatusOr<size_t> a = port_of(field("NodeGuid1"), field("PortNum1"));
    const absl::StatusOr<size_t> b = port_of(field("NodeGuid2"), field("PortNum2"));
    if (!a.ok() || !b.ok()) return a.ok() ? b.status() : a.status();
    links_.push_back({*a, *b, number_});
    return absl::OkStatus();
  }

  absl::Status read_counters() {
    const absl::StatusOr<size_t> index = port_of(field("NodeGUID"), field("PortNumber"));
    if (!index.ok()) return index.status();
    for (const auto& [name, column] : columns_) {
      if (name == "NodeGUID" || name == "PortGUID" || name == "PortNumber") continue;
      const auto value = number_of(fields_[column]);
      if (value && *value != UINT64_MAX - 1) graph_.count(*index, name, counter_of(name, *value));  // the other one: not asked
    }
    return absl::OkStatus();
  }

  // "MF0;leaf01:MQM9700/U1", Mellanox, 0x1, LID 10
  bool is_switch_of_net_dump(std::string_view line) {
    static const Pattern of_switch(R"re("(.*)",\s*[^,]*,\s*(0x[0-9a-fA-F]+),\s*LID (\d+)\s*)re");
    std::string name, guid;
    uint32_t lid = 0;
    if (!of_switch.matches(line, &name, &guid, &lid)) return false;
    dumped_ = graph_.device(guid_of(guid));
    model::FabricDevice& device = graph_.at_device(*dumped_);
    device.guid = guid_of(guid);
    device.kind = DeviceKind::kSwitch;
    device.lid = lid;
    device.line = number_;
    name_device(device, name);
    is_net_dump_ = true;
    return true;
  }

  bool begins_net_dump(std::string_view line) {
    return (line.front() == '#' && line.find(" : ") != std::string_view::npos) || is_switch_of_net_dump(line);
  }

  // Columns stand between " : "; the description, the last one, may hold that too.
  absl::Status read_net_dump(std::string_view line) {
    is_net_dump_ = true;
    if (is_switch_of_net_dump(line)) return absl::OkStatus();
    const int most = columns_.empty() ? 64 : static_cast<int>(columns_.size());
    fields_ = absl::StrSplit(absl::string_view(line.data(), line.size()), absl::MaxSplits(" : ", most - 1));
    for (std::string& text : fields_) text = std::string(trim(text));
    if (line.front() == '#') {
      columns_.clear();
      for (size_t i = 0; i < fields_.size(); ++i) columns_.emplace(fields_[i], i);
      if (columns_.size() != fields_.size()) return fail("a header with one column twice");
      for (const char* needed : {"IB#", "Sta", "LWA", "LSA", "Neighbor Guid", "N#", "Neighbor Description"}) {
        if (!columns_.contains(needed)) return fail(absl::StrCat("a dump of links without column ", needed));
      }
      return absl::OkStatus();
    }
    if (columns_.empty() || !dumped_) return fail("a port before its switch and the header of columns");
    const bool is_active = std::find(fields_.begin(), fields_.end(), "ACT") != fields_.end();
    if (!is_active && fields_.size() >= 4) fields_.resize(columns_.size());  // empty columns lose their blanks
    if (fields_.size() != columns_.size()) {
      return fail(absl::StrCat(fields_.size(), " fields below a header of ", columns_.size(), ": cut or edited"));
    }
    return read_dumped_port();
  }

  absl::Status read_dumped_port() {
    const std::string own = graph_.at_device(*dumped_).guid;
    const absl::StatusOr<size_t> index = port_of(own, field("IB#"));
    if (!index.ok()) return index.status();
    model::FabricPort& port = graph_.at_port(*index);
    port.line = number_;
    port.label = field("#");
    const std::string& state = field("Sta");
    port.state = state == "ACT" ? PortState::kUp : state == "INI" || state == "ARM" ? PortState::kTraining
                 : state == "DOWN" || state == "DWN" ? PortState::kDown : PortState::kUnknown;
    if (field("PhysSta") == "DISABLE" || field("PhysSta") == "DISABLED") port.state = PortState::kDisabled;
    if (port.state != PortState::kUp) return absl::OkStatus();
    if (const auto mtu = small_number_of(field("MTU")); mtu >= 1u && mtu <= 5u) port.mtu_bytes = 128u << *mtu;
    uint32_t lanes = 0;
    std::string width = field("LWA");
    if (width.ends_with('x') && absl::SimpleAtoi(width.substr(0, width.size() - 1), &lanes)) port.lanes = lanes;
    port.lane_mbps = dumped_speed(field("LSA"));
    const absl::StatusOr<size_t> far = port_of(field("Neighbor Guid"), field("N#"));
    if (!far.ok()) return far.status();
    describe_neighbour(*far);
    graph_.connect(*index, *far, number_);
    return absl::OkStatus();
  }

  void describe_neighbour(size_t port) {
    model::FabricDevice& device = graph_.at_device(graph_.at_port(port).device);
    if (device.line != 0) return;
    std::string name = field("Neighbor Description");
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    name_device(device, name);
    if (const auto lid = small_number_of(field("NLID"))) {
      (device.kind == DeviceKind::kSwitch ? device.lid : graph_.at_port(port).lid) = *lid;
    }
  }

  std::optional<uint32_t> dumped_speed(const std::string& text) {
    static const std::map<std::string, const char*> kLanes{{"2.5", "SDR"}, {"5", "DDR"},    {"10", "QDR"},  {"FDR10", "FDR10"},
                                                           {"14", "FDR"},  {"25", "EDR"},   {"50", "HDR"},  {"100", "NDR"}};
    static const std::map<std::string, const char*> kPorts{{"200", "HDR"}, {"400", "NDR"}, {"800", "XDR"}};
    if (const auto lane = kLanes.find(text); lane != kLanes.end()) return lane_mbps_of(lane->second);
    // Of Quantum-X800 switches: Q3200-RA, Q3400-RA, Q3450-LD.
    const bool is_xdr = graph_.at_device(*dumped_).name.find(":Q3") != std::string::npos;
    if (text == "200" && is_xdr) return lane_mbps_of("XDR");
    const auto whole = kPorts.find(text);
    if (whole == kPorts.end()) return std::nullopt;
    graph_.remark(number_, absl::StrCat("speed ", text, " is taken for the whole port: ", whole->second));
    return lane_mbps_of(whole->second);
  }

  std::string_view file_;
  Graph graph_;
  uint32_t number_ = 0;
  bool has_sections_ = false, has_known_ = false, has_nodes_ = false, is_net_dump_ = false;
  std::string open_;                  // the section that has begun
  const Section* section_ = nullptr;  // it, if it is known
  std::map<std::string, size_t> columns_;
  Fields fields_;
  std::vector<Link> links_;
  std::optional<size_t> dumped_;  // the switch whose ports a net_dump lists
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ibdiagnet(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
