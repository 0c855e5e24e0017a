// Plain facts that every room of probes speaks in: what one node knows at one moment.
//
// Values only, no behaviour, no invariants; safe to copy between threads. A fact that is not known is an empty optional
// or an empty string, never zero: no data is neither healthy nor broken. All `_mono_ns` are CLOCK_MONOTONIC of the node
// that states them and are compared only with that node's `taken_mono_ns`; ages are what crosses nodes.
#ifndef RAILWITNESS_PROBES_MODEL_FACTS_H_
#define RAILWITNESS_PROBES_MODEL_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace railwitness::model {

// /proc/PID/stat, state letter; kGone: the process has exited (its socket closed and /proc has no such start time).
enum class ProcessState { kUnknown, kRunning, kSleeping, kDiskSleep, kStopped, kZombie, kGone };

enum class Direction { kUnknown, kSend, kRecv };    // of the data of the connection, seen from this end
enum class Role { kUnknown, kData, kCts, kFlush };  // what this queue pair's own sends carry
enum class Attach { kNone, kStub, kLate, kTable, kChain, kOfi };
enum class RailKind { kVerbs, kNetdev };  // a port of an RDMA device, or a network interface that jobs use by itself

struct FlowError {
  uint32_t status = 0;  // enum ibv_wc_status
  uint32_t vendor = 0;
  int64_t mono_ns = 0;
};

// One flow of one process: a queue pair, or one end of a connection of the net slot. Counters are since its creation.
struct Flow {
  uint32_t index = 0;  // in the segment
  std::string device;  // as in Rail, empty if not known
  uint8_t port = 0;
  uint32_t qpn = 0;
  std::optional<uint32_t> peer_qpn;
  std::string local_gid;  // "fe80:0000:...": eight groups of four hex digits; empty if not known
  std::string peer_gid;
  uint16_t lid = 0;  // 0 on Ethernet
  uint16_t peer_lid = 0;
  Direction direction = Direction::kUnknown;
  Role role = Role::kUnknown;
  bool connection = false;  // of the net slot; its statuses are ncclResult_t
  bool destroyed = false;
  uint64_t posted = 0, completed = 0, posted_bytes = 0, completed_bytes = 0;  // send work requests
  uint64_t receives_posted = 0, receives_completed = 0, received_bytes = 0;
  std::optional<int64_t> first_post_mono_ns, last_post_mono_ns, last_completion_mono_ns, last_receive_mono_ns;
  std::optional<int64_t> oldest_post_mono_ns;   // of a signalled request without completion
  // Since when a receive is outstanding and nothing arrives; of a connection that sends: since when the peer has given
  // no clear-to-send.
  std::optional<int64_t> receive_wait_mono_ns;
  std::optional<FlowError> first_error;
  uint32_t errors = 0;
};

struct Comm {
  uint64_t hash = 0;
  int32_t rank = 0, nranks = 0, nnodes = 0;
  bool open = true;
  std::string name;
};

struct CallThread {
  uint32_t tid = 0;
  uint64_t posts = 0, polls = 0, completions = 0;
  std::optional<int64_t> last_change_mono_ns;  // when the reader last saw a counter change
};

// What the plugin says that recording costs its job, measured once a second.
struct WitnessCost {
  uint64_t events = 0;        // that were timed, ever
  uint32_t event_ns = 0;      // of one, in the last second; 0: none was timed
  uint32_t ppm = 0;           // of the time of the threads that call it: what full recording took, or would have taken
  uint16_t max_permille = 0;  // more for some seconds: counters only; 0: no limit
  bool counters_only = false;
  std::optional<int64_t> since_mono_ns;  // when that changed last
  uint32_t since_ppm = 0;                // and `ppm` then
  uint32_t reductions = 0;               // how often to counters only
};

struct Process {
  int32_t pid = 0;          // in the sidecar's pid namespace
  uint64_t start_time = 0;  // /proc/PID/stat field 22, clock ticks after boot: pid and this name a process
  uint32_t uid = 0;
  std::string job;  // shown name; filtered
  ProcessState state = ProcessState::kUnknown;
  std::optional<int64_t> state_since_mono_ns;  // when the reader first saw this state
  std::optional<int64_t> cpu_ns;               // user + system time, all threads
  std::optional<double> cpu_share;             // of one core, over the last second or so of reading
  Attach attach = Attach::kNone;
  uint32_t contexts = 0;
  uint64_t unwitnessed_flows = 0, unwitnessed_events = 0;
  std::optional<int64_t> alone_begin_mono_ns, alone_end_mono_ns;  // the last span that no sidecar saw
  std::optional<WitnessCost> witness_cost;                        // of a plugin that measures it
  std::string segment_problem;                                    // why the segment is not believed; empty: it is
  std::vector<Comm> comms;
  std::vector<CallThread> threads;
  std::vector<Flow> flows;
};

