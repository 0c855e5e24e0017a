// /proc/PID/stat: what the kernel says about a process. proc_pid_stat(5).
#ifndef RAILWITNESS_PROBES_HOST_PROC_STAT_H_
#define RAILWITNESS_PROBES_HOST_PROC_STAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/facts.h"

namespace railwitness::host {

struct ProcStat {
  char state = '?';
  uint64_t start_time = 0;  // clock ticks after boot
  uint64_t user_ticks = 0, system_ticks = 0;
};

// Pure. The name in parentheses may hold anything, blanks and parentheses included; it ends at the last ')'.
absl::StatusOr<ProcStat> parse_proc_stat(std::string_view text);

// NotFound: there is no such process (or none that we may see).
absl::StatusOr<ProcStat> read_proc_stat(const std::string& proc_root, int32_t pid);

model::ProcessState process_state(char state);

// /proc/sys/kernel/random/boot_id, empty if it cannot be read.
std::string read_boot_id(const std::string& proc_root);

}  // namespace railwitness::host

#endif  // RAILWITNESS_PROBES_HOST_PROC_STAT_H_
