// The rails of this node as sysfs shows them: ports of RDMA devices with their state, addresses and counters.
//
// One thread. Everything lies below a root that is given, so that a captured tree reads like a machine. A file that is
// absent or fails to read is a fact that is absent, never a zero: Soft-RoCE has no counters/ and no device link, EFA no
// link counters, a port without an address no netdev attribute.
#ifndef RAILWITNESS_PROBES_COUNTER_RAIL_READER_H_
#define RAILWITNESS_PROBES_COUNTER_RAIL_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/model/facts.h"

namespace railwitness::counter {

// "4: ACTIVE" to "ACTIVE"; text without a number stays.
std::string parse_state(std::string_view text);

class RailReader {
 public:
  explicit RailReader(std::string sysfs_root) : sysfs_root_(std::move(sysfs_root)) {}

  // Every device that sysfs lists, in natural order; empty if there is none.
  std::vector<std::string> devices() const;

  // All ports of `devices`, numbered in natural order. A device that sysfs does not have is a rail without state.
  std::vector<model::Rail> read(std::vector<std::string> devices, int64_t now_mono_ns);

 private:
  using PortKey = std::pair<std::string, uint8_t>;
  struct PortMemory {
    std::string state, phys_state;
    int64_t state_since_mono_ns = 0;
    std::vector<std::string> gids;
    int64_t gids_read_mono_ns = 0;
  };

  model::Rail read_port(const std::string& device, uint8_t port, int64_t now_mono_ns);
  std::string read_netdev(const std::string& device, const std::string& port_path) const;

  std::string sysfs_root_;
  std::map<PortKey, PortMemory> memory_;  // of ports that exist
};

}  // namespace railwitness::counter

#endif  // RAILWITNESS_PROBES_COUNTER_RAIL_READER_H_
