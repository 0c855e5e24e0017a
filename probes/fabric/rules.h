// The rules behind judge(): each looks for one sort of finding and adds what it finds.
#ifndef RAILWITNESS_PROBES_FABRIC_RULES_H_
#define RAILWITNESS_PROBES_FABRIC_RULES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/fabric/findings.h"

namespace railwitness::fabric {

struct Case {
  const FabricMap& map;
  const Rails& rails;
  Judgement& out;
  // Ports whose place a rule has judged, so that no second finding tells the same.
  std::set<size_t> placed;
  std::set<size_t> slow;  // links told as narrow or slow
  size_t left_out = 0;    // findings beyond kMaxFindings
  std::map<size_t, int> rail_of_nic{};  // by port; where it belongs, not where it is

  void add(FindingKind kind, std::vector<std::string> components, std::vector<std::string> wanted, std::string text,
           std::vector<std::string> evidence, std::vector<size_t> ports, std::set<int> rails = {});
  std::set<int> rails_of(const std::vector<size_t>& ports);
  bool is_cable(const MapLink& link) const;  // between two devices, neither an aggregation node, and not gone
  bool is_switch(size_t port) const;
  std::string said_by(const std::vector<size_t>& sources) const;  // "ibnetdiscover, iblinkinfo"
  std::string source_name(size_t source) const;
};

void rule_plan(Case& with);           // what is, against what is planned
void rule_rails(Case& with);          // NICs in the wrong leaf; hosts that lack a rail
void rule_switch_pairs(Case& with);   // fewer cables between two switches than between their twins
void rule_speed(Case& with);
void rule_counters(Case& with);
void rule_names(Case& with);
void rule_planes(Case& with);
void rule_lost(Case& with);

// Most of the values, if that is more than half of them and `at_least`.
std::optional<uint64_t> most_common(const std::vector<uint64_t>& values, size_t at_least);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_RULES_H_
