#include "probes/fabric/readers/sysfs_infiniband.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/counter_width.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::PortState;
using Words = std::array<std::string_view, 8>;

constexpr std::string_view kZeroGid = "0000:0000:0000:0000:0000:0000:0000:0000";
// As the kernel's ib_port_state_to_str() and phys_state_to_str() number and name them.
constexpr Words kStates{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER", "", ""};
constexpr Words kPhysicalStates{
    "<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"};

struct Patterns {
  // The device, and behind it what the file says of the device or of one port.
  const Pattern line{R"re((?:.*/infiniband/|\./)?([A-Za-z0-9_.-]+)/([A-Za-z0-9_./-]+):(.*))re"};
  const Pattern of_port{R"re(ports/(\d+)/(.*))re"};
  const Pattern counter{R"re((?:counters/|(hw_counters/))(\w+))re"};
  const Pattern state{R"re((\d+):\s*(.*\S)\s*)re"};
  const Pattern rate{R"re(([0-9.]+) Gb/sec(?: \((\d+)X(?: (\w+))?\))?\s*)re"};
  const Pattern gid{R"re(gids/\d+)re"};
  const Pattern model{R"re(MT(\d+))re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

// What is put together when all is read: files come in any order.
struct PortText {
  std::string state, physical, rate;
  uint32_t state_line = 0, physical_line = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("sysfs_infiniband", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    number_ = number;
    std::string name, path, value;
    if (trim(line).empty() || line.starts_with("grep: ")) return absl::OkStatus();
    if (!patterns().line.matches(line, &name, &path, &value)) {
      graph_.left_out(number_, line);
      return absl::OkStatus();
    }
    value = std::string(trim(value));
    uint32_t port = 0;
    std::string of_port;
    if (patterns().of_port.matches(path, &port, &of_port)) return read_of_port(device(name), port, of_port, value);
    if (path.starts_with("ports/")) return refuse(file_, number_, absl::StrCat("path ", path, ": no port"));
    for (const std::string_view file : {"node_guid", "sys_image_guid", "hca_type", "node_desc", "board_id", "fw_ver", "node_type"}) {
      if (path == file) read_of_device(device(name), path, value);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    if (graph_.facts().devices.empty()) return refuse(file_, 0, "no file of a device below /sys/class/infiniband");
    for (const auto& [port, text] : texts_) complete(port, text);
    return std::move(graph_).finish();
  }

 private:
  size_t device(const std::string& name) {
    const size_t index = graph_.device(name);
    model::FabricDevice& of = graph_.at_device(index);
    if (of.line == 0) {
      of.line = number_;
      of.kind = model::DeviceKind::kNic;
      of.nic = name;
    }
    return index;
  }

  void read_of_device(size_t index, std::string_view path, const std::string& value) {
    model::FabricDevice& of = graph_.at_device(index);
    if (path == "node_guid") of.guid = non_zero(guid_of(value));
    if (path == "sys_image_guid") of.system_guid = non_zero(guid_of(value));
    if (uint32_t id = 0; path == "hca_type" && patterns().model.matches(value, &id)) of.device_id = id;
    if (path == "node_desc") {
      of.name = value;
      of.host = host_and_nic_of(value).host;
    }
  }

  absl::Status read_of_port(size_t index, uint32_t number, std::string_view path, const std::string& value) {
    if (number == 0 || number > kMaxPort) return refuse(file_, number_, absl::StrCat("port ", number, ": there are 1 to ", kMaxPort));
    const size_t port = graph_.port(index, number);
    if (graph_.at_port(port).line == 0) graph_.at_port(port).line = number_;
    std::string hw, name;
    if (patterns().counter.matches(path, &hw, &name)) return read_counter(port, hw, name, value);
    model::FabricPort& of = graph_.at_port(port);
    PortText& text = texts_[port];
    if (path == "state") text.state = value, text.state_line = number_;
    if (path == "phys_state") text.physical = value, text.physical_line = number_;
    if (path == "rate") text.rate = value;
    if (path == "link_layer") of.link_layer = value;
    if (uint32_t lid = 0; path == "lid" && absl::SimpleHexAtoi(value, &lid) && lid != 0) of.lid = lid;
    if (uint32_t lmc = 0; path == "lid_mask_count" && absl::SimpleAtoi(value, &lmc)) of.lmc = lmc;
    if (patterns().gid.matches(path) && !value.empty() && value != kZeroGid && of.gids.size() < kMaxCountersOfPort) {
      of.gids.push_back(value);
    }
    return absl::OkStatus();
  }

  absl::Status read_counter(size_t port, const std::string& hw, const std::string& name, const std::string& value) {
    uint64_t count = 0;
    if (name == "lifespan") return absl::OkStatus();  // how long the kernel keeps the others, in milliseconds
    if (value.starts_with("N/A") || value.empty()) return absl::OkStatus();
    if (!absl::SimpleAtoi(value, &count)) return refuse(file_, number_, absl::StrCat("counter ", hw, name, ": ", value));
    graph_.count(port, hw + name, hw.empty() ? counter_of(name, count) : model::CounterValue{count, false});
    return absl::OkStatus();
  }

  static std::string non_zero(std::string guid) { return guid == "0000000000000000" ? "" : guid; }

  // The word that number and word agree on; empty: they do not, or nothing was said.
  std::string_view agreed(const Words& words, const char* what, const std::string& said, uint32_t line) {
    if (said.empty()) return {};
    uint32_t number = 0;
    std::string word;
    if (patterns().state.matches(said, &number, &word) && number < words.size() && words[number] == word) return words[number];
    graph_.remark(line, absl::StrCat(what, " reads \"", said, "\", which is no state of the kernel: not believed"));
    return {};
  }

  void complete(size_t port, const PortText& text) {
    const std::string_view state = agreed(kStates, "state", text.state, text.state_line);
    const std::string_view physical = agreed(kPhysicalStates, "phys_state", text.physical, text.physical_line);
    model::FabricPort& of = graph_.at_port(port);
    if (physical == "Disabled") {
      of.state = PortState::kDisabled;
    } else if (state == "ACTIVE" || state == "ACTIVE_DEFER") {
      of.state = PortState::kUp;
    } else if (state == "INIT" || state == "ARMED" || physical == "PortConfigurationTraining") {
      of.state = PortState::kTraining;
    } else if (state == "DOWN") {
      of.state = PortState::kDown;
    }
    std::string gbps, lanes, speed;
    if (of.state != PortState::kUp || !patterns().rate.matches(text.rate, &gbps, &lanes, &speed)) return;
    of.rate_mbps = mbps_of_gbps(gbps);
    if (of.link_layer == "Ethernet") return;
    if (uint32_t number = 0; absl::SimpleAtoi(lanes, &number)) of.lanes = number;
    if (const uint32_t mbps = lane_mbps_of(speed.empty() ? "SDR" : speed); mbps > 0 && of.lanes) of.lane_mbps = mbps;
  }

  std::string_view file_;
  Graph graph_;
  uint32_t number_ = 0;
  std::map<size_t, PortText> texts_;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_sysfs_infiniband(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
