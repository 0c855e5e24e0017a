// Components and the words for them, from the view.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_NAMES_H_
#define RAILWITNESS_PROBES_DIAGNOSE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/diagnose/view.h"
#include "probes/model/incident.h"

namespace railwitness::diagnose {

model::Component edge_component(const View& view, int port);
model::Component switch_component(const View& view, int switch_index);
model::Component rank_component(const View& view, int process);
model::Component node_component(const View& view, int node);

std::optional<int32_t> rail_of(const View& view, int port);

std::string seconds(int64_t ns);                              // "1.4 s"
std::string port_text(const View& view, int port);            // "host1 rail 1"
std::string switch_text(const View& view, int switch_index);  // "leaf-r1", "the switch of rail 1"
std::string process_text(const View& view, int process);      // "rank 2 on host2"
std::string pair_text(const View& view, int from, int to);    // "host1 to host2 on rail 1"

// At least one, for a flow whose oldest post has no completion: what it counts comes from the job.
uint64_t unfinished_posts(const FlowView& flow);

// "a, b, c and 4 more"
std::string listed(const std::vector<std::string>& names, size_t most = 4);

// Job, communicator and blocked ranks: of the job that has most of `blocked`; others are told as evidence.
void set_blocked(const View& view, const std::vector<int>& blocked, model::Finding& finding);

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_NAMES_H_
