#include "probes/fabric/readers/ibqueryerrors.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/counter_width.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/link_line.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;

struct Patterns {
  const Pattern errors{R"re(Errors for (?:0[xX]([0-9a-fA-F]+) )?"(.*)"\s*)re"};
  const Pattern data{R"re(Data Counters for (?:0[xX]([0-9a-fA-F]+) )?"(.*)"\s*)re"};
  const Pattern port{R"re(\s*GUID 0[xX]([0-9a-fA-F]+) port (ALL|\d+):(.*))re"};
  const Pattern counter{R"re(\s*\[(\w+) == (\d+)[^\]]*\])re"};
  const Pattern link{R"re(\s*Link info:(.*))re"};
  const Pattern checked{R"re(##\s*(?:Summary:\s*)?(\d+ (?:nodes|ports) checked.*))re"};
  const Pattern setting{R"re(##\s*((?:Thresholds|Suppressed):.*))re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("ibqueryerrors", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    if (trim(line).empty() || read_header(line) || read_summary(line)) return absl::OkStatus();
    std::string guid, port, rest;
    if (patterns().port.matches(line, &guid, &port, &rest)) return read_port(guid_of(guid), port, rest);
    if (patterns().link.matches(line, &rest)) return read_link(rest);
    if (trim(line).starts_with("GUID ")) return refuse(file_, number_, "counters of a port that cannot be read: cut or edited");
    graph_.left_out(number_, line);
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    if (!has_summary_ && graph_.facts().devices.empty()) {
      return refuse(file_, 0, "no block of a node and no summary as ibqueryerrors prints them");
    }
    if (!has_summary_ && has_errors_) graph_.remark(0, "no summary at the end: cut, or filtered");
    return std::move(graph_).finish();
  }

 private:
  bool read_header(std::string_view line) {
    std::string guid, name;
    const bool is_errors = patterns().errors.matches(line, &guid, &name);
    if (!is_errors && !patterns().data.matches(line, &guid, &name)) return false;
    header_guid_ = guid_of(guid);
    header_name_ = name;
    header_line_ = number_;
    // Errors of a switch are under its GUID, those of a CA under its name alone.
    kind_ = is_errors ? (header_guid_.empty() ? DeviceKind::kNic : DeviceKind::kSwitch) : DeviceKind::kUnknown;
    has_errors_ |= is_errors;
    is_in_block_ = true;
    port_.reset();
    return true;
  }

  bool read_summary(std::string_view line) {
    std::string text;
    if (patterns().checked.matches(line, &text)) {
      has_summary_ = true;
      graph_.remark(number_, text);
      return true;
    }
    if (!patterns().setting.matches(line, &text)) return false;
    if (text = std::string(trim(text)); !text.ends_with(':')) graph_.remark(number_, text);
    return true;
  }

  absl::Status read_port(const std::string& guid, const std::string& port, std::string_view counters) {
    port_.reset();
    if (!is_in_block_) return refuse(file_, number_, "counters of a port before any node");
    if (port == "ALL") return absl::OkStatus();
    uint32_t number = 0;
    if (guid.empty() || !absl::SimpleAtoi(port, &number) || number > kMaxPortNumber) {
      return refuse(file_, number_, absl::StrCat("port ", port, " with GUID \"", guid, "\": no port of InfiniBand"));
    }
    const size_t index = device_of(guid);
    port_ = graph_.port(index, number);
    graph_.at_port(*port_).line = number_;
    if (guid != graph_.at_device(index).guid) graph_.at_port(*port_).guid = guid;
    std::string name, value;
    while (patterns().counter.takes(counters, &name, &value)) {
      uint64_t count = 0;
      if (!absl::SimpleAtoi(value, &count)) return refuse(file_, number_, absl::StrCat("counter ", name, ": ", value));
      graph_.count(*port_, name, counter_of(name, count));
    }
    if (!trim(counters).empty()) return refuse(file_, number_, "a counter that cannot be read: cut or edited");
    return absl::OkStatus();
  }

  size_t device_of(const std::string& guid) {
    const size_t index = graph_.device(header_guid_.empty() ? guid : header_guid_);
    model::FabricDevice& device = graph_.at_device(index);
    if (device.line != 0) return index;
    device.line = header_line_;
    device.kind = kind_;
    device.guid = header_guid_;
    name_device(device, header_name_);
    return index;
  }

  absl::Status read_link(std::string_view text) {
    const std::optional<LinkLine> said = link_line_of(text);
    if (!said || said->far_port > kMaxPortNumber) return refuse(file_, number_, "a link that cannot be read: cut or edited");
    if (!port_ || graph_.at_port(*port_).number != said->port) {
      graph_.left_out(number_, text);
      return absl::OkStatus();
    }
    const uint32_t line = graph_.at_port(*port_).line;
    describe_port(*said, line, graph_.at_port(*port_));
    model::FabricDevice& device = graph_.at_device(graph_.at_port(*port_).device);
    if (device.kind == DeviceKind::kSwitch) {
      device.lid = said->lid;
    } else {
      graph_.at_port(*port_).lid = said->lid;
    }
    if (said->has_far) graph_.connect(*port_, far_port(*said), number_);
    return absl::OkStatus();
  }

  size_t far_port(const LinkLine& said) {
    const size_t index = said.far_guid.empty() ? graph_.device(absl::StrCat("lid ", said.far_lid)) : graph_.device(said.far_guid);
    model::FabricDevice& device = graph_.at_device(index);
    if (device.line == 0) {
      name_device(device, said.far_name);
      if (device.kind == DeviceKind::kUnknown && said.far_port > 2) device.kind = DeviceKind::kSwitch;
    }
    const bool is_switch = device.kind == DeviceKind::kSwitch;
    const bool is_new = device.line == 0;
    if (is_switch) device.lid = said.far_lid;
    if (is_switch && is_new) device.guid = said.far_guid;
    const size_t port = graph_.port(index, said.far_port);
    if (!is_switch) graph_.at_port(port).lid = said.far_lid;
    if (!is_switch && is_new) graph_.at_port(port).guid = said.far_guid;
    return port;
  }

  std::string_view file_;
  Graph graph_;
  uint32_t number_ = 0, header_line_ = 0;
  DeviceKind kind_ = DeviceKind::kUnknown;
  std::string header_guid_, header_name_;
  bool is_in_block_ = false, has_summary_ = false, has_errors_ = false;
  std::optional<size_t> port_;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ibqueryerrors(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
