// Any bytes are facts or an error; facts survive the round trip, and thinking about them ends.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/tracker.h"
#include "probes/export/incident_text.h"
#include "probes/model/facts_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace railwitness;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)model::parse_ping_requests(text);
  const auto facts = model::parse_node_facts(text);
  if (!facts.ok()) return 0;
  const std::string again = model::to_json(*facts);
  const auto twice = model::parse_node_facts(again);
  if (!twice.ok() || model::to_json(*twice) != again) __builtin_trap();

  constexpr int64_t kNow = 1'790'000'000'000'000'000;
  model::NodeFacts other = *twice;
  other.node += "2";
  const std::vector<model::Heard> nodes = {{*facts, 0}, {other, 1'000'000'000}};
  diagnose::Tracker tracker("fuzz");
  const auto findings = diagnose::diagnose(nodes, diagnose::Thresholds{}, kNow);
  if (diagnose::plan_pings(nodes, findings, diagnose::Thresholds{}, 1).size() > 64) __builtin_trap();
  for (const auto& incident : tracker.update(findings, kNow).incidents) (void)exporter::to_json(incident, kNow);
  for (const auto& finding : findings) (void)exporter::wait_to_json(finding, kNow);
  return 0;
}
