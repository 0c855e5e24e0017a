// The fabric map: what many sources say, joined into one graph of devices, ports and cables. Each fact keeps who said it
// and when. Pure: facts in, graph out; the order of the sources makes no difference.
//
// Sources meet by GUID (of node or port) and chassis id, then by name: a device that only has a name is the one device of that
// name, if there is just one. Two devices of one name and different GUIDs stay two. Nothing is judged here (findings.h).
#ifndef RAILWITNESS_PROBES_FABRIC_MAP_H_
#define RAILWITNESS_PROBES_FABRIC_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

inline constexpr size_t kNone = static_cast<size_t>(-1);

struct MapSource {
  model::Source source;
  bool is_plan = false;
  bool is_remembered = false;  // said by an earlier run, read back from its state
};

struct MapDevice {
  model::DeviceKind kind = model::DeviceKind::kUnknown;
  std::string guid, system_guid, chassis;
  std::string name;       // as said
  std::string label;      // for people and identities: short, and unique in this map
  std::string host, nic;  // of a NIC whose description says them
  std::optional<uint32_t> vendor_id, device_id, lid;
  bool is_seen = false;  // a source that is no plan says it
  std::vector<size_t> ports;
};

struct MapCounter {
  model::CounterValue value;
  size_t source = kNone;
  std::optional<uint64_t> before;  // an earlier reading of it, by ...
  size_t before_source = kNone;
};

struct MapPort {
  size_t device = 0;
  uint32_t number = 0;  // 0: it has a label only, or neither
  std::string label;
  std::string guid;
  model::PortState state = model::PortState::kUnknown;
  std::optional<uint32_t> lanes, lane_mbps, could_be_lanes, could_be_lane_mbps, mtu_bytes;
  size_t speed_source = kNone;  // index in FabricMap::sources
  std::map<std::string, MapCounter> counters;
  size_t link = kNone;       // index in FabricMap::links
  size_t plan_link = kNone;  // index in FabricMap::plan_links
};

enum class LinkState {
  kPresent,  // a source of this run says it
  kSilent,   // only remembered; no source of this run could have said it
  kGone,     // only remembered; a source of this run that should say it does not
};

struct MapLink {
  size_t a = 0, b = 0;  // indices in FabricMap::ports
  std::string cable;
  LinkState state = LinkState::kPresent;
  std::vector<size_t> sources;  // that say it, oldest first

  bool is_loop(const std::vector<MapPort>& ports) const { return ports[a].device == ports[b].device; }
};

struct FabricMap {
  std::vector<MapSource> sources;  // oldest first
  std::vector<MapDevice> devices;
  std::vector<MapPort> ports;
  std::vector<MapLink> links;
  std::vector<MapLink> plan_links;
  std::vector<std::string> notes;  // what was odd in joining; at most kMaxNotes
  bool has_plan = false;

  size_t peer(size_t port) const;       // the port at the other end as it is; kNone: no link
  size_t plan_peer(size_t port) const;  // as it should be
  std::string port_name(size_t port) const;  // "leaf-r3:20", "node-05 mlx5_9"
  std::string cable_name(const MapLink& link) const;  // both ends in the order of their names
};

inline constexpr size_t kMaxNotes = 200;

// `remembered`: what remember() of an earlier run gave.
FabricMap build_map(std::vector<model::FabricFacts> facts, std::vector<model::FabricFacts> remembered = {});

// What is to be kept of a map, a FabricFacts for each source of it: links and counters with their times. Links that are gone
// are kept too, for their age. At most kMaxRememberedSources, the newest.
std::vector<model::FabricFacts> remember(const FabricMap& map);
inline constexpr size_t kMaxRememberedSources = 4096;

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_MAP_H_
