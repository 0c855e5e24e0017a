// What the tests ask findings.
#ifndef RAILWITNESS_TESTS_PROBES_DIAGNOSE_FINDINGS_H_
#define RAILWITNESS_TESTS_PROBES_DIAGNOSE_FINDINGS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "probes/model/incident.h"

namespace railwitness::diagnose {

inline std::vector<model::Finding> incidents(const std::vector<model::Finding>& findings) {
  std::vector<model::Finding> out;
  for (const model::Finding& finding : findings) {
    if (finding.cls != model::Class::kWait) out.push_back(finding);
  }
  return out;
}

inline std::string edge(const model::Component& c) {
  return fmt::format("{}/{}", c.node, c.rail.value_or(-1));
}

inline std::vector<std::string> edges(const std::vector<model::Component>& components) {
  std::vector<std::string> out;
  for (const model::Component& c : components) {
    if (c.kind == model::ComponentKind::kEdge) out.push_back(edge(c));
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline bool says(const model::Finding& finding, const std::string& text) {
  return std::any_of(finding.evidence_for.begin(), finding.evidence_for.end(),
                     [&](const model::Evidence& e) { return e.text.find(text) != std::string::npos; });
}

inline bool exonerates(const model::Finding& finding, model::ComponentKind kind, const std::string& node) {
  return std::any_of(finding.exonerated.begin(), finding.exonerated.end(),
                     [&](const model::Component& c) { return c.kind == kind && c.node == node; });
}

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_TESTS_PROBES_DIAGNOSE_FINDINGS_H_
