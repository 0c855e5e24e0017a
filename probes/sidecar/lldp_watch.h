// Which switch port each of this node's ports hangs on, asked of lldpd: every `interval_ns`, and until it knows
// the first neighbour every two seconds at most. Each question starts a process, so it is not asked more often than cables
// are moved. One thread; never waits.
#ifndef RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_
#define RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "probes/fabric/edge_memory.h"
#include "probes/model/facts.h"
#include "probes/sidecar/clock.h"
#include "probes/sidecar/command.h"

namespace railwitness::sidecar {

class LldpWatch {
 public:
  LldpWatch(const std::string& command_line, int64_t interval_ns)
      : command_(command_line), enabled_(!command_line.empty()), interval_ns_(interval_ns) {}

  int poll_fd() const { return command_.poll_fd(); }
  void turn(int64_t now_mono_ns);
  std::vector<model::Edge> edges(const std::vector<model::Rail>& rails) const;
  // A sentence if the last answer is missing or cannot be read; empty if all is well or LLDP is not wanted.
  // The same sentence as long as the cause is the same: programs put the time before what they say.
  const std::string& problem() const { return problem_; }

 private:
  void fail(const absl::Status& why);

  Command command_;
  bool enabled_;
  int64_t interval_ns_;
  int64_t next_mono_ns_ = 0;
  fabric::EdgeMemory memory_;
  std::string problem_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_
