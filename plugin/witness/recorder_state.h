// What the recorder knows beside the segment; shared by the files that make it up, for nobody else.
#ifndef RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_
#define RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_

#include "plugin/witness/recorder.h"

#include <cstdint>

#include <pthread.h>
#include <unistd.h>

namespace railwitness::witness {

inline constexpr uint32_t kFlows = RAILWITNESS_FLOW_CAPACITY;
inline constexpr uint32_t kThreads = RAILWITNESS_THREAD_CAPACITY - 1;  // the last line is nobody's, see hot.h
inline constexpr uint32_t kRails = RAILWITNESS_RAIL_CAPACITY;
inline constexpr uint32_t kComms = RAILWITNESS_COMM_CAPACITY;

struct Recorder {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pid_t owner = 0;  // of the process that started it; 0: not started
  Flow flows[kFlows] = {};
  railwitness_identity identities[kFlows] = {};  // as last published
  uint32_t flow_count = 0;
  uint64_t destroyed = 0;
  EvictedRecord* evicted = nullptr;  // kFlows rings, touched by those that overflow
  const Memory* thread_home[kThreads] = {};
  uint32_t thread_count = 0;
  uint32_t rail_count = 0;
  uint32_t comm_count = 0;
};
extern Recorder recorder;

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

// With the mutex held.
void write_event(const ControlEvent& event);
void publish_identity(const Memory& memory, uint32_t index);
void copy_flow(const Memory& from, const Memory& to, uint32_t index);
void copy_thread_counts(const Memory& from, const Memory& to, uint32_t index);
void bring_flow_home(Flow& flow);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_RECORDER_STATE_H_
