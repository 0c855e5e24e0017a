#include "probes/fabric/readers/switch_syslog.h"

#include <map>
#include <optional>
#include <set>
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

struct Clock {
  int64_t local_ns = 0;
  std::string text;
};

class Events {
 public:
  explicit Events(std::string_view file) {
    out_.source = {.kind = "switch_syslog", .file = std::string(file), .wall_ns = std::nullopt};
  }

  // `daemon`: who says it.
  void add(Kind kind, std::string device, std::string port, const Clock& clock, const std::string& daemon,
           std::string_view text, uint32_t line) {
    Port& known = ports_[{device, port}];
    if (known.last < out_.events.size()) {
      model::FabricEvent& last = out_.events[known.last];
      if (last.kind == kind && !known.daemons.contains(daemon) && clock.local_ns - *last.local_ns <= kSameNs) {
        known.daemons.insert(daemon);
        last.text += "; " + model::printable(text, 256);
        return;
      }
    }
    model::FabricEvent event;
    event.kind = kind;
    event.device = std::move(device);
    event.port = std::move(port);
    event.time_text = clock.text;
    event.local_ns = clock.local_ns;
    event.text = model::printable(text, 256);
    event.line = line;
    if (kind == Kind::kUp && known.down_since) event.outage_ns = clock.local_ns - *known.down_since;
    if (kind == Kind::kDown) known.down_since = clock.local_ns;
    if (kind != Kind::kDown) known.down_since.reset();
    known.last = out_.events.size();
    known.daemons = {daemon};
    out_.events.push_back(std::move(event));
  }

  size_t size() const { return out_.events.size(); }

  model::FabricFacts take() && {
    for (const auto& [name, port] : ports_) {
      if (!port.down_since) continue;
      out_.remarks.push_back(
          {out_.events[port.last].line, fmt::format("{} is still down at the end of this log", name.second)});
    }
    if (out_.events.empty()) out_.remarks.push_back({0, "no port came or went in this log"});
    return std::move(out_);
  }

 private:
  struct Port {
    size_t last = static_cast<size_t>(-1);  // event
    std::set<std::string> daemons;          // that said it
    std::optional<int64_t> down_since;
  };
  model::FabricFacts out_;
  std::map<std::pair<std::string, std::string>, Port> ports_;
};

// What a line of SONiC's daemons says of a port.
struct Said {
  std::string port, daemon;
  Kind kind = Kind::kUnknown;
};

Kind kind_of(std::string_view word) {
  if (word == "up" || word == "UP") return Kind::kUp;
  return word == "down" || word == "DOWN" ? Kind::kDown : Kind::kUnknown;
}

// "Port Ethernet4 oper state set from up to down", "OperStatus of Port Ethernet38 (alias: he-1/1/38) changed from down
// to up", "Ethernet4: carrier changed to DOWN"
std::optional<Said> said_in(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 4) return std::nullopt;
  Said out;
  out.kind = kind_of(words.back());
  if (out.kind == Kind::kUnknown) return std::nullopt;
  if (text.find("updatePortOperStatus:") != std::string_view::npos) {
    out.daemon = "orchagent";
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Port") out.port = model::printable(words[i + 1], kMaxName);
    }
  } else if (words.size() >= 5 && text.find(": carrier changed to ") != std::string_view::npos) {
    std::string_view name = words[words.size() - 5];
    take_suffix(name, ":");
    out.daemon = "teamd";
    out.port = model::printable(name, kMaxName);
  }
  if (out.port.empty()) return std::nullopt;
  return out;
}

// What `ip monitor link` last said of an interface.
struct Interface {
  std::optional<bool> admin_up, carrier;
};

// "3: swp1: <NO-CARRIER,BROADCAST,UP> mtu ..."
class Monitor {
 public:
  explicit Monitor(Events* events) : events_(events) {}

  static bool is_record(std::string_view line) {
    take_prefix(line, "Deleted ");
    const std::string_view index = take_until(line, ": ");
    return number_of(index).has_value() && line.find(": <") != std::string_view::npos;
  }

