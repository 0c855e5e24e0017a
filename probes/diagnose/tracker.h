// From findings, evaluation after evaluation, to incidents with a life: suspected, confirmed, recovered, withdrawn.
// Pure: the present comes in as an argument.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_TRACKER_H_
#define RAILWITNESS_PROBES_DIAGNOSE_TRACKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probes/model/incident.h"

namespace railwitness::diagnose {

// What changed in one evaluation and is worth saying.
struct Changes {
  std::vector<model::Incident> incidents;  // new, or state, class or culprit changed
  std::vector<model::Finding> waits;       // class WAIT, new or with another culprit
};

class Tracker {
 public:
  explicit Tracker(std::string id_prefix) : id_prefix_(std::move(id_prefix)) {}
  // One incident per cause: a finding continues the open incident of the same cause (culprit sets that overlap, same
  // family of classes), sharpens it, or opens a new one. An open one without finding for `quiet_ns` has recovered if it
  // was confirmed or its job moves again (no finding or wait of the job is left), else it is withdrawn.
  Changes update(const std::vector<model::Finding>& findings, int64_t now_wall_ns);
  const std::vector<model::Incident>& open() const { return open_; }

  static constexpr int64_t kQuietNs = 2'000'000'000;
  // A suspicion becomes an incident when it has been there this long: what heals by itself within a second is none.
  static constexpr int64_t kPersistNs = 1'000'000'000;
  // A wait is said when it is seen again this long after: facts of several nodes are not of one moment, and while a long
  // wait ends, whoever's facts come last seems to be waited for.
  static constexpr int64_t kSeenAgainNs = 400'000'000;

 private:
  struct Pending {  // a suspicion that is not an incident yet
    model::Finding finding;
    int64_t first_wall_ns = 0, last_wall_ns = 0;
  };
  bool has_persisted(const model::Finding& finding, int64_t now_wall_ns);

  struct SeenWait {
    model::Finding finding;
    int64_t first_wall_ns = 0, seen_wall_ns = 0;
    bool said = false;
  };

  model::Incident open_new(const model::Finding& finding, int64_t now_wall_ns);
  void close_quiet(const std::vector<model::Finding>& findings, int64_t now_wall_ns, Changes& changes);
  void update_waits(const std::vector<model::Finding>& findings, int64_t now_wall_ns, Changes& changes);

  std::string id_prefix_;
  uint64_t counter_ = 0;
  std::vector<model::Incident> open_;
  std::vector<Pending> pending_;
  std::vector<SeenWait> waits_;
};

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_TRACKER_H_
