// Which switch port each of this node's ports hangs on, asked of lldpd every second. One thread; never waits.
#ifndef RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_
#define RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probes/fabric/edge_memory.h"
#include "probes/model/facts.h"
#include "probes/sidecar/clock.h"
#include "probes/sidecar/command.h"

namespace railwitness::sidecar {

class LldpWatch {
 public:
  explicit LldpWatch(const std::string& command_line) : command_(command_line), enabled_(!command_line.empty()) {}

  int poll_fd() const { return command_.poll_fd(); }
  void turn(int64_t now_mono_ns);
  std::vector<model::Edge> edges(const std::vector<model::Rail>& rails) const;
  // A sentence if the last answer is missing or cannot be read; empty if all is well or LLDP is not wanted.
  const std::string& problem() const { return problem_; }

 private:
  Command command_;
  bool enabled_;
  Every ask_{kNsPerSecond};
  int64_t not_before_mono_ns_ = 0;  // a program that is not there is not tried every second
  fabric::EdgeMemory memory_;
  std::string problem_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_LLDP_WATCH_H_
