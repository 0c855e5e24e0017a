#include "probes/sidecar/self_watch.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace railwitness::sidecar {
namespace {

uint64_t read_rss_bytes() {
  uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint32_t count_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  return error ? 0 : static_cast<uint32_t>(std::distance(begin(open), end(open))) - 1;  // without the iterator's own
}

}  // namespace

void SelfWatch::begin_turn(int64_t now_mono_ns) {
  turn_mono_ns_ = now_mono_ns;
  turn_cpu_ns_ = read_signed_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void SelfWatch::end_turn(int64_t now_mono_ns) {
  turn_.note(now_mono_ns - turn_mono_ns_, now_mono_ns);
  turn_cpu_.note(read_signed_clock_ns(CLOCK_THREAD_CPUTIME_ID) - turn_cpu_ns_, now_mono_ns);
}

void SelfWatch::note_reading(int64_t now_mono_ns) {
  if (read_mono_ns_ != 0) unread_.note(now_mono_ns - read_mono_ns_, now_mono_ns);
  read_mono_ns_ = now_mono_ns;
}

model::Self SelfWatch::facts(int64_t now_mono_ns) {
  if (count_.due(now_mono_ns)) {
    rss_bytes_ = read_rss_bytes();
    descriptors_ = count_descriptors();
  }
  model::Self self;
  self.cpu_ns = read_signed_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  self.rss_bytes = rss_bytes_;
  self.descriptors = descriptors_;
  self.longest_turn_ns = turn_.longest(now_mono_ns);
  self.longest_turn_cpu_ns = turn_cpu_.longest(now_mono_ns);
  self.longest_unread_ns = unread_.longest(now_mono_ns);
  return self;
}

}  // namespace railwitness::sidecar
