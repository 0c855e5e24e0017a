#include "probes/host/process_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "railwitness/base/clock.h"

namespace railwitness::host {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kShareSpanNs = kNsPerSecond;
// Processor time is counted in ticks of usually 10 ms: over less than half a second it is too coarse to be a share.
constexpr int64_t kLeastSpanNs = kNsPerSecond / 2;
constexpr size_t kMaxSamples = 128;

int64_t ticks_to_ns(uint64_t ticks) {
  static const int64_t per_second = std::max(sysconf(_SC_CLK_TCK), 1L);
  const uint64_t bounded = std::min<uint64_t>(ticks, UINT64_C(1) << 53);  // of a file under a root that tests may forge
  return static_cast<int64_t>(static_cast<double>(bounded) * (static_cast<double>(kNsPerSecond) / static_cast<double>(per_second)));
}

}  // namespace

ProcessWatch::ProcessWatch(std::string proc_root, int32_t pid) : proc_root_(std::move(proc_root)), pid_(pid) {
  if (pid_ <= 0) return;
  const absl::StatusOr<ProcStat> stat = read_proc_stat(proc_root_, pid_);
  if (stat.ok()) start_time_ = stat->start_time;
}

int64_t ProcessWatch::start_mono_ns() const {
  if (start_time_ == 0) return 0;
  // Start times count suspended time, CLOCK_MONOTONIC does not.
  const int64_t mono_ns = read_signed_clock_ns(CLOCK_MONOTONIC);  // first: a pause in between makes it earlier, never later
  const int64_t suspended_ns = read_signed_clock_ns(CLOCK_BOOTTIME) - mono_ns;
  return std::max<int64_t>(ticks_to_ns(start_time_) - suspended_ns, 0);
}

Presence ProcessWatch::update(int64_t now_mono_ns, model::Process& process) {
  if (start_time_ == 0) return Presence::kUnknown;
  return update(read_proc_stat(proc_root_, pid_), now_mono_ns, process);
}

Presence ProcessWatch::update(const absl::StatusOr<ProcStat>& stat, int64_t now_mono_ns, model::Process& process) {
  if (start_time_ == 0) return Presence::kUnknown;
  if (absl::IsNotFound(stat.status())) return Presence::kGone;
  if (!stat.ok()) return Presence::kUnknown;
  if (stat->start_time != start_time_) return Presence::kGone;  // another process has its number now
  const model::ProcessState state = process_state(stat->state);
  if (state != process.state || !process.state_since_mono_ns) {
    process.state = state;
    process.state_since_mono_ns = now_mono_ns;
  }
  update_cpu(*stat, now_mono_ns, process);
  return Presence::kAlive;
}

void ProcessWatch::update_cpu(const ProcStat& stat, int64_t now_mono_ns, model::Process& process) {
  const int64_t cpu_ns = ticks_to_ns(stat.user_ticks) + ticks_to_ns(stat.system_ticks);
  process.cpu_ns = cpu_ns;
  // Keep one sample that is at least a span old, to measure against.
  while (samples_.size() > 1 && now_mono_ns - samples_[1].mono_ns >= kShareSpanNs) samples_.pop_front();
  if (!samples_.empty()) {
    const int64_t span_ns = now_mono_ns - samples_.front().mono_ns;
    if (span_ns >= kLeastSpanNs) {
      process.cpu_share =
          static_cast<double>(std::max<int64_t>(cpu_ns - samples_.front().cpu_ns, 0)) / static_cast<double>(span_ns);
    }
  }
  if (samples_.size() >= kMaxSamples) samples_.pop_front();
  samples_.push_back({now_mono_ns, cpu_ns});
}

}  // namespace railwitness::host
