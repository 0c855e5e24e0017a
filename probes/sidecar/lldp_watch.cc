#include "probes/sidecar/lldp_watch.h"

#include "probes/fabric/lldp.h"

namespace railwitness::sidecar {
namespace {

constexpr int64_t kAgainNs = 10 * kNsPerSecond;

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
  if (command_.running() || now_mono_ns < not_before_mono_ns_ || !ask_.due(now_mono_ns)) return;
  const absl::Status status = command_.start(now_mono_ns);
  if (status.ok()) return;
  problem_ = "switch ports are not known from LLDP: " + std::string(status.message());
  not_before_mono_ns_ = now_mono_ns + kAgainNs;
}

std::vector<model::Edge> LldpWatch::edges(const std::vector<model::Rail>& rails) const {
  std::vector<model::Edge> edges = memory_.edges();
  fabric::join_rails(&edges, rails);
  return edges;
}

}  // namespace railwitness::sidecar
