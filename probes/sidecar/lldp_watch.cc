#include "probes/sidecar/lldp_watch.h"

#include <algorithm>

#include "probes/fabric/lldp.h"

namespace railwitness::sidecar {
namespace {

constexpr int64_t kUntilKnownNs = 2 * kNsPerSecond;
constexpr int64_t kAgainNs = 10 * kNsPerSecond;  // a program that is not there

}  // namespace

void LldpWatch::turn(int64_t now_mono_ns) {
  if (!enabled_) return;
  if (auto output = command_.poll(now_mono_ns)) {
    const absl::StatusOr<std::vector<model::Edge>> edges =
        output->ok() ? fabric::parse_lldp_json(**output) : absl::StatusOr<std::vector<model::Edge>>(output->status());
    problem_.clear();
    if (edges.ok()) {
      memory_.update(*edges, now_mono_ns);
    } else {
      problem_ = "switch ports are not known from LLDP: " + std::string(edges.status().message());
    }
  }
  if (command_.running() || now_mono_ns < next_mono_ns_) return;
  const bool knows = !memory_.edges().empty();
  next_mono_ns_ = now_mono_ns + (knows ? interval_ns_ : std::min(interval_ns_, kUntilKnownNs));
  const absl::Status status = command_.start(now_mono_ns);
  if (status.ok()) return;
  problem_ = "switch ports are not known from LLDP: " + std::string(status.message());
  next_mono_ns_ = now_mono_ns + kAgainNs;
}

std::vector<model::Edge> LldpWatch::edges(const std::vector<model::Rail>& rails) const {
  std::vector<model::Edge> edges = memory_.edges();
  fabric::join_rails(&edges, rails);
  return edges;
}

}  // namespace railwitness::sidecar
