// Follows one process through /proc: its state and since when, its processor time and share, and its end.
//
// One thread. pid and start time name a process; another process that got the same pid is not it.
#ifndef RAILWITNESS_PROBES_HOST_PROCESS_WATCH_H_
#define RAILWITNESS_PROBES_HOST_PROCESS_WATCH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "probes/host/proc_stat.h"
#include "probes/model/facts.h"

namespace railwitness::host {

enum class Presence {
  kAlive,
  kGone,
  kUnknown,  // /proc does not tell: pid 0 (another pid namespace), hidden, or not readable
};

class ProcessWatch {
 public:
  ProcessWatch(std::string proc_root, int32_t pid);
  // Of a process that was watched before, by somebody else.
  ProcessWatch(std::string proc_root, int32_t pid, uint64_t start_time)
      : proc_root_(std::move(proc_root)), pid_(pid), start_time_(start_time) {}

  uint64_t start_time() const { return start_time_; }  // 0: could not be read when watching began
  // CLOCK_MONOTONIC at the start of the process; 0 if not known.
  int64_t start_mono_ns() const;

  // Reads /proc once and fills state, state_since, cpu_ns and cpu_share.
  Presence update(int64_t now_mono_ns, model::Process& process);
  // The same from what was read already; for tests and for update().
  Presence update(const absl::StatusOr<ProcStat>& stat, int64_t now_mono_ns, model::Process& process);

 private:
  struct CpuSample {
    int64_t mono_ns = 0;
    int64_t cpu_ns = 0;
  };
  void update_cpu(const ProcStat& stat, int64_t now_mono_ns, model::Process& process);

  std::string proc_root_;
  int32_t pid_;
  uint64_t start_time_ = 0;
  std::deque<CpuSample> samples_;  // of about the last second
};

}  // namespace railwitness::host

#endif  // RAILWITNESS_PROBES_HOST_PROCESS_WATCH_H_
