#include "probes/sidecar/lldp_watch.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/lldp.h"

namespace railwitness::sidecar {
namespace {

constexpr int64_t kUntilKnownNs = 2 * kNsPerSecond;
constexpr int64_t kAgainNs = 10 * kNsPerSecond;  // a program that is not there

std::string unknown_ports(const absl::Status& why) {
  return fmt::format("switch ports are not known from LLDP: {}; {}, or choose another --lldp-command ('' for none)",
                     std::string(why.message()), fabric::kLldpWayOut);
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

void LldpWatch::fail(const absl::Status& why) {
  std::string problem = unknown_ports(why);
  if (without_digits(problem) != without_digits(problem_)) problem_ = std::move(problem);
}

void LldpWatch::turn(int64_t now_mono_ns) {
  if (!enabled_) return;
  if (auto output = command_.poll(now_mono_ns)) {
    const absl::StatusOr<std::vector<model::Edge>> edges =
        output->ok() ? fabric::parse_lldp_json(**output) : absl::StatusOr<std::vector<model::Edge>>(output->status());
    if (edges.ok()) {
      problem_.clear();
      memory_.update(*edges, now_mono_ns);
    } else {
      fail(edges.status());
    }
  }
  if (command_.running() || now_mono_ns < next_mono_ns_) return;
  const bool knows = !memory_.edges().empty();
  next_mono_ns_ = now_mono_ns + (knows ? interval_ns_ : std::min(interval_ns_, kUntilKnownNs));
  const absl::Status status = command_.start(now_mono_ns);
  if (status.ok()) return;
  fail(status);
  next_mono_ns_ = now_mono_ns + kAgainNs;
}

std::vector<model::Edge> LldpWatch::edges(const std::vector<model::Rail>& rails) const {
  std::vector<model::Edge> edges = memory_.edges();
  fabric::join_rails(&edges, rails);
  return edges;
}

}  // namespace railwitness::sidecar
