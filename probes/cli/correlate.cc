#include "probes/cli/correlate.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/bus/subjects.h"
#include "probes/cli/arguments.h"
#include "probes/cli/correlator.h"
#include "probes/export/incident_text.h"
#include "railwitness/base/clock.h"

namespace railwitness::cli {
namespace {

class Loop {
 public:
  Loop(bus::FleetBus& bus, const CorrelateOptions& options, const Streams& streams)
      : bus_(bus), options_(options), streams_(streams) {}

  int run(const std::function<bool()>& should_stop) {
    const int64_t begin = now_mono_ns();
    const int64_t end = options_.once_s ? begin + static_cast<int64_t>(*options_.once_s * 1e9) : INT64_MAX;
    int64_t next = begin;
    while (!should_stop()) {
      const int64_t now = now_mono_ns();
      if (now >= end) break;
      if (now >= next) {
        step(now);
        next = now + options_.interval_ms * 1'000'000;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(50, options_.interval_ms)));
    }
    if (!options_.once_s) return kExitOk;
    return verdict_of_once(now_mono_ns(), end);
  }

 private:
  // That nothing was found means something only if everybody was heard.
  int verdict_of_once(int64_t now, int64_t end) {
    step(now);  // what came since the last one
    if (!ever_connected_) return kExitCannot;
    if (found_) return kExitFinding;
    const std::string why = too_little(now, end);
    if (why.empty()) return kExitOk;
    say(streams_.err, "correlate: nothing was found, but too little was heard: " + why);
    return kExitBlind;
  }

  // Why silence says nothing; empty if it does.
  std::string too_little(int64_t now, int64_t end) const {
    std::vector<std::string> why;
    const size_t speaking = correlator_.speaking(now).size();
    if (speaking == 0) {
      why.push_back("no node speaks");
    } else if (options_.nodes && speaking < static_cast<size_t>(*options_.nodes)) {
      why.push_back(fmt::format("{} of {} nodes", speaking, *options_.nodes));
    } else if (!options_.nodes) {
      for (const std::string& node : first_of(correlator_.silent(now))) why.push_back("nothing from " + node);
    }
    for (const std::string& node : first_of(correlator_.doubled(now))) {
      why.push_back("two sidecars call themselves " + node);
    }
    if (correlator_.is_crowded(now)) why.push_back(crowded());
    if (bus_.malformed() > 0) why.push_back(fmt::format("{} messages could not be read", bus_.malformed()));
    if (!last_problem_.empty()) why.push_back(last_problem_);
    if (now < end) why.push_back(fmt::format("stopped before {} s were over", *options_.once_s));
    return fmt::format("{}", fmt::join(why, "; "));
  }

  static std::string crowded() {
    return fmt::format("more than {} node names are said on the bus, some nodes are not heard: let each sidecar publish "
                       "under its own name only", Correlator::kMaxNodes);
  }

  static std::vector<std::string> first_of(std::vector<std::string> names) {
    names.resize(std::min<size_t>(names.size(), 8));
    return names;
  }

  void step(int64_t now) {
    tell_connection();
    correlator_.hear(bus_.take_facts(), now);
    const int64_t wall = now_wall_ns();
    const Correlator::Word word = correlator_.think(now, wall);
    tell_nodes(now);
    for (const model::Incident& incident : word.changes.incidents) {
      found_ |= incident.state != model::IncidentState::kWithdrawn;
      const std::string json = exporter::to_json(incident, wall);
      say(streams_.out, options_.json ? json : exporter::one_line(incident, wall));
      (void)bus_.publish_incident(json);  // without a server standard output is all there is
    }
    for (const model::Finding& wait : word.changes.waits) {
      say(streams_.out, options_.json ? exporter::wait_to_json(wait, wall) : exporter::wait_line(wait, wall));
    }
    if (!word.pings.empty()) (void)bus_.request_pings(word.pings);  // asked again in a second
  }

  void tell_connection() {
    const auto [connection, problem] = bus_.state();
    ever_connected_ |= problem.empty();
    if (problem == last_problem_) return;
    last_problem_ = problem;
    const bool first = connection == bus::Connection::kBeginning;
    say(streams_.err, problem.empty() ? fmt::format("correlate: listening to railwitness.facts.* at {}",
                                                    bus::shown_url(options_.nats_url))
                                      : fmt::format("correlate: {}{}", problem, first ? "" : "; trying again"));
  }

  void tell_nodes(int64_t now) {
    const std::vector<std::string> silent = first_of(correlator_.silent(now));
    const size_t speaking = correlator_.speaking(now).size();
    std::string text =
        fmt::format("hearing {}{} node{}", speaking, options_.nodes ? fmt::format(" of {}", *options_.nodes) : "",
                    speaking == 1 && !options_.nodes ? "" : "s");
    if (!silent.empty()) text += fmt::format(", nothing from {}", fmt::join(silent, " "));
    const std::vector<std::string> doubled = first_of(correlator_.doubled(now));
    if (!doubled.empty()) {
      text += fmt::format("; two sidecars call themselves {}: give each its own --node", fmt::join(doubled, " "));
    }
    if (correlator_.is_crowded(now)) text += "; " + crowded();
    if (text == last_nodes_ || now - last_nodes_mono_ns_ < 1'000'000'000) return;
    if (last_nodes_.empty() && speaking == 0) return;
    last_nodes_ = text;
    last_nodes_mono_ns_ = now;
    say(streams_.err, "correlate: " + text);
  }

  // Each line at once: who reads a pipe during a hang must not wait for a full buffer.
  static void say(std::FILE* to, const std::string& line) {
    std::fwrite(line.data(), 1, line.size(), to);
    std::fputc('\n', to);
    std::fflush(to);
  }

  bus::FleetBus& bus_;
  const CorrelateOptions& options_;
  const Streams& streams_;
  Correlator correlator_;
  std::string last_problem_ = "not asked yet";
  std::string last_nodes_;
  int64_t last_nodes_mono_ns_ = 0;
  bool ever_connected_ = false, found_ = false;
};

}  // namespace

int run_correlate(bus::FleetBus& bus, const CorrelateOptions& options, const Streams& streams,
                  const std::function<bool()>& should_stop) {
  return Loop(bus, options, streams).run(should_stop);
}

int run_correlate(const CorrelateOptions& options, const Streams& streams, const std::function<bool()>& should_stop) {
  const auto bus = bus::open_fleet_bus(options.nats_url);
  if (!bus.ok()) {
    fmt::print(streams.err, "railwitness correlate: {}\n", std::string(bus.status().message()));
    return kExitUsage;
  }
  return run_correlate(**bus, options, streams, should_stop);
}

}  // namespace railwitness::cli
