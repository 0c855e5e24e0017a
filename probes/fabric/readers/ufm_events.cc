#include "probes/fabric/readers/ufm_events.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/clock_text.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using Kind = model::FabricEvent::Kind;

constexpr size_t kMaxName = 128;
constexpr int64_t kSameNs = 1'000'000'000;

struct Line {
  ClockText clock;
  std::string time_text;
  uint64_t event = 0;
  std::string_view object, text;
};

// "[...]" at the start, without its brackets.
std::optional<std::string_view> bracketed(std::string_view& rest) {
  rest = trim(rest);
  if (!take_prefix(rest, "[")) return std::nullopt;
  if (rest.find(']') == std::string_view::npos) return std::nullopt;
  return take_until(rest, "]");
}

std::optional<Line> line_of(std::string_view text) {
  const auto clock = clock_at_start(text);
  if (!clock) return std::nullopt;
  Line out;
  out.clock = *clock;
  out.time_text = model::printable(text.substr(0, clock->length), 32);
  std::string_view rest = text.substr(clock->length);
  if (!bracketed(rest)) return std::nullopt;
  const auto event = bracketed(rest);
  if (!event || !number_of(*event)) return std::nullopt;
  out.event = *number_of(*event);
  rest = trim(rest);
  take_until(rest, " ");  // severity
  if (!bracketed(rest)) return std::nullopt;
  rest = trim(rest);
  take_until(rest, " ");  // type of the object
  out.object = bracketed(rest).value_or(std::string_view());
  while (bracketed(rest)) {  // "[dev_id: ...]"
  }
  const size_t colon = rest.find(": ");
  out.text = trim(colon == std::string_view::npos ? rest : rest.substr(colon + 2));
  return out;
}

// "(Switch:T3-E21-N-U47:1/17/1)9c0591030090e000:33"
struct End {
  std::string device, port, guid;
  std::optional<uint32_t> number;
  bool is_switch = false;
};

std::optional<End> end_of(std::string_view text) {
  text = trim(text);
  if (!take_prefix(text, "(")) return std::nullopt;
  std::string_view name = take_until(text, ")");
  const std::string_view kind = take_until(name, ":");
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  End out;
  out.is_switch = kind == "Switch";
  out.device = model::printable(trim(name.substr(0, colon)), kMaxName);
  out.port = model::printable(trim(name.substr(colon + 1)), kMaxName);
  out.guid = guid_of(take_until(text, ":"));
  if (const auto number = number_of(trim(text)); number && *number < 65536) out.number = static_cast<uint32_t>(*number);
  return out;
}

Kind kind_of(uint64_t event) {
  if (event == 328) return Kind::kUp;
  if (event == 329) return Kind::kDown;
  if (event == 702) return Kind::kUnhealthy;
  return event >= 110 && event <= 136 ? Kind::kCounter : Kind::kUnknown;
}

class Facts {
 public:
  explicit Facts(std::string_view file) {
    out_.source = {.kind = "ufm_events", .file = std::string(file), .wall_ns = std::nullopt};
  }

  void take(const Line& line, uint32_t number) {
    model::FabricEvent event;
    event.kind = kind_of(line.event);
    event.time_text = line.time_text;
    event.local_ns = line.clock.local_ns;
    event.text = model::printable(fmt::format("[{}] {}", line.event, line.text), 512);
    event.line = number;
    if (event.kind == Kind::kUp || event.kind == Kind::kDown) {
      take_link(line.text, event);
    } else {
      take_port(line, event);
    }
    if (!is_repeated(event)) out_.events.push_back(std::move(event));
  }

  size_t events() const { return out_.events.size(); }
  size_t repeated() const { return repeated_; }
  model::FabricFacts& out() { return out_; }

 private:
  // "Link went down: END - END, cable S/N: X"
  void take_link(std::string_view text, model::FabricEvent& event) {
    take_until(text, ": ");
    std::string_view ends = take_until(text, ", cable S/N: ");
    const auto a = end_of(take_until(ends, " - ")), b = end_of(ends);
    if (!a || !b) return;
    event.device = a->device;
    event.port = a->port;
    event.peer_device = b->device;
    event.peer_port = b->port;
    if (a->guid.empty() || b->guid.empty() || !a->number || !b->number) return;
    const size_t near = port_of(*a, event.line), far = port_of(*b, event.line);
    const auto [known, is_new] = links_.try_emplace({std::min(near, far), std::max(near, far)}, out_.links.size());
    if (is_new)
      out_.links.push_back(
          {.a = near, .b = far, .one_sided = false, .cable = model::printable(trim(text), kMaxName), .line = event.line});
  }

