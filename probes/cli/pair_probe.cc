#include "probes/cli/pair_probe.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/bus/bus.h"

namespace railwitness::cli {
namespace {

constexpr size_t kMaxNames = 4096;        // of nodes; forged ones take no more memory
constexpr int64_t kLateNs = 500'000'000;  // docs/diagnosis.md: silence counts below it
constexpr char kActive[] = "ACTIVE";

bool is_same_voice(const model::NodeFacts& a, const model::NodeFacts& b) {
  return a.boot_id == b.boot_id && a.sidecar_start_mono_ns == b.sidecar_start_mono_ns;
}

bool is_same_port(const model::PingPort& a, const model::PingPort& b) {
  return a.qpn == b.qpn && a.udp_port == b.udp_port && a.gid == b.gid && a.lid == b.lid;
}

}  // namespace

PairProbe::PairProbe(Nodes nodes, std::vector<int> rails, uint64_t id_base)
    : nodes_(std::move(nodes)), wanted_(std::move(rails)), next_id_(id_base) {}

void PairProbe::hear(const std::vector<model::Heard>& heard, int64_t now_mono_ns) {
  for (const model::Heard& one : heard) {
    const bool speaks = one.age_ns < bus::FleetBus::kBeforeListeningNs;
    const std::string& name = one.facts.node;
    if (names_.contains(name) || names_.size() < kMaxNames) names_[name] |= speaks;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (speaks && name == nodes_[n]) hear_node(n, one.facts, now_mono_ns);
    }
  }
}

void PairProbe::hear_node(size_t n, const model::NodeFacts& facts, int64_t now_mono_ns) {
  Side& side = sides_[n];
  side.voice_changed |= !rails_.empty() && !is_same_voice(*side.facts, facts);
  side.facts = facts;
  side.heard_mono_ns = now_mono_ns;
  side.late_ns = std::max(side.late_ns, facts.late_ns);
  for (const model::Ping& ping : facts.pings) {
    const auto asked = requests_.find(ping.id);
    if (asked == requests_.end()) continue;  // of another's round
    const model::PingRequest& request = asked->second;
    if (request.from_node == facts.node && request.to_node == ping.to_node && request.device == ping.device) {
      results_.try_emplace(ping.id, ping);
    }
  }
  for (PairedRail& rail : rails_) {
    Direction& towards = rail.directions[1 - n];
    const model::Rail* port = find_rail(n, rail.index);
    const model::PingPort* now = port == nullptr ? nullptr : ping_port(n, *port);
    if (towards.to && (now == nullptr || !is_same_port(*now, *towards.to))) towards.port_changed = true;
  }
}

std::vector<std::string> PairProbe::speaking() const {
  std::vector<std::string> out;
  for (const auto& [name, speaks] : names_) {
    if (speaks) out.push_back(name);
  }
  return out;
}

const model::Rail* PairProbe::find_rail(size_t node, int32_t index) const {
  if (!sides_[node].facts) return nullptr;
  for (const model::Rail& rail : sides_[node].facts->rails) {
    if (rail.index == index) return &rail;
  }
  return nullptr;
}

const model::PingPort* PairProbe::ping_port(size_t node, const model::Rail& rail) const {
  for (const model::PingPort& port : facts(node).ping_ports) {
    if (port.device == rail.device && port.port == rail.port) return &port;
  }
  return nullptr;
}

void PairProbe::pair_ports() {
  std::set<int32_t> numbers(wanted_.begin(), wanted_.end());
  for (size_t n = 0; n < nodes_.size() && wanted_.empty(); ++n) {
    for (const model::Rail& rail : facts(n).rails) {
      if (rail.index >= 0) numbers.insert(rail.index);
    }
  }
  for (const int32_t number : numbers) {
    if (rails_.size() == kMaxRails) break;
    rails_.emplace_back().index = number;
  }
}

std::string PairProbe::numbers_of(size_t node) const {
  std::vector<int32_t> numbers;
  for (const model::Rail& rail : facts(node).rails) {
    if (rail.index >= 0) numbers.push_back(rail.index);
  }
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", "));
}

// Why the node has nothing to probe from or answer at on the rail; empty: it has.
std::string PairProbe::no_port(int32_t number, size_t node) const {
  const model::Rail* rail = find_rail(node, number);
  if (rail == nullptr) return fmt::format("{} has no rail {}; it has {}", nodes_[node], number, numbers_of(node));
  if (ping_port(node, *rail) != nullptr) return "";
  std::string out = fmt::format("the sidecar of {} answers no probes on {}", nodes_[node], rail->device);
  for (const std::string& note : facts(node).notes) {
    if (note.starts_with("active probes: ") || note.find("cannot be probed") != std::string::npos) return out + ": " + note;
  }
  return facts(node).ping_ports.empty() ? out + "; was it started with --no-pings?" : out;
}

