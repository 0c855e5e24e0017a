// What is wrong with a fabric, from its map alone. Pure, and of the map alone: the same cables give the same findings with the
// same identities whatever form they came in, in any order and after a restart.
//
// Never a finding: an empty port, a port that is switched off, a cable looped back on purpose (a note says it), a counter that
// counts traffic. A finding needs two witnesses where it compares: a row and a column of twins (rule_cables.cc).
#ifndef RAILWITNESS_PROBES_FABRIC_FINDINGS_H_
#define RAILWITNESS_PROBES_FABRIC_FINDINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probes/fabric/map.h"
#include "probes/fabric/rails.h"

namespace railwitness::fabric {

enum class FindingKind {
  kNoFabric,            // nothing but the host that looked: no information about a fabric, not a healthy one
  kSwapped,             // two NICs of a host in each other's place
  kWrongLeaf,           // a NIC in the leaf of another rail
  kOtherUnit,           // a NIC in the leaf of another unit
  kWrongPort,           // the right switch and another port of it than planned
  kMissingLink,         // a host lacks a rail, or a planned cable is not there
  kMissingSwitchLink,   // two switches have fewer cables than their twins, or than planned
  kLostLink,            // was there, and the source that said so does not any more
  kNarrow,              // fewer lanes than the twins, or than both ends could do
  kSlow,                // slower lanes
  kEndsDisagree,        // the two ends of one cable say different widths or speeds
  kCableErrors,         // counters of the physical link, by cable
  kCongestion,          // discards: traffic, not hardware
  kDuplicateName,       // several devices of one name
  kUnequalPlanes,
};
inline constexpr int kFindingKinds = 15;
std::string_view word(FindingKind kind);  // "swapped", "wrong-leaf", ...

struct Finding {
  FindingKind kind = FindingKind::kNoFabric;
  std::string id;  // of kind and components: the same after a restart
  std::vector<std::string> components;  // ports ("node-05 mlx5_9", "leaf-r3:20"), devices; what is there
  std::vector<std::string> wanted;      // what should be there instead
  std::string text;                     // one line for people
  std::vector<std::string> evidence;    // with sources
  std::vector<size_t> ports;            // indices in the map, for pictures
  std::vector<int> rails;               // that it is in, ascending: of the NICs, else of the leaves; empty: of none that is known
};

inline constexpr size_t kMaxFindings = 10'000;  // what is beyond is counted

struct Judgement {
  bool is_fabric_seen = false;  // at least one cable is known
  std::vector<Finding> findings;  // by kind, then by component
  std::vector<std::string> notes;
};

// "4xNDR", "4x"; what is 0 is left out.
std::string speed_text(uint32_t lanes, uint32_t lane_mbps);

Judgement judge(const FabricMap& map, const Rails& rails);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_FINDINGS_H_
