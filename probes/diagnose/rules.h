// The rules, in the order in which they are asked: each sees what the earlier ones have explained. docs/diagnosis.md.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_RULES_H_
#define RAILWITNESS_PROBES_DIAGNOSE_RULES_H_

#include <vector>

#include "probes/diagnose/view.h"
#include "probes/diagnose/wait_graph.h"
#include "probes/model/incident.h"

namespace railwitness::diagnose {

struct Conclusions {
  std::vector<model::Finding> findings;
  std::vector<char> explained;  // by process: why it does not move is said by a finding
  std::vector<char> fatal;      // by flow: its process ended because this path failed, so it speaks for the path
};

// A flow that has something to do and does not get on, as evidence against its other end. Younger than a suspicion of
// the wire, because whoever asks has certain evidence of another kind already.
bool hangs_on_peer(const View& view, const FlowView& flow);

void find_ended(const View& view, const WaitGraph& waits, Conclusions& out);
void find_ports_down(const View& view, const WaitGraph& waits, Conclusions& out);
void find_stopped(const View& view, const WaitGraph& waits, Conclusions& out);
void find_wire(const View& view, const WaitGraph& waits, Conclusions& out);
void find_waits(const View& view, const WaitGraph& waits, Conclusions& out);

// Ports of `node` other than `culprits` over which work was completed and nothing hangs.
std::vector<int> healthy_ports(const View& view, int node, const std::vector<int>& culprits);

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_RULES_H_
