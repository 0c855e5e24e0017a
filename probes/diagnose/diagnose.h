// From facts to findings. Pure: facts, thresholds and the present come in as arguments; no clock, file or log is
// touched.
//
// The same function thinks for one sidecar (one node's facts: it says what that node alone can tell, with several
// candidates where it cannot) and for the correlator (all nodes' facts). Rules: docs/diagnosis.md.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_DIAGNOSE_H_
#define RAILWITNESS_PROBES_DIAGNOSE_DIAGNOSE_H_

#include <cstdint>
#include <vector>

#include "probes/model/facts.h"
#include "probes/model/incident.h"

namespace railwitness::diagnose {

struct Thresholds {
  int64_t wire_ns = 1'000'000'000;          // a signalled post without completion is a suspicion
  int64_t receive_wait_ns = 2'000'000'000;  // a receive outstanding with nothing arriving is a wait
  int64_t stopped_ns = 500'000'000;         // a process seen stopped
  int64_t node_silent_ns = 10'000'000'000;  // nothing heard from a node's sidecar
  int64_t ping_fresh_ns = 15'000'000'000;   // older results of active probes do not count
};

// Every finding that the facts support, the most certain first; class kWait findings are not incidents.
std::vector<model::Finding> diagnose(const std::vector<model::Heard>& nodes, const Thresholds& thresholds,
                                     int64_t now_wall_ns);

// The probes that tell the candidates of `findings` apart: on each suspected rail, every candidate against witnesses on
// the same rail, and witnesses against each other. Bounded: at most 64 requests. Empty if nothing is to be told apart.
std::vector<model::PingRequest> plan_pings(const std::vector<model::Heard>& nodes,
                                           const std::vector<model::Finding>& findings, const Thresholds& thresholds,
                                           uint64_t id);

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_DIAGNOSE_H_
