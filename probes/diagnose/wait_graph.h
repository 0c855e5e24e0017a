// Who waits for whom: process p waits for process q where a receive of p is outstanding and nothing arrives, or where p
// could send but q has given no clear-to-send, and the other end of the flow belongs to q.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_WAIT_GRAPH_H_
#define RAILWITNESS_PROBES_DIAGNOSE_WAIT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "probes/diagnose/view.h"

namespace railwitness::diagnose {

struct Wait {
  int flow = kNone;
  int waiter = kNone;  // process
  int on = kNone;      // process; kNone: nobody's facts name the other end
  int64_t age = 0;     // when the waiter's node spoke
  int64_t age_now = 0;
  bool ripe = false;      // older than the threshold for a wait; younger ones only tell who is blocked
  bool arriving = false;  // the other end has a post in flight on this queue pair: the wire's matter, not q's
};

class WaitGraph {
 public:
  explicit WaitGraph(const View& view);

  const std::vector<Wait>& waits() const { return waits_; }
  const std::vector<int>& of_waiter(int process) const { return by_waiter_[process]; }  // indices of waits()
  const std::vector<int>& on_target(int process) const { return by_target_[process]; }
  // Processes from which a chain of waits leads to one of `roots`, the roots not counted.
  std::vector<int> blocked_by(const std::vector<int>& roots) const;

 private:
  std::vector<Wait> waits_;
  std::vector<std::vector<int>> by_waiter_, by_target_;
};

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_WAIT_GRAPH_H_
