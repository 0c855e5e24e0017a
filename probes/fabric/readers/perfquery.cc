#include "probes/fabric/readers/perfquery.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/counter_width.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

constexpr uint32_t kAllPorts = 255;

struct Patterns {
  const Pattern block{R"re(#\s*(.*\S) counters: (?:Lid (\d+)|(.*\S)) port (\d+)\b.*)re"};
  const Pattern counter{R"re((\w+):\.*(-?(?:0x)?[0-9a-fA-F]+)\s*)re"};
  const Pattern odd{R"re((\w+):\.+(.*))re"};
  const Pattern guid_in_name{R"re((?:.*[/\\])?(?:.*[^0-9a-zA-Z])?0x([0-9a-fA-F]{16})(?:[^0-9a-fA-F].*)?)re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("perfquery", file) {
    std::string guid;
    if (patterns().guid_in_name.matches(file, &guid)) guid_ = guid_of(guid);
  }

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    std::string what, lid, other, name, value;
    uint32_t port = 0;
    if (trim(line).empty()) return absl::OkStatus();
    if (patterns().block.matches(line, &what, &lid, &other, &port)) return begin_block(what, lid.empty() ? other : lid, port);
    if (patterns().counter.matches(line, &name, &value)) return read_counter(name, value);
    if (patterns().odd.matches(line, &name, &value)) return refuse(file_, number_, absl::StrCat("counter ", name, ": ", value));
    graph_.left_out(number_, line);
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    const model::FabricFacts& facts = graph_.facts();
    if (!has_block_) {
      return refuse(file_, 0, absl::StrCat("no block of counters as perfquery prints one",
                                           facts.remarks.empty() ? "" : absl::StrCat("; ", facts.remarks[0].text)));
    }
    return std::move(graph_).finish();
  }

 private:
  absl::Status begin_block(const std::string& what, const std::string& where, uint32_t port) {
    has_block_ = true;
    is_extended_ = what.find("extended") != std::string::npos;
    port_.reset();
    if (is_of_all_ = port == kAllPorts; is_of_all_) {
      graph_.remark(number_, "a sum over all ports: left out");
      return absl::OkStatus();
    }
    if (port > kMaxPortNumber) return refuse(file_, number_, absl::StrCat("port ", port, ": InfiniBand has ", kMaxPortNumber));
    const size_t index = graph_.device(where);
    model::FabricDevice& device = graph_.at_device(index);
    if (device.line == 0) device.line = number_;
    if (index == 0) device.guid = guid_;  // a file is named after one
    if (uint32_t lid = 0; absl::SimpleAtoi(where, &lid)) device.lid = lid;
    port_ = graph_.port(index, port);
    if (graph_.at_port(*port_).line == 0) graph_.at_port(*port_).line = number_;
    return absl::OkStatus();
  }

  absl::Status read_counter(const std::string& name, const std::string& value) {
    uint64_t count = 0;
    const bool is_hex = value.starts_with("0x");
    if (is_hex ? !absl::SimpleHexAtoi(value, &count) : !absl::SimpleAtoi(value, &count)) {
      return refuse(file_, number_, absl::StrCat("counter ", name, ": ", value));
    }
    if (is_of_all_) return absl::OkStatus();
    if (!port_) return refuse(file_, number_, absl::StrCat("counter ", name, " before any port"));
    // What was asked, not counted.
    if (name == "PortSelect" || name.starts_with("CounterSelect")) return absl::OkStatus();
    graph_.count(*port_, name, counter_of(name, count, is_extended_));
    return absl::OkStatus();
  }

  std::string_view file_;
  std::string guid_;
  Graph graph_;
  uint32_t number_ = 0;
  bool has_block_ = false, is_of_all_ = false, is_extended_ = false;
  std::optional<size_t> port_;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_perfquery(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
