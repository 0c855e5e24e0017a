// Rails that are network interfaces, for jobs that talk without RDMA: carrier, speed and statistics as sysfs shows them.
//
// One thread; nothing is sent anywhere and nothing waits for the network. As with RailReader, everything lies below a
// root that is given, and a file that is absent or fails to read is a fact that is absent.
#ifndef RAILWITNESS_PROBES_COUNTER_NETDEV_READER_H_
#define RAILWITNESS_PROBES_COUNTER_NETDEV_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/model/facts.h"

namespace railwitness::counter {

// What Linux takes for the name of an interface: 1 to 15 bytes, no blanks, slashes or colons, not "." or "..".
bool is_interface_name(std::string_view name);

// Addresses as GIDs by interface: IPv4 as ::ffff:a.b.c.d, IPv6 as it is. Of this process' network namespace.
std::map<std::string, std::vector<std::string>> read_interface_addresses();

// Words as RailReader's from what sysfs says of an interface ("" where a file cannot be read): "ACTIVE" where frames
// can pass, "DOWN" where there is no carrier, "DORMANT" and "TESTING" where the driver says so, "" if it is not told.
std::string interface_state(std::string_view carrier, std::string_view operstate);

class NetdevReader {
 public:
  explicit NetdevReader(std::string sysfs_root) : sysfs_root_(std::move(sysfs_root)) {}

  // An interface of this node that leads somewhere: in sysfs, and not the loopback.
  bool can_be_rail(const std::string& name) const;
  bool is_loopback(const std::string& name) const;

  // A rail for each of `names`, in natural order, without index. One that is gone is a rail without state.
  std::vector<model::Rail> read(std::vector<std::string> names, int64_t now_mono_ns);

 private:
  struct Memory {
    std::string state;
    int64_t state_since_mono_ns = 0;
    std::string speed;
  };

  model::Rail read_one(const std::string& name, bool again, int64_t now_mono_ns);

  std::string sysfs_root_;
  std::map<std::string, Memory> memory_;  // of those read last
  std::map<std::string, std::vector<std::string>> addresses_;
  int64_t addresses_mono_ns_ = 0;  // when they were read; 0: not yet
};

}  // namespace railwitness::counter

#endif  // RAILWITNESS_PROBES_COUNTER_NETDEV_READER_H_
