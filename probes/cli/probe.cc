#include "probes/cli/probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "fmt/format.h"
#include "probes/cli/arguments.h"
#include "probes/cli/pair_probe.h"
#include "probes/cli/probe_text.h"
#include "railwitness/base/clock.h"

namespace railwitness::cli {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStepNs = 20 * kMs;
constexpr int64_t kPatienceNs = 5000 * kMs;     // for the bus, and then for both nodes: a sidecar speaks every two seconds
constexpr int64_t kRefusedNs = 2000 * kMs;      // for a bus that was tried and is not there
constexpr int64_t kEveryNs = 700 * kMs;         // a round
constexpr int64_t kAfterNs = 3000 * kMs;        // for the last results: 1.4 s of a round that is lost, 0.5 s to be said
constexpr int64_t kTellProgressNs = 1000 * kMs;
// A lost round is under way for 1.4 s, and a sidecar has 64 at most: of two rounds, with room for a correlator's.
constexpr size_t kRailsAtOnce = 16;

// The first number of our requests. A correlator counts its rounds from 1, a second each, so one that is high and random
// is nobody else's; below 2^53, so that any reader of the facts' JSON has it whole.
uint64_t id_base(uint64_t random) {
  constexpr uint64_t kHighest = uint64_t{1} << 53, kLow = uint64_t{1} << 14;
  constexpr uint64_t kLeast = uint64_t{1} << 52;
  return kLeast + random % ((kHighest - kLeast) / kLow) * kLow;
}

class Loop {
 public:
  Loop(bus::FleetBus& bus, const ProbeOptions& options, const Streams& streams, const std::function<bool()>& should_stop,
       const Pace& pace)
      : bus_(bus),
        options_(options),
        streams_(streams),
        should_stop_(should_stop),
        pace_(pace),
        probe_({options.a, options.b}, options.rails, id_base(pace.random())),
        begin_mono_ns_(pace.now_mono_ns()),
        tells_progress_(isatty(fileno(streams.err)) == 1) {}

  int run() {
    if (!connect()) return fail(stopped_ ? kExitBlind : kExitCannot, stopped_ ? interrupted() : no_bus());
    wait(kPatienceNs, "waiting for both nodes to speak", [this] { return probe_.hears_both(); });
    if (stopped_) return fail(kExitBlind, interrupted());
    if (!probe_.hears_both()) return fail(kExitBlind, not_heard(probe_) + unread());
    probe_.pair_ports();
    for (int round = 0; round < options_.rounds && !stopped_; ++round) ask(round);
    wait(kAfterNs, "waiting for the last results", [this] { return probe_.is_settled(); });
    if (stopped_) return fail(kExitBlind, interrupted());
    return tell();
  }

 private:
  bool connect() {
    const int64_t begin = pace_.now_mono_ns();
    wait(kPatienceNs, "connecting", [this, begin] {
      const bus::State state = bus_.state();
      const bool is_refused = state.connection == bus::Connection::kConnecting && pace_.now_mono_ns() - begin > kRefusedNs;
      return is_refused || state.connection == bus::Connection::kConnected;
    });
    return bus_.state().connection == bus::Connection::kConnected;
  }

  void ask(int round) {
    const int64_t begin = pace_.now_mono_ns();
    const absl::Status status = bus_.request_pings(probe_.next_round(begin));
    if (!status.ok()) problem_ = std::string(status.message());  // its results will be missing
    const auto widening = static_cast<int64_t>((probe_.rail_count() + kRailsAtOnce - 1) / kRailsAtOnce);
    const bool is_last = round + 1 == options_.rounds;
    wait(is_last ? 0 : kEveryNs * std::max<int64_t>(widening, 1), fmt::format("round {} of {}", round + 1, options_.rounds),
         [] { return false; });
  }