  void record(std::string_view line, const Clock& clock, uint32_t number) {
    const std::string_view whole = line;
    take_until(line, ": ");
    std::string_view named = take_until(line, ": <");
    const std::string name = model::printable(take_until(named, "@"), kMaxName);
    std::string_view list = take_until(line, ">");
    std::set<std::string_view> flags;
    while (!list.empty()) flags.insert(take_until(list, ","));
    const bool admin = flags.contains("UP");
    const bool carrier = admin && flags.contains("LOWER_UP") && !flags.contains("NO-CARRIER");
    Interface& known = interfaces_[name];
    const auto tell = [&](Kind kind) { events_->add(kind, "", name, clock, "kernel", whole, number); };
    if (!admin) {
      if (known.admin_up.value_or(true)) tell(Kind::kAdminDown);
    } else if (!known.admin_up.value_or(true)) {
      tell(Kind::kAdminUp);  // a carrier comes in a record of its own, which may pass one without
    } else if (!carrier && known.carrier.value_or(true)) {
      tell(Kind::kDown);
    } else if (carrier && !known.carrier.value_or(true)) {
      tell(Kind::kUp);
    }
    known.admin_up = admin;
    known.carrier = carrier;
  }

 private:
  Events* events_;
  std::map<std::string, Interface> interfaces_;
};

// "Timestamp: Sun Nov 29 18:05:48 2026 927891 usec": the microseconds are a number, without leading zeros.
std::optional<Clock> monitor_clock(std::string_view line) {
  if (!take_prefix(line, "Timestamp: ")) return std::nullopt;
  const auto clock = clock_at_start(line);
  if (!clock) return std::nullopt;
  std::string_view rest = trim(line.substr(clock->length));
  const auto micros = take_suffix(rest, " usec") ? number_of(rest) : std::nullopt;
  if (!micros || *micros > 999'999) return std::nullopt;
  return Clock{clock->local_ns + static_cast<int64_t>(*micros) * 1000, model::printable(line, 64)};
}

// "[2026-11-29T18:05:48.927891] 3: swp1: <...>", taken off the line.
std::optional<Clock> short_clock(std::string_view& line) {
  std::string_view rest = line;
  if (!take_prefix(rest, "[")) return std::nullopt;
  const auto clock = clock_at_start(rest);
  if (!clock || rest.substr(clock->length, 1) != "]") return std::nullopt;
  line = trim(rest.substr(clock->length + 1));
  return Clock{clock->local_ns, model::printable(rest.substr(0, clock->length), 64)};
}

// "TIME HOST REST"
void syslog_line(std::string_view line, const ClockText& clock, uint32_t number, Events& events) {
  std::string_view rest = trim(line.substr(clock.length));
  const std::string host = model::printable(take_until(rest, " "), kMaxName);
  if (const auto said = said_in(rest)) {
    events.add(said->kind, host, said->port, Clock{clock.local_ns, model::printable(line.substr(0, clock.length), 64)},
               said->daemon, rest, number);
  }
}

}  // namespace

absl::StatusOr<model::FabricFacts> read_switch_syslog(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  Events events(file);
  Monitor monitor(&events);
  std::optional<Clock> clock;  // of the records that follow
  bool any_time = false;
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (events.size() >= kMaxEvents)
      return refuse(file, lines.number(), fmt::format("more than {} events", kMaxEvents));
    if (auto stamp = monitor_clock(line)) {
      clock = std::move(stamp);
      any_time = true;
      continue;
    }
    if (auto stamp = short_clock(line)) clock = std::move(stamp);
    if (clock && Monitor::is_record(line)) {
      monitor.record(line, *clock, lines.number());
      any_time = true;
    } else if (const auto at_start = clock_at_start(line)) {
      syslog_line(line, *at_start, lines.number(), events);
      any_time = true;
    }
  }
  if (!any_time) return refuse(file, 0, "no line with a time in it: neither syslog nor ip -timestamp monitor link");
  return std::move(events).take();
}

}  // namespace railwitness::fabric
