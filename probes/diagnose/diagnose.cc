#include "probes/diagnose/diagnose.h"

#include <algorithm>
#include <tuple>

#include "probes/diagnose/rules.h"
#include "probes/diagnose/view.h"
#include "probes/diagnose/wait_graph.h"

namespace railwitness::diagnose {
namespace {

// What is certain first; between equals what explains more of a stall.
std::tuple<bool, bool, double, int> order_of(const model::Finding& finding) {
  const auto severity = [&] {
    switch (finding.cls) {
      case model::Class::kRankDead:
        return 0;
      case model::Class::kLink:
        return 1;
      case model::Class::kSwitch:
        return 1;
      case model::Class::kRankHung:
        return 2;
      default:
        return 3;
    }
  };
  return {finding.cls == model::Class::kWait, finding.state != model::IncidentState::kConfirmed, -finding.confidence,
          severity()};
}

}  // namespace

std::vector<model::Finding> diagnose(const std::vector<model::Heard>& nodes, const Thresholds& thresholds,
                                     int64_t now_wall_ns) {
  const View view = build_view(nodes, thresholds, now_wall_ns);
  const WaitGraph waits(view);
  Conclusions out;
  out.explained.assign(view.processes.size(), 0);
  out.fatal.assign(view.flows.size(), 0);
  find_ended(view, waits, out);
  find_ports_down(view, waits, out);
  find_wire(view, waits, out);
  find_stopped(view, waits, out);
  find_waits(view, waits, out);
  for (model::Finding& finding : out.findings) finding.blind = view.blind;
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return std::move(out.findings);
}

}  // namespace railwitness::diagnose
