#include "plugin/witness/keeper.h"

#include "plugin/witness/handover.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"

#include <atomic>
#include <csignal>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace railwitness::witness {
namespace {

constexpr int kFirstAttemptMs = 50;   // at init: so that short jobs are witnessed too
constexpr int kWelcomeMs = 2000;      // later, in the helper
constexpr int kRetryMs = 1000, kRetryMostMs = 5000;
constexpr int kLastSettleMs = 800;
constexpr int kSettleMs[] = {20, 180, kLastSettleMs};  // after a switch: 20 ms, 200 ms, 1 s
constexpr size_t kHelperStackBytes = 256 << 10;  // thread-local storage of the whole process comes out of it

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
bool begun = false;
Knobs knobs{};
SidecarLink link;
std::atomic<bool> connected{false};
std::atomic<const char*> description{"no sidecar yet"};

void adopt(Memory* memory) {
  switch_memory(memory);
  note_sidecar_found(ticks());
  connected = true;
  description = "sidecar connected";
}

void await_loss() {
  for (const int ms : kSettleMs) {
    if (link.await_end(ms)) return;
    settle(ms == kLastSettleMs);
  }
  while (!link.await_end(kRetryMostMs)) {
  }
}

bool find_sidecar() {
  Status status = link.is_open() ? Status::ok() : link.connect(knobs);
  Memory* memory = status.is_ok() ? link.await_memory(kWelcomeMs, status) : nullptr;
  if (!memory) {
    link.close();
    description = status.is_ok() ? "sidecar does not answer" : status.what();
    return false;
  }
  adopt(memory);
  return true;
}

[[noreturn]] void* keep(void*) {
  pthread_setname_np(pthread_self(), "railwitness");
  int wait_ms = kRetryMs;
  for (;;) {
    if (connected) {
      await_loss();
      link.close();
      connected = false;
      description = "sidecar lost";
      note_sidecar_lost(ticks());
      wait_ms = kRetryMs;
    }
    if (!link.is_open()) {
      poll(nullptr, 0, wait_ms);
      settle(true);  // if the sidecar was lost before: one memory in use and one to come are all there ever are
    }
    if (!find_sidecar()) wait_ms = wait_ms < kRetryMostMs ? wait_ms + kRetryMs : kRetryMostMs;
  }
}

void start_helper() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return;
  pthread_attr_setstacksize(&attributes, kHelperStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: the job's handlers never run on this thread
  pthread_t helper;
  if (pthread_create(&helper, &attributes, keep, nullptr) == 0) pthread_detach(helper);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

Status begin_locked() {
  if (knobs.segment_file[0]) {
    Status status = Status::ok();
    Memory* memory = map_file(knobs.segment_file, status);
    description = memory ? "segment file instead of a sidecar" : status.what();
    if (!memory) memory = map_private();
    if (!memory) return Status::failed("no memory for the segment");
    start(memory);
    return Status::ok();
  }
  Status status = link.connect(knobs);
  Memory* memory = status.is_ok() ? link.await_memory(kFirstAttemptMs, status) : nullptr;
  connected = memory != nullptr;
  description = memory ? "sidecar connected" : status.is_ok() ? "sidecar does not answer yet" : status.what();
  if (!memory) memory = map_private();
  if (!memory) return Status::failed("no memory for the segment");
  start(memory);
  if (connected) note_sidecar_found(ticks());
  start_helper();
  return Status::ok();
}

}  // namespace

Status begin(const Knobs& given) {
  if (is_started()) return Status::ok();  // before the mutex, which a forked child may have inherited locked
  pthread_mutex_lock(&mutex);
  Status status = Status::ok();
  if (!begun) {
    knobs = given;
    status = begin_locked();
    begun = status.is_ok();
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

bool has_sidecar() { return connected; }

const char* describe_sidecar() { return description; }

}  // namespace railwitness::witness
