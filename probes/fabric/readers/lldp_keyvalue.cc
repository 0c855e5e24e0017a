// lldpctl -f keyvalue. A neighbour's block begins with its line "lldp.INTERFACE.via=": interfaces can have dots in
// their names, and the same interface comes again for each further neighbour.
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/lldp_heard.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxRemarks = 64;

void remark(LldpOutput& out, uint32_t line, std::string text) {
  if (out.remarks.size() < kMaxRemarks) out.remarks.push_back({line, std::move(text)});
}

bool is_id_type(std::string_view key) {
  for (const std::string_view type : {"mac", "ifname", "local", "ifalias", "ip", "unhandled"}) {
    if (key == type) return true;
  }
  return false;
}

void set_chassis(std::string_view key, std::string value, LldpHeard& heard) {
  if (is_id_type(key)) {
    heard.chassis_type = std::string(key);
    heard.chassis_id = std::move(value);
  } else if (key == "name") {
    heard.name = std::move(value);
  } else if (key == "descr") {
    heard.descr = std::move(value);
  } else if (take_suffix(key, ".enabled")) {
    heard.mentioned.insert(std::string(key));
    if (value == "on" || value == "yes") heard.enabled.insert(std::string(key));
  }
}

void set_port(std::string_view key, std::string value, LldpHeard& heard) {
  if (is_id_type(key)) {
    heard.port_type = std::string(key);
    heard.port_id = std::move(value);
  } else if (key == "descr") {
    heard.port_descr = std::move(value);
  }
}

}  // namespace

absl::StatusOr<LldpOutput> heard_in_keyvalue(std::string_view file, std::string_view bytes) {
  LldpOutput out;
  std::string prefix;  // "lldp.INTERFACE." of the block
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    const size_t equals = line.find('=');
    if (line.empty()) continue;
    if (equals == std::string_view::npos || !line.starts_with("lldp.")) {
      return refuse(file, lines.number(), "not \"lldp.INTERFACE.MEMBER=VALUE\"");
    }
    std::string_view key = line.substr(0, equals);
    std::string value = model::printable(trim(line.substr(equals + 1)), kMaxNameBytes);
    if (std::string_view interface = key; take_suffix(interface, ".via") && interface.size() > 5) {
      if (out.heard.size() >= kMaxHeard)
        return refuse(file, lines.number(), fmt::format("more than {} neighbours", kMaxHeard));
      out.heard.emplace_back();
      out.heard.back().netdev = model::printable(interface.substr(5), kMaxNameBytes);
      out.heard.back().line = lines.number();
      prefix = std::string(interface) + ".";
    } else if (prefix.empty()) {
      return refuse(file, lines.number(),
                    "stands before the first \"lldp.INTERFACE.via=\"; lldpctl -f keyvalue prints that first");
    } else if (!take_prefix(key, prefix)) {
      remark(out, lines.number(),
             fmt::format("a line of another interface in the block of {}: not taken, as it may belong to either",
                         out.heard.back().netdev));
    } else if (take_prefix(key, "chassis.")) {
      set_chassis(key, std::move(value), out.heard.back());
    } else if (take_prefix(key, "port.")) {
      set_port(key, std::move(value), out.heard.back());
    }
  }
  return out;
}

}  // namespace railwitness::fabric
