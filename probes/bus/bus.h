// The fleet's bus: NATS JetStream. Two ends: a node's sidecar and the correlator.
//
// Subjects (docs/bus.md): railwitness.facts.NODE (stream RAILWITNESS_FACTS, the newest few per node are kept),
// railwitness.probe.NODE (requests for active probes, core NATS: stale ones are worthless), railwitness.incident
// (stream RAILWITNESS_INCIDENTS). Payloads are the JSON of probes/model and probes/export.
// Nothing here blocks longer than the stated timeout; a server that is missing or dies is a status, reconnecting goes
// on in the background for ever, and what was published meanwhile is lost and counted (the next facts are newer).
// Each object is used from one thread; libnats' threads stay inside.
#ifndef RAILWITNESS_PROBES_BUS_BUS_H_
#define RAILWITNESS_PROBES_BUS_BUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/model/facts.h"

namespace railwitness::bus {

// kBeginning: the first attempt goes on. kConnecting: it failed, or a connection was lost; trying again.
enum class Connection { kBeginning, kConnected, kConnecting };

struct State {
  Connection connection = Connection::kBeginning;
  std::string problem;  // why not connected, with the way out; empty if it is
};

class NodeBus {
 public:
  virtual ~NodeBus() = default;
  virtual State state() const = 0;
  Connection connection() const { return state().connection; }
  std::string problem() const { return state().problem; }
  virtual absl::Status publish(const model::NodeFacts& facts) = 0;
  virtual std::vector<model::PingRequest> take_ping_requests() = 0;  // addressed to this node
  virtual uint64_t lost() const = 0;                                 // facts that could not be published
};

class FleetBus {
 public:
  static constexpr int64_t kBeforeListeningNs = int64_t{3600} * 1'000'000'000;

  virtual ~FleetBus() = default;
  virtual State state() const = 0;
  Connection connection() const { return state().connection; }
  std::string problem() const { return state().problem; }
  // Since the last call, the newest of each node, oldest first; malformed ones are counted. Age 0: it arrived now.
  // What the stream kept from before this bus was listening tells which nodes there are, not how they are: nobody
  // knows how old it is, and its age is kBeforeListeningNs.
  virtual std::vector<model::Heard> take_facts() = 0;
  virtual uint64_t malformed() const = 0;
  virtual absl::Status request_pings(const std::vector<model::PingRequest>& requests) = 0;
  virtual absl::Status publish_incident(const std::string& json) = 0;
};

// Returns at once; connecting goes on in the background. Fails only on a URL that cannot be one.
absl::StatusOr<std::unique_ptr<NodeBus>> open_node_bus(const std::string& url, const std::string& node);
absl::StatusOr<std::unique_ptr<FleetBus>> open_fleet_bus(const std::string& url);

}  // namespace railwitness::bus

#endif  // RAILWITNESS_PROBES_BUS_BUS_H_