std::string PairProbe::why_not(int32_t number, size_t from) const {
  for (const size_t node : {from, 1 - from}) {
    if (std::string why = no_port(number, node); !why.empty()) return why;
  }
  const model::Rail& rail = *find_rail(from, number);
  for (const model::PingPort& port : facts(from).ping_ports) {
    // A request names a device, and the sidecar takes its first port.
    if (port.device == rail.device && port.port < rail.port) {
      return fmt::format("probes leave {} of {} by its port {} alone; ask for that one's rail", rail.device, nodes_[from], port.port);
    }
  }
  return "";
}

std::vector<model::PingRequest> PairProbe::next_round(int64_t now_mono_ns) {
  std::vector<model::PingRequest> out;
  asked_mono_ns_ = now_mono_ns;
  for (PairedRail& rail : rails_) {
    for (size_t from = 0; from < nodes_.size(); ++from) {
      Direction& direction = rail.directions[from];
      if (std::string why = why_not(rail.index, from); !why.empty()) {
        direction.cannot = std::move(why);
        continue;
      }
      const model::PingPort& to = *ping_port(1 - from, *find_rail(1 - from, rail.index));
      if (!direction.to) direction.to = to;
      direction.ids.push_back(next_id_);
      ++asked_;
      out.push_back({next_id_, nodes_[from], find_rail(from, rail.index)->device, nodes_[1 - from], to});
      requests_[next_id_++] = out.back();
    }
  }
  return out;
}

bool PairProbe::is_settled() const {
  return results_.size() == asked_ && sides_[0].heard_mono_ns > asked_mono_ns_ && sides_[1].heard_mono_ns > asked_mono_ns_;
}

// Why a loss says nothing about the rail; empty: it does.
std::string PairProbe::doubt(const Direction& direction) const {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const Side& side = sides_[n];
    if (side.voice_changed) {
      return fmt::format("the sidecar of {} was started anew meanwhile, or two go by that name: ask again", nodes_[n]);
    }
    if (side.heard_mono_ns <= asked_mono_ns_) return fmt::format("the sidecar of {} has fallen silent on the bus", nodes_[n]);
  }
  return direction.port_changed ? "the port that answers was opened anew meanwhile: ask again" : "";
}

std::string PairProbe::late() const {
  const size_t n = sides_[0].late_ns >= sides_[1].late_ns ? 0 : 1;
  if (sides_[n].late_ns <= kLateNs) return "";
  return fmt::format("the sidecar of {} was {:.1f} s behind its schedule, so a loss proves nothing", nodes_[n],
                     static_cast<double>(sides_[n].late_ns) / 1e9);
}

std::string PairProbe::port_down(int32_t number) const {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const model::Rail* rail = find_rail(n, number);
    if (rail != nullptr && !rail->state.empty() && rail->state != kActive) {
      return fmt::format("{} of {} is {}", rail->device, nodes_[n], rail->state);
    }
  }
  return "";
}

std::vector<rail::RailWays> PairProbe::ways() const {
  std::vector<rail::RailWays> out;
  for (const PairedRail& rail : rails_) {
    rail::RailWays& ways = out.emplace_back();
    ways.index = rail.index;
    for (size_t from = 0; from < nodes_.size(); ++from) {
      const Direction& direction = rail.directions[from];
      rail::Way& way = from == 0 ? ways.there : ways.back;
      way.cannot = direction.cannot;
      way.asked = static_cast<uint32_t>(direction.ids.size());
      for (const uint64_t id : direction.ids) {
        if (const auto found = results_.find(id); found != results_.end()) way.results.push_back(found->second);
      }
      way.port_down = port_down(rail.index);
      way.doubt = doubt(direction);
      way.late = late();
    }
  }
  return out;
}

const model::Rail* PairProbe::port(size_t rail, size_t node) const { return find_rail(node, rails_[rail].index); }

std::string PairProbe::port_name(size_t rail, size_t node) const {
  const model::Rail* at = port(rail, node);
  if (at == nullptr) return "";
  return at->port == 1 ? at->device : fmt::format("{}/{}", at->device, at->port);
}

}  // namespace railwitness::cli