// One port of an RDMA device of this node, or one network interface over which jobs talk without RDMA.
struct Rail {
  int32_t index = -1;  // rail number on this node, -1: not a rail
  RailKind kind = RailKind::kVerbs;
  std::string device;  // as in /sys/class/infiniband or /sys/class/net
  uint8_t port = 1;
  std::string netdev;      // empty on InfiniBand; of a network interface itself
  std::string link_layer;  // "InfiniBand", "Ethernet"
  std::string state;       // as sysfs says: "ACTIVE", "DOWN", ...; empty if it cannot be read
  std::string phys_state;  // of an interface: its operstate
  std::optional<int64_t> state_since_mono_ns;
  std::vector<std::string> gids;  // all non-zero entries
  uint16_t lid = 0;
  std::optional<uint32_t> speed_mbps;        // of an interface
  std::map<std::string, uint64_t> counters;  // raw names as in hw_counters and counters, or statistics
};

// NIC port to switch port, as its source last said. `present` false: the source says it no longer (LLDP forgets the
// neighbour when the link fails), and the edge is the last that was known.
struct Edge {
  std::string device;  // of the NIC, as in Rail
  uint8_t port = 1;
  std::string netdev;
  std::string switch_name, switch_port;
  std::string switch_id;  // chassis id: tells two switches of one name apart
  std::string cable;      // label if a source knows one
  std::string source;     // "lldp", ...
  bool present = true;
  int64_t seen_mono_ns = 0;  // when the source last said it
};

// Result of one active probe along a rail: this node sent, `to_node` answered (or not).
struct Ping {
  uint64_t id = 0;  // of the request
  std::string device;
  std::string to_node, to_gid;
  uint32_t sent = 0, received = 0;
  std::optional<int64_t> rtt_ns;  // least
  int64_t mono_ns = 0;
  std::string problem;  // why it could not be sent; empty: it was
};

// Where this node answers active probes on a rail: at a queue pair, or at a UDP port.
struct PingPort {
  std::string device;
  uint8_t port = 1;
  std::string gid;
  uint16_t lid = 0;
  uint32_t qpn = 0;
  uint16_t udp_port = 0;
};

// An active probe that is asked for: `from_node` pings the ping port of `to_node` from its own `device`.
struct PingRequest {
  uint64_t id = 0;  // of the round; results carry it
  std::string from_node, device;
  std::string to_node;
  PingPort to;
};

// What a sidecar itself takes, and how it keeps up; `longest_`: of the last five to ten seconds.
struct Self {
  int64_t cpu_ns = 0;  // since its start
  uint64_t rss_bytes = 0;
  uint32_t descriptors = 0;
  int64_t longest_turn_ns = 0, longest_turn_cpu_ns = 0;  // of its loop
  int64_t longest_unread_ns = 0;                         // between two readings of all segments
};

struct NodeFacts {
  std::string node;       // host name
  std::string boot_id;    // /proc/sys/kernel/random/boot_id
  uint64_t sequence = 0;  // of this sidecar process
  int64_t sidecar_start_mono_ns = 0;
  int64_t taken_mono_ns = 0;
  int64_t taken_wall_ns = 0;
  int64_t late_ns = 0;  // longest this sidecar was behind its own schedule in the last ten seconds: a starved witness
  std::optional<Self> self;
  std::vector<Rail> rails;
  std::vector<Edge> edges;
  std::vector<Process> processes;  // gone ones stay for some minutes
  std::vector<PingPort> ping_ports;
  std::vector<Ping> pings;         // results of the last minute
  std::vector<std::string> notes;  // what this sidecar could not see and why, a sentence each
};

// A node's facts as they reached whoever thinks about them.
struct Heard {
  NodeFacts facts;
  int64_t age_ns = 0;  // by the hearer's clock, since they arrived
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_FACTS_H_
