// The daemon of a node: hands out segments, reads them, gathers this node's facts, says what this node alone can tell,
// and passes the facts on. One loop, one thread (libnats has its own).
#ifndef RAILWITNESS_PROBES_SIDECAR_SIDECAR_H_
#define RAILWITNESS_PROBES_SIDECAR_SIDECAR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace railwitness::sidecar {

struct Options {
  std::string node;                       // default: host name
  std::string socket;                     // hand-over, default RAILWITNESS_DEFAULT_SOCKET
  std::string control_socket;             // serves `railwitness ls`, default /run/railwitness/control.sock
  std::string nats_url;                   // empty: this node alone
  std::string lldp_command = "lldpctl -f json";  // empty: no LLDP
  int64_t lldp_interval_ms = 10'000;             // each question starts a process
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  bool json = false;                      // JSON lines instead of lines for people on standard output
  bool answer_pings = true;       // open a queue pair or a UDP port per rail for active probes
  std::vector<std::string> rails; // interfaces that are rails without RDMA, whether a job uses them or not
  int64_t read_interval_ms = 100;
  uint32_t max_processes = 1024;          // segments handed out at a time
  int out_fd = 1, log_fd = 2;             // whose readers may stop reading
};

// Runs until `should_stop` says so (asked every 100 ms). An error means that it could not start; it names the path and
// the way out (socket in use by a living sidecar, no permission, no such directory ...).
absl::Status run(const Options& options, const std::function<bool()>& should_stop);

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SIDECAR_H_
