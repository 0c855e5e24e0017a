// What the readers of InfiniBand tools share: nodes that are met again by a key (a GUID, a LID), ports by their number, links
// of which each end tells on its own. One thread.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_GRAPH_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// Far above any fabric (48 Ki LIDs of a subnet); a file beyond is not one.
inline constexpr size_t kMaxDevices = 100000, kMaxPorts = 1000000;
inline constexpr size_t kMaxRemarks = 1000;      // the others are counted
inline constexpr size_t kMaxCountersOfPort = 512;  // the others are left out
inline constexpr uint32_t kMaxPortNumber = 254;  // of InfiniBand

class Graph {
 public:
  Graph(std::string_view kind, std::string_view file);

  size_t device(const std::string& key);  // the one of this key, or a new one
  size_t device();                        // a new one, which nothing finds again
  void also_known_as(const std::string& key, size_t device) { keys_.emplace(key, device); }
  std::optional<size_t> find(const std::string& key) const;
  size_t port(size_t device, uint32_t number);  // the one of this number, or a new one

  // References hold until the next device or port is made.
  model::FabricDevice& at_device(size_t index) { return facts_.devices[index]; }
  model::FabricPort& at_port(size_t index) { return facts_.ports[index]; }
  model::FabricFacts& facts() { return facts_; }

  // The record of port `from` says that its far end is `to`.
  void connect(size_t from, size_t to, uint32_t line);
  void count(size_t port, std::string_view name, model::CounterValue value);
  void remark(uint32_t line, std::string text);
  // Of a line that nothing reads: a remark with its beginning.
  void left_out(uint32_t line, std::string_view text);

  // Completes one_sided, and remarks links whose ends disagree in width or speed and ports with two far ends. Fails where
  // there is more than the limits above.
  absl::StatusOr<model::FabricFacts> finish() &&;

  // "leaf-r1 [10]": for remarks.
  std::string words_of_port(size_t port) const;

 private:
  struct Said {
    size_t link = 0;
    bool by_lower = false, by_higher = false;  // index of the two ports
  };
  void compare_ends(const model::FabricLink& link);

  model::FabricFacts facts_;
  std::unordered_map<std::string, size_t> keys_;
  std::unordered_map<uint64_t, size_t> ports_;  // device << 32 | number
  std::map<std::pair<size_t, size_t>, Said> links_;
  size_t unsaid_remarks_ = 0;
  bool too_many_ = false;
};

// Sets the name and what follows from it: host and NIC, a SHARP aggregation node; a kind only where none is known.
void name_device(model::FabricDevice& device, std::string_view name);

// Device ids of SHARP's aggregation nodes in Switch-IB 2 and Quantum switches.
bool is_aggregation_id(uint32_t device_id);

// What a description alone says of its node: kUnknown most often.
model::DeviceKind kind_of_name(std::string_view name);

// "53.125" to 53125, as lane_mbps_of() rounds; empty: not a number of Gb/s.
std::optional<uint32_t> mbps_of_gbps(std::string_view text);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_GRAPH_H_