  // Listens until `done`, for so long at most.
  template <class Done>
  void wait(int64_t at_most_ns, const std::string& what, const Done& done) {
    const int64_t end = pace_.now_mono_ns() + at_most_ns;
    while (true) {
      const int64_t now = pace_.now_mono_ns();
      probe_.hear(bus_.take_facts(), now);
      stopped_ = stopped_ || should_stop_();
      if (stopped_ || done() || now >= end) return;
      tell_progress(what, now);
      pace_.sleep(std::min(kStepNs, end - now));
    }
  }

  void tell_progress(const std::string& what, int64_t now) {
    if (!tells_progress_ || now - begin_mono_ns_ < kTellProgressNs) return;
    std::string text = what;
    if (probe_.asked() > 0) text += fmt::format(", {} of {} results", probe_.answered(), probe_.asked());
    if (text == progress_) return;
    progress_ = text;
    fmt::print(streams_.err, "\r\033[Kprobe: {}", text);
    std::fflush(streams_.err);
  }

  void clear_progress() {
    if (!progress_.empty()) fmt::print(streams_.err, "\r\033[K");
    progress_.clear();
  }

  int fail(int code, const std::string& text) {
    clear_progress();
    fmt::print(streams_.err, "railwitness probe rail: {}\n", text);
    return code;
  }

  std::string no_bus() const {
    const std::string problem = bus_.state().problem;
    return problem.empty() ? "the bus does not answer for 5 s; name another with --nats" : problem;
  }
  std::string interrupted() const {
    return fmt::format("interrupted with {} of {} results, so nothing is said", probe_.answered(), probe_.asked());
  }
  std::string unread() const {
    if (bus_.malformed() == 0) return "";
    return fmt::format("; {} messages could not be read: sidecars of another version?", bus_.malformed());
  }

  int tell() {
    clear_progress();
    const std::vector<rail::RailVerdict> verdicts = rail::judge_pair(probe_.ways());
    if (const std::string bus_problem = bus_.state().problem; !bus_problem.empty()) problem_ = bus_problem;
    if (!problem_.empty()) fmt::print(streams_.err, "railwitness probe rail: {}; results are missing\n", problem_);
    if (options_.json) {
      fmt::print(streams_.out, "{}\n", probe_json(probe_, options_.rounds, verdicts));
    } else {
      const std::string table = verdicts.empty() ? "" : probe_table(probe_, verdicts) + "\n";
      fmt::print(streams_.out, "{}{}\n", table, probe_line(probe_, verdicts));
    }
    const auto any = [&verdicts](auto holds) { return std::any_of(verdicts.begin(), verdicts.end(), holds); };
    if (any([](const rail::RailVerdict& v) { return is_bad(v.verdict); })) return kExitFinding;
    const bool is_blind = verdicts.empty() || any([](const rail::RailVerdict& v) { return v.verdict == rail::PairVerdict::kUnknown; });
    return is_blind ? kExitBlind : kExitOk;
  }

  bus::FleetBus& bus_;
  const ProbeOptions& options_;
  const Streams& streams_;
  const std::function<bool()>& should_stop_;
  const Pace& pace_;
  PairProbe probe_;
  const int64_t begin_mono_ns_;
  const bool tells_progress_;
  bool stopped_ = false;
  std::string problem_, progress_;
};

}  // namespace

Pace real_pace() {
  return {now_mono_ns, [](int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); },
          [] {
            std::random_device random;
            return uint64_t{random()} << 32 | random();
          }};
}

int run_probe(bus::FleetBus& bus, const ProbeOptions& options, const Streams& streams,
              const std::function<bool()>& should_stop, const Pace& pace) {
  return Loop(bus, options, streams, should_stop, pace).run();
}

int run_probe(const ProbeOptions& options, const Streams& streams, const std::function<bool()>& should_stop) {
  const auto bus = bus::open_fleet_bus(options.nats_url);
  if (!bus.ok()) {
    fmt::print(streams.err, "railwitness probe rail: {}\n", std::string(bus.status().message()));
    return kExitUsage;
  }
  return run_probe(**bus, options, streams, should_stop, real_pace());
}

}  // namespace railwitness::cli
