// What the recorder knows beside the segment; shared by the files that make it up, for nobody else.
#ifndef RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_
#define RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_

#include "plugin/witness/recorder.h"

#include <cstdint>

#include <pthread.h>
#include <unistd.h>

namespace railwitness::witness {

inline constexpr uint32_t kEvictedBlock = 256;  // flows whose rings are mapped at once
inline constexpr size_t kEvictedBytes = sizeof(EvictedRecord) * kEvicted * kEvictedBlock;
inline constexpr uint32_t kThreads = RAILWITNESS_THREAD_CAPACITY - 1;  // the last line is nobody's, see hot.h
inline constexpr uint32_t kRails = RAILWITNESS_RAIL_CAPACITY;
inline constexpr uint32_t kComms = RAILWITNESS_COMM_CAPACITY;

struct Recorder {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pid_t owner = 0;  // of the process that started it; 0: not started
  bool may_record = false;  // of it, not of a child that it forked: read by calls that may not ask the kernel
  // Pages that no flow has used yet take no memory.
  Flow flows[kMostFlows] = {};
  railwitness_identity identities[kMostFlows] = {};  // as last published
  uint32_t flow_count = 0;
  // Flows that were destroyed and whose lines nobody has taken since, in the order of their end: a ring, tail to head.
  uint32_t destroyed[kMostFlows] = {};
  uint64_t destroyed_tail = 0, destroyed_head = 0;
  EvictedRecord* evicted[kMostFlows / kEvictedBlock] = {};  // rings, touched by flows that overflow
  uint64_t without_line = 0;                                // queue pairs that found none and have found none since
  bool has_room = false;                                    // read without the mutex
  bool is_watched = false;                                  // a sidecar reads what is written
  Grow grow = nullptr;
  bool counters_only = false;  // cost.h; read without the mutex
  const Memory* thread_home[kThreads] = {};
  uint32_t thread_count = 0;
  uint32_t rail_count = 0;
  uint32_t comm_count = 0;
};
extern Recorder recorder;

inline uint32_t waiting_destroyed() { return static_cast<uint32_t>(recorder.destroyed_head - recorder.destroyed_tail); }

// Holds the mutex, unless this is a forked child (then nothing may be done).
class Lock {
 public:
  Lock() : held_(load_acquire(recorder.owner) == getpid()) {
    if (held_) pthread_mutex_lock(&recorder.mutex);
  }
  ~Lock() {
    if (held_) pthread_mutex_unlock(&recorder.mutex);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  const bool held_;
};

// How calls are recorded while none is timed.
inline Detail lasting_detail() { return load_relaxed(recorder.counters_only) ? Detail::kCounters : Detail::kFull; }

// With the mutex held.
void write_event(const ControlEvent& event);
void publish_identity(const Memory& memory, uint32_t index);
void publish_flow_counts(const Memory& memory);
void publish_unwitnessed(const Memory& memory);
void update_room(const Memory& memory);
void append_part(const Memory& memory, const Part& part);
void sign_part(const Part& part, const railwitness_writer& first);
void copy_flow(const Memory& from, const Memory& to, uint32_t index);
void copy_thread_counts(const Memory& from, const Memory& to, uint32_t index);
void bring_flow_home(Flow& flow);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_
