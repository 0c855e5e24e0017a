// Verdicts: classes, states, components and incidents. docs/verdicts.md is the vocabulary; codes are never renumbered.
#ifndef RAILWITNESS_PROBES_MODEL_INCIDENT_H_
#define RAILWITNESS_PROBES_MODEL_INCIDENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railwitness::model {

enum class Class {
  kNone = 0,
  kWait = 1,
  kLink = 2,
  kSwitch = 3,
  kCongestion = 4,
  kRankDead = 5,
  kRankHung = 6,
  kGpuHang = 7,
  kAppMismatch = 8,
  kStraggler = 9,
  kSoftware = 10,
  kConfig = 11,
  kUnknown = 12,
};

enum class IncidentState { kSuspected, kConfirmed, kRecovered, kClosed, kWithdrawn };

enum class ComponentKind { kNode, kRank, kEdge, kSwitch, kGpu };

// What is known of it; empty or absent: not known.
struct Component {
  ComponentKind kind = ComponentKind::kNode;
  std::string node;
  std::optional<int32_t> rail;
  std::string device;  // RDMA device
  std::optional<uint8_t> port;
  std::string netdev;
  std::string gid;  // of the port, where no facts say whose it is
  std::string cable;
  std::string switch_name, switch_port;
  std::string edge_source;             // who said which switch port it is
  std::optional<int64_t> edge_age_ns;  // how long ago
  bool edge_present = true;
  std::optional<int32_t> rank;
  std::optional<int32_t> pid;
};

struct Evidence {
  std::string text;  // a sentence for people
  std::string kind;  // "flow", "port", "process", "probe", "wait", "coverage"
  std::string node;  // whose fact it is
};

// What diagnose concludes from one set of facts; the tracker turns findings into incidents over time.
struct Finding {
  Class cls = Class::kNone;
  std::string subclass;                             // "port_down", "silent_loss", "stopped", "exited", "rank_busy", ...
  IncidentState state = IncidentState::kSuspected;  // suspected or confirmed
  double confidence = 0;
  std::vector<Component> culprit;  // more than one: it is one of these and the facts cannot tell which
  std::vector<Evidence> evidence_for, evidence_against;
  std::vector<Component> exonerated;
  std::vector<std::string> blind;  // nodes nothing is heard from
  std::string job;
  std::optional<uint64_t> comm_hash;
  std::vector<int32_t> ranks_blocked;
  int64_t onset_wall_ns = 0;  // estimated from ages
};

struct Incident {
  std::string id;  // sortable: time and a counter
  Finding finding;
  IncidentState state = IncidentState::kSuspected;
  int64_t onset_wall_ns = 0, detected_wall_ns = 0, updated_wall_ns = 0;
  std::optional<int64_t> recovered_wall_ns;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_INCIDENT_H_
