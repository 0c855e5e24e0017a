#include "probes/fabric/readers/ethtool_S.h"

#include <map>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxCounters = 65536;  // an interface with 1024 channels has 30 000

using Counters = std::map<std::string, model::CounterValue>;

std::optional<uint64_t> value_of(const Counters& counters, const std::string& name) {
  const auto found = counters.find(name);
  if (found == counters.end()) return std::nullopt;
  return found->second.value;
}

// Which counters of cable faults are there, and whether one stands above 0.
std::string of_the_cable(const Counters& counters) {
  size_t known = 0;
  for (const char* name : {"rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy", "rx_corrected_bits_phy",
                           "link_down_events_phy"}) {
    const auto value = value_of(counters, name);
    if (value && *value > 0) return fmt::format("{} is {}", name, *value);
    known += value ? 1 : 0;
  }
  return known == 0 ? "no counter of cable faults is in this output" : "counters of cable faults stand at 0";
}

void tell_discards(const Counters& counters, model::FabricFacts& out) {
  const auto discards = value_of(counters, "rx_discards_phy"), packets = value_of(counters, "rx_packets_phy");
  if (!discards || *discards == 0) return;
  std::string text = fmt::format("rx_discards_phy {}", *discards);
  if (packets && *packets > 0) text += fmt::format(" of rx_packets_phy {}", *packets);
  for (int priority = 0; priority < 8; ++priority) {
    const auto own = value_of(counters, fmt::format("rx_prio{}_discards", priority));
    if (own && *own > *discards / 100 * 99) text += fmt::format(", all on priority {}", priority);
  }
  const auto pause = value_of(counters, "tx_global_pause");
  if (pause && *pause > 0)
    text += fmt::format(", and this host sent {} global pause frames: it does not take what it receives", *pause);
  out.remarks.push_back({0, text + "; " + of_the_cable(counters)});
}

void tell_pauses(const Counters& counters, model::FabricFacts& out) {
  for (int priority = 0; priority < 8; ++priority) {
    const auto rx = value_of(counters, fmt::format("rx_prio{}_pause", priority));
    const auto tx = value_of(counters, fmt::format("tx_prio{}_pause", priority));
    if ((!rx || *rx == 0) && (!tx || *tx == 0)) continue;
    std::string text = fmt::format("priority {} paused", priority);
    if (rx) text += fmt::format(", received {}", *rx);
    if (tx) text += fmt::format(", sent {}", *tx);
    const auto lost = value_of(counters, fmt::format("rx_prio{}_buf_discard", priority));
    text += !lost        ? "; whether buffers overran is not in this output"
            : *lost == 0 ? "; no buffer overran: congestion without loss"
                         : fmt::format("; {} lost in buffers", *lost);
    out.remarks.push_back({0, text});
  }
}

}  // namespace

absl::StatusOr<model::FabricFacts> read_ethtool_s(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  model::FabricFacts out;
  out.source = {.kind = "ethtool_S", .file = std::string(file), .wall_ns = std::nullopt};
  out.devices.emplace_back().kind = model::DeviceKind::kNic;
  model::FabricPort port;
  port.link_layer = "Ethernet";
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (line.empty() || line.ends_with("NIC statistics:")) continue;
    const size_t colon = line.rfind(": ");
    const auto value = colon == std::string_view::npos ? std::nullopt : number_of(trim(line.substr(colon + 1)));
    if (!value) return refuse(file, lines.number(), "not \"NAME: NUMBER\"");
    if (port.counters.size() >= kMaxCounters)
      return refuse(file, lines.number(), fmt::format("more than {} counters", kMaxCounters));
    const auto [known, is_new] =
        port.counters.try_emplace(model::printable(trim(line.substr(0, colon)), 128), model::CounterValue{*value, false});
    if (!is_new)
      return refuse(file, lines.number(), known->first + " is there twice: the output of more than one interface");
  }
  if (port.counters.empty()) return refuse(file, 0, "no counter in it");
  tell_discards(port.counters, out);
  tell_pauses(port.counters, out);
  out.ports.push_back(std::move(port));
  return out;
}

}  // namespace railwitness::fabric
