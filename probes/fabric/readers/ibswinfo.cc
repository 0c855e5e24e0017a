#include "probes/fabric/readers/ibswinfo.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxParts = 64;  // power supplies, fans: more than any switch has

struct Patterns {
  const Pattern row{R"re(\s*([^|]*?)\s*\|\s*(.*?)\s*)re"};
  const Pattern rule{R"re(\s*[-=]{3,}\s*)re"};
  const Pattern supply{R"re(PSU\s*(\d+) status)re"};
  const Pattern fan{R"re(fan\s*#(\d+) \(rpm\))re"};
  const Pattern uptime{R"re((\d+)d-(\d+):(\d+):(\d+))re"};
};

const Patterns& patterns() {
  static const Patterns all;
  return all;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("ibswinfo", file), device_(graph_.device()) {
    graph_.at_device(device_).kind = model::DeviceKind::kSwitch;
    graph_.at_device(device_).line = 1;
    hardware_.device = device_;
  }

  void read(uint32_t number, std::string_view line) {
    number_ = number;
    std::string name, value;
    if (trim(line).empty()) return;
    if (patterns().rule.matches(line)) {
      supply_ = nullptr;
    } else if (patterns().row.matches(line, &name, &value)) {
      ++rows_;
      if (!read_part(name, value) && !read_text(name, value) && !read_number(name, value)) graph_.left_out(number_, line);
    } else if (rows_ == 0 && graph_.at_device(device_).name.empty()) {
      graph_.at_device(device_).name = std::string(trim(line));
    } else {
      graph_.left_out(number_, line);
    }
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    if (rows_ == 0) return refuse(file_, 0, "no row \"NAME | VALUE\" as ibswinfo prints them");
    if (graph_.at_device(device_).guid.empty()) return refuse(file_, 0, "no row \"GUID | 0x...\": which switch is it?");
    graph_.facts().hardware.push_back(std::move(hardware_));
    return std::move(graph_).finish();
  }

 private:
  // Rows of one power supply or fan; those of a power supply stand behind its status.
  bool read_part(const std::string& name, const std::string& value) {
    uint32_t number = 0;
    if (patterns().supply.matches(name, &number)) {
      if (hardware_.power_supplies.size() == kMaxParts) return false;
      supply_ = &hardware_.power_supplies.emplace_back();
      supply_->number = number;
      supply_->status = value;
      return true;
    }
    if (patterns().fan.matches(name, &number)) {
      if (hardware_.fans.size() == kMaxParts) return false;
      hardware_.fans.push_back({number, std::nullopt});
      if (const auto rpm = number_of(name, value)) hardware_.fans.back().rpm = static_cast<uint32_t>(*rpm);
      return true;
    }
    if (supply_ == nullptr) return false;
    if (name == "P/N") return supply_->part_number = value, true;
    if (name == "S/N") return supply_->serial_number = value, true;
    if (name == "DC power") return supply_->dc_power = value, true;
    if (name == "fan status") return supply_->fan_status = value, true;
    if (name == "power (W)") return supply_->watts = number_of(name, value), true;
    return false;
  }

  bool read_text(std::string_view name, const std::string& value) {
    const std::array<std::pair<std::string_view, std::string*>, 7> texts{{{"part number", &hardware_.part_number},
                                                                         {"serial number", &hardware_.serial_number},
                                                                         {"product name", &hardware_.product_name},
                                                                         {"revision", &hardware_.revision},
                                                                         {"PSID", &hardware_.psid},
                                                                         {"firmware version", &hardware_.firmware},
                                                                         {"fan status", &hardware_.fan_status}}};
    for (const auto& [known, text] : texts) {
      if (name == known) return *text = value, true;
    }
    return false;
  }

  bool read_number(const std::string& name, const std::string& value) {
    if (name == "GUID") {
      graph_.at_device(device_).guid = guid_of(value);
      graph_.at_device(device_).line = number_;
      return true;
    }
    if (name.starts_with("uptime")) {
      uint64_t days = 0, hours = 0, minutes = 0, seconds = 0;
      if (!value.empty() && !patterns().uptime.matches(value, &days, &hours, &minutes, &seconds)) return not_a_number(name, value);
      if (!value.empty() && days < 100000) hardware_.uptime_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
      return true;
    }
    if (name.starts_with("temperature")) return hardware_.celsius = number_of(name, value), true;
    if (name.starts_with("max temp")) return hardware_.max_celsius = number_of(name, value), true;
    if (name != "ports") return false;
    if (const auto ports = number_of(name, value)) graph_.at_device(device_).port_count = static_cast<uint32_t>(*ports);
    return true;
  }

  bool not_a_number(const std::string& name, const std::string& value) {
    graph_.remark(number_, absl::StrCat(name, ": \"", value, "\" is no number: unknown"));
    return true;
  }

  std::optional<double> number_of(const std::string& name, const std::string& value) {
    constexpr double kMost = 1e6;  // of rpm, W, degrees, ports
    double number = 0;
    if (value.empty()) return std::nullopt;
    if (absl::SimpleAtod(value, &number) && number >= -kMost && number <= kMost && (number >= 0 || name.find("temp") != std::string::npos)) {
      return number;
    }
    not_a_number(name, value);
    return std::nullopt;
  }

  std::string_view file_;
  Graph graph_;
  size_t device_;
  model::SwitchHardware hardware_;
  model::PowerSupply* supply_ = nullptr;  // whose rows follow; of the vector's last
  uint32_t number_ = 0;
  size_t rows_ = 0;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ibswinfo(std::string_view file_name, std::string_view bytes) {
  if (const absl::Status status = check_size(file_name, bytes); !status.ok()) return status;
  Reader reader(file_name);
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) reader.read(lines.number(), line);
  return std::move(reader).finish();
}

}  // namespace railwitness::fabric
