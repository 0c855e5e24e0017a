// What this daemon itself takes, and whether its loop keeps up. One thread.
#ifndef RAILWITNESS_PROBES_SIDECAR_SELF_WATCH_H_
#define RAILWITNESS_PROBES_SIDECAR_SELF_WATCH_H_

#include <cstdint>

#include "probes/model/facts.h"
#include "probes/sidecar/clock.h"
#include "probes/sidecar/lateness.h"

namespace railwitness::sidecar {

class SelfWatch {
 public:
  void begin_turn(int64_t now_mono_ns);
  void end_turn(int64_t now_mono_ns);
  void note_reading(int64_t now_mono_ns);
  // Memory and descriptors as of the last second: counting them takes a while where there are many.
  model::Self facts(int64_t now_mono_ns);

 private:
  Every count_{kNsPerSecond};
  uint64_t rss_bytes_ = 0;
  uint32_t descriptors_ = 0;
  int64_t turn_mono_ns_ = 0, turn_cpu_ns_ = 0, read_mono_ns_ = 0;
  Lateness turn_, turn_cpu_, unread_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SELF_WATCH_H_
