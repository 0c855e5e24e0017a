// What one source says of the fabric: a file of a tool, a management system's answer, a plan. Readers (probes/fabric/readers)
// make it from bytes, the map (probes/fabric) joins many into one graph. Nothing here is judged: an oddity is a remark.
//
// Unknown is a value: an empty text, an empty optional, kUnknown. Strings are as the source says them, without padding at
// either end; GUIDs are 16 lower-case hexadecimal digits without prefix, so that they can be compared; MAC addresses are
// lower-case with colons.
#ifndef RAILWITNESS_PROBES_MODEL_FABRIC_FACTS_H_
#define RAILWITNESS_PROBES_MODEL_FABRIC_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace railwitness::model {

// Where facts come from.
struct Source {
  std::string kind;  // of reader: "ibnetdiscover", "lldp", ...
  std::string file;  // as it was named; empty: no file
  std::optional<int64_t> wall_ns;  // when it was said: by itself, else by its file's time
  std::string time_text{};         // as said, where the zone is not
};

// What a reader wants people to know of one line, and what it could not use.
struct Remark {
  uint32_t line = 0;  // from 1; 0: of the whole
  std::string text;
};

enum class DeviceKind {
  kUnknown,
  kNic,          // of a host: HCA, Ethernet interface
  kSwitch,       // leaf or spine
  kAggregation,  // SHARP's node in a switch: no host
  kRouter,
  kOther,        // BMC, gateway, storage target: said to be none of these
};

// One InfiniBand node, one Ethernet switch, or one host's NIC.
struct FabricDevice {
  DeviceKind kind = DeviceKind::kUnknown;
  std::string guid;         // node GUID
  std::string system_guid;  // of the card or chassis that it shares with others
  std::string chassis;      // LLDP chassis id: tells two switches of one name apart
  std::string name;         // node description, system name
  std::string host, nic;    // what the name says of them ("node-03 mlx5_4"); empty where it says nothing
  std::optional<uint32_t> vendor_id, device_id;
  std::optional<uint32_t> port_count;
  std::optional<uint32_t> lid;
  uint32_t line = 0;  // of its own record; 0: only others speak of it
};

enum class PortState {
  kUnknown,
  kUp,
  kDown,      // no link: nothing plugged in, or a dead one; which of both only a plan can say
  kDisabled,  // switched off by somebody
  kTraining,  // polling answers, or initialising
};

// A counter as it stands, under the source's own name. Without an entry: there is no such counter, or it was not asked.
struct CounterValue {
  uint64_t value = 0;
  bool saturated = false;  // stands at the end of its width and means "at least"
};

struct FabricPort {
  size_t device = 0;  // index in FabricFacts::devices
  uint32_t number = 0;  // from 1, as InfiniBand counts; 0: it has a label only
  std::string label;    // "swp3", "etp2a", "Ethernet1/3", "1/17/1"
  std::string guid;     // port GUID
  std::optional<uint32_t> lid, lmc;
  PortState state = PortState::kUnknown;
  std::string link_layer;  // "InfiniBand", "Ethernet"
  // Of a link that is up: lanes in use, and what one lane carries. 4 lanes of 106250 Mb/s are NDR's 400 Gb/s.
  std::optional<uint32_t> lanes, lane_mbps;
  std::optional<uint32_t> could_be_lanes, could_be_lane_mbps;  // the source says that both ends could do more
  std::optional<uint32_t> rate_mbps;  // of all lanes together, where the source does not say them apart
  std::optional<uint32_t> mtu_bytes, max_mtu_bytes;
  std::vector<std::string> gids;  // as said, without those that are zero
  std::map<std::string, CounterValue> counters;
  uint32_t line = 0;  // of its own record; 0: only its peer speaks of it
};

// A cable, or a planned one: two ports.
struct FabricLink {
  size_t a = 0, b = 0;  // indices in FabricFacts::ports
  bool one_sided = false;  // the far end's own record is not in this source
  std::string cable;       // label, serial or part number
  uint32_t line = 0;
};

// Something happened to a port, as a log or a management system tells it.
struct FabricEvent {
  enum class Kind { kUnknown, kDown, kUp, kAdminDown, kAdminUp, kUnhealthy, kCounter } kind = Kind::kUnknown;
  std::string device, port, peer_device, peer_port;  // as named there
  std::string time_text;                             // as said
  std::optional<int64_t> wall_ns;  // empty: the zone is not said, or there is no date
  std::optional<int64_t> local_ns;   // by the source's own clock, zone unknown: only differences within this source say anything
  std::optional<int64_t> outage_ns;  // of kUp: since the kDown before it in this source
  std::string text;                // what it says, for people
  uint32_t line = 0;
};

// The hardware of a switch as its firmware tells it. Words ("OK", "ERROR") are as said; empty: not said.
struct PowerSupply {
  uint32_t number = 0;  // as the source counts
  std::string status, part_number, serial_number, dc_power, fan_status;
  std::optional<double> watts;
};

struct Fan {
  uint32_t number = 0;
  std::optional<uint32_t> rpm;  // empty: listed without a speed
};

struct SwitchHardware {
  size_t device = 0;  // index in FabricFacts::devices
  std::string part_number, serial_number, product_name, revision, psid, firmware, fan_status;
  std::optional<uint64_t> uptime_s;
  std::optional<double> celsius, max_celsius;
  std::vector<PowerSupply> power_supplies;
  std::vector<Fan> fans;
};

struct FabricFacts {
  Source source;
  bool is_plan = false;  // how it should be, not how it is
  std::vector<FabricDevice> devices;
  std::vector<FabricPort> ports;
  std::vector<FabricLink> links;  // each once, whatever the source repeats
  std::vector<FabricEvent> events;
  std::vector<SwitchHardware> hardware;
  std::vector<Remark> remarks;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_FABRIC_FACTS_H_
