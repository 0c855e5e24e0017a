// What this node alone concludes, said on standard output: a line for each change, for people or as JSON. One thread.
#ifndef RAILWITNESS_PROBES_SIDECAR_SPEAKER_H_
#define RAILWITNESS_PROBES_SIDECAR_SPEAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/tracker.h"
#include "probes/model/facts.h"
#include "probes/sidecar/outlet.h"

namespace railwitness::sidecar {

class Speaker {
 public:
  Speaker(const std::string& node, bool json, Outlet& out) : tracker_(node), json_(json), out_(out) {}

  // `nodes` is this node's facts alone.
  void think(const std::vector<model::Heard>& nodes, int64_t now_wall_ns);
  bool has_open_incidents() const { return !tracker_.open().empty(); }

 private:
  diagnose::Thresholds thresholds_;
  diagnose::Tracker tracker_;
  bool json_;
  Outlet& out_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SPEAKER_H_