  // Object "Default(2) / Switch: T2-E17-N-U45 / 1/3/1"; text "Peer Port T2-E63-L-U37:1/19/2 is considered ..."
  void take_port(const Line& line, model::FabricEvent& event) {
    std::string_view object = line.object;
    if (const size_t at = object.find(": "); at != std::string_view::npos) {
      object.remove_prefix(at + 2);
      event.device = model::printable(trim(take_until(object, " / ")), kMaxName);
      event.port = model::printable(trim(object), kMaxName);
    }
    std::string_view text = line.text;
    if (!take_prefix(text, "Peer Port ")) return;
    std::string_view peer = take_until(text, " ");
    event.peer_device = model::printable(take_until(peer, ":"), kMaxName);
    event.peer_port = model::printable(peer, kMaxName);
  }

  size_t port_of(const End& end, uint32_t line) {
    const auto [device, new_device] = devices_.try_emplace(end.guid, out_.devices.size());
    if (new_device) {
      model::FabricDevice& added = out_.devices.emplace_back();
      added.guid = end.guid;
      added.name = end.device;
      added.kind = end.is_switch ? model::DeviceKind::kSwitch : model::DeviceKind::kNic;
      if (!end.is_switch) {
        HostAndNic names = host_and_nic_of(end.device);
        added.host = std::move(names.host);
        added.nic = std::move(names.nic);
      }
      added.line = line;
    }
    const auto [port, new_port] = ports_.try_emplace({device->second, *end.number}, out_.ports.size());
    if (new_port) {
      model::FabricPort& added = out_.ports.emplace_back();
      added.device = device->second;
      added.number = *end.number;
      added.label = end.port;
      added.link_layer = "InfiniBand";
      added.line = line;
    }
    return port->second;
  }

  // The same of the same two ends, named in either order, within a second.
  bool is_repeated(const model::FabricEvent& event) {
    std::string a = event.device + "\n" + event.port, b = event.peer_device + "\n" + event.peer_port;
    if (b < a) std::swap(a, b);
    const std::string key = fmt::format("{}\n{}\n{}\n{}", static_cast<int>(event.kind), a, b,
                                        event.kind == Kind::kUnknown ? event.text : "");
    const auto [last, is_new] = last_.try_emplace(key, *event.local_ns);
    const bool same = !is_new && *event.local_ns - last->second <= kSameNs && *event.local_ns >= last->second;
    if (!same) last->second = *event.local_ns;
    repeated_ += same ? 1 : 0;
    return same;
  }

  model::FabricFacts out_;
  std::map<std::string, size_t> devices_;
  std::map<std::pair<size_t, uint32_t>, size_t> ports_;
  std::map<std::pair<size_t, size_t>, size_t> links_;
  std::map<std::string, int64_t> last_;
  size_t repeated_ = 0;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_ufm_events(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  Facts facts(file);
  size_t others = 0;
  Lines lines(bytes);
  for (std::string_view text; lines.next(text);) {
    text = trim(text);
    if (text.empty()) continue;
    const auto line = line_of(text);
    if (!line) {
      if (++others == 1)
        facts.out().remarks.push_back({lines.number(), "not a line of UFM's event log; such lines are left out"});
      continue;
    }
    if (facts.events() >= kMaxEvents)
      return refuse(file, lines.number(), fmt::format("more than {} events", kMaxEvents));
    facts.take(*line, lines.number());
  }
  if (facts.events() == 0)
    return refuse(file, others == 0 ? 0 : 1, "no line \"TIME [ID] [EVENT] SEVERITY [CATEGORY] TYPE [OBJECT]: TEXT\"");
  if (facts.repeated() > 0)
    facts.out().remarks.push_back({0, fmt::format("{} lines repeat an event", facts.repeated())});
  facts.out().remarks.push_back({0, "times are local without zone: only differences within this file say anything"});
  return std::move(facts.out());
}

}  // namespace railwitness::fabric
