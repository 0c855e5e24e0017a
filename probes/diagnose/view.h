// One set of facts, joined: which flow is whose other end, who is which rank, which port is which. Built once per
// evaluation, read by every rule. Indices instead of pointers between its parts; `kNone` where there is none.
//
// Facts of a silent node are used for names only: what its flows did then says nothing about now.
#ifndef RAILWITNESS_PROBES_DIAGNOSE_VIEW_H_
#define RAILWITNESS_PROBES_DIAGNOSE_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/diagnose/diagnose.h"
#include "probes/model/facts.h"

namespace railwitness::diagnose {

constexpr int kNone = -1;

struct NodeView {
  const model::Heard* heard = nullptr;
  bool silent = false;
  bool late = false;  // its sidecar was behind its own schedule lately: nothing on the node got to run in time
};

// An edge of the fabric, named by the NIC port at its end. A port that no node's facts name is known by its GID.
struct PortView {
  int node = kNone;
  std::string device;
  uint8_t port = 0;
  std::string gid;
  const model::Rail* rail = nullptr;
  const model::Edge* edge = nullptr;
  int switch_index = kNone;
  bool down = false;  // sysfs says that it is not ACTIVE
};

struct SwitchView {
  std::string name;  // empty: the switch of rail `rail`, whatever its name
  std::optional<int32_t> rail;
};

struct ProcessView {
  const model::Process* process = nullptr;
  int node = kNone;
  const model::Comm* comm = nullptr;  // the open one with most ranks
  int group = kNone;                  // processes that talk to each other or share a communicator: a job
  bool ended = false;                 // gone or zombie
  bool stopped = false;               // for longer than the threshold
  bool polling = true;                // false: no thread asks for completions, so missing ones mean nothing
  std::vector<int> flows;
};

struct FlowView {
  const model::Flow* flow = nullptr;
  int process = kNone;
  int port = kNone;
  int peer = kNone;       // the other end's flow
  int peer_port = kNone;  // known by GID even where the flow is not
  bool usable = false;    // its own facts count: node not silent, process alive, queue pair not destroyed
  // Ages when the node spoke, by its own clock.
  std::optional<int64_t> oldest_post_age, receive_wait_age, error_age;
  // Ages now, by the hearer's clock.
  std::optional<int64_t> last_completion_age_now;
};

struct PingView {
  int from = kNone, to = kNone;  // ports
  bool answered = false;         // false: nothing came back
  int64_t age_now = 0;
};

struct View {
  Thresholds thresholds;
  int64_t now_wall_ns = 0;
  std::vector<NodeView> nodes;
  std::vector<PortView> ports;
  std::vector<SwitchView> switches;
  std::vector<ProcessView> processes;
  std::vector<FlowView> flows;
  std::vector<PingView> pings;  // fresh ones only, the latest of each pair and direction
  std::vector<std::string> blind;

  std::optional<int32_t> rank_of(int process) const;
  const std::string& node_name(int node) const;  // "" for kNone
  int64_t age_now_of(int process, int64_t age_when_it_spoke) const;
  int64_t wall_ago(int64_t age) const;
  // Whether the node at a flow's other end has spoken since something began there, so long after that a process that was
  // stopped or died at that moment would be told. True where that node is silent or not known: other rules look there.
  bool peer_spoke_since(int flow, int64_t age_now) const;
  int peer_process(int flow) const { return flows[flow].peer == kNone ? kNone : flows[flows[flow].peer].process; }
};

View build_view(const std::vector<model::Heard>& nodes, const Thresholds& thresholds, int64_t now_wall_ns);

// Age of a moment of `heard`'s node; from 0 to ten years: clocks may say anything.
int64_t age_when_spoken(const model::Heard& heard, int64_t mono_ns);
int64_t age_now(const model::Heard& heard, int64_t mono_ns);

// The port of a device; kNone if no facts name it.
int find_port(const View& view, int node, const std::string& device, int port);

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_VIEW_H_
