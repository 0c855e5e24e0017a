#include "plugin/witness/keeper.h"

#include "plugin/witness/cost.h"
#include "plugin/witness/handover.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"

#include <atomic>
#include <csignal>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace railwitness::witness {
namespace {

constexpr int kFirstAttemptMs = 50;   // at init: so that short jobs are witnessed too
constexpr int kWelcomeMs = 2000;      // later, in the helper
constexpr int kSoonMs = 100, kRetryMs = 1000;  // after a loss, then twice as long, up to a second
constexpr int kRetryMostMs = 5000;             // where a sidecar is that does not want us
constexpr int kLastSettleMs = 800;
constexpr int kSettleMs[] = {20, 180, kLastSettleMs};  // after a switch: 20 ms, 200 ms, 1 s
constexpr uint64_t kAskAgainNs = 10'000'000'000;  // after a refusal
constexpr size_t kHelperStackBytes = 256 << 10;  // beside the thread-local storage of the whole process

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
bool begun = false;
Knobs knobs{};
SidecarLink link;
std::atomic<bool> connected{false};
std::atomic<bool> has_helper{false};
std::atomic<const char*> description{"no sidecar yet"};

// Guards the link against being closed while another thread asks for a part, and what was asked. Taken after the
// recorder's mutex; never held for longer than a send that does not wait.
pthread_mutex_t link_mutex = PTHREAD_MUTEX_INITIALIZER;
uint32_t asked_part = 0;  // 0: no request is out
uint64_t ask_again_ns = 0;

class LinkLock {
 public:
  LinkLock() { pthread_mutex_lock(&link_mutex); }
  ~LinkLock() { pthread_mutex_unlock(&link_mutex); }
  LinkLock(const LinkLock&) = delete;
  LinkLock& operator=(const LinkLock&) = delete;
};

void close_link() {
  const LinkLock lock;
  link.close();
  asked_part = 0;
  ask_again_ns = 0;
}

void note_answer(bool refused) {
  const LinkLock lock;
  asked_part = 0;
  ask_again_ns = refused ? read_clock_ns(CLOCK_MONOTONIC) + kAskAgainNs : 0;
}

// From a thread that opens a flow, with the recorder's mutex held: never waits. The answer comes to the helper.
void ask_sidecar(uint32_t number) {
  const LinkLock lock;
  if (!connected || !link.may_ask() || asked_part == number) return;
  if (ask_again_ns && read_clock_ns(CLOCK_MONOTONIC) < ask_again_ns) return;
  if (link.ask_for_part(number)) asked_part = number;
}

// Where there is a sidecar, only what it reads is worth writing; where there is none, the next one gets it all.
bool grow(const Memory& memory, bool now, Part& part) {
  if (connected) return ask_sidecar(memory.part_count), false;
  return now && map_private_part(memory.part_count, part);
}

bool grow_file(const Memory& memory, bool now, Part& part) {
  return now && map_file_part(knobs.segment_file, memory.part_count, part).is_ok();
}

// Parts of the memory that is to come, one for each that is in use. What the sidecar refuses is private: those flows are
// counted as unwitnessed and go over to the next sidecar. False: it went meanwhile.
bool gather_parts(Memory& memory, bool& refused) {
  while (memory.part_count < parts_in_use()) {
    const uint32_t number = memory.part_count;
    Part part{};
    auto news = SidecarLink::News::kRefused;
    if (!refused && link.may_ask() && link.ask_for_part(number)) news = link.await_news(kWelcomeMs, part);
    if (news == SidecarLink::News::kEnd) return false;
    if (news == SidecarLink::News::kPart && part.number != number) return unmap_part(part), false;
    refused = news != SidecarLink::News::kPart;
    if (refused && !map_private_part(number, part)) return false;
    memory.parts[memory.part_count++] = part;
  }
  return true;
}

bool adopt(Memory* memory) {
  bool refused = false;
  do {
    if (!gather_parts(*memory, refused)) return unmap(memory), false;
  } while (!switch_memory(memory));  // more flows came meanwhile
  note_sidecar_found(ticks());
  connected = true;
  description = "sidecar connected";
  return true;
}

// The helper's waits come in pieces: in between it does what cost.h has for it.
int piece_of(uint64_t left_ns) {
  const int due_ms = take_cost_turn(knobs.cost_max_permille), left_ms = static_cast<int>(left_ns / 1'000'000) + 1;
  return due_ms < left_ms ? due_ms : left_ms;
}

void wait_for(int ms) {
  const uint64_t until_ns = read_clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(ms) * 1'000'000;
  for (uint64_t now_ns = 0; (now_ns = read_clock_ns(CLOCK_MONOTONIC)) < until_ns;) poll(nullptr, 0, piece_of(until_ns - now_ns));
}

// True: the sidecar went.
bool await_loss_for(int ms) {
  const uint64_t until_ns = read_clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(ms) * 1'000'000;
  for (uint64_t now_ns = 0; (now_ns = read_clock_ns(CLOCK_MONOTONIC)) < until_ns;) {
    Part part{};
    switch (link.await_news(piece_of(until_ns - now_ns), part)) {
      case SidecarLink::News::kEnd:
        return true;
      case SidecarLink::News::kPart:
        if (!add_part(part)) unmap_part(part);
        note_answer(false);
        break;
      case SidecarLink::News::kRefused:
        note_answer(true);
        break;
      case SidecarLink::News::kNone:
        break;
    }
  }
  return false;
}

// True: everything had settled before.
bool await_loss() {
  for (const int ms : kSettleMs) {
    if (await_loss_for(ms)) return false;
    settle(ms == kLastSettleMs);
  }
  while (!await_loss_for(kRetryMostMs)) {
  }
  return true;
}

// How long until the next attempt, in milliseconds; 0: connected. Where nobody is, an attempt costs microseconds, and what
// nobody witnesses ends a second after a sidecar comes.
int find_sidecar(int waited_ms) {
  Status status = link.is_open() ? Status::ok() : link.connect(knobs);
  const bool is_there = status.is_ok();
  Memory* memory = is_there ? link.await_memory(kWelcomeMs, status) : nullptr;
  if (memory && adopt(memory)) return 0;
  description = memory ? "sidecar lost" : status.is_ok() ? "sidecar does not answer" : status.what();
  close_link();
  if (!is_there || memory) return waited_ms < kRetryMs / 2 ? waited_ms * 2 : kRetryMs;
  return waited_ms < kRetryMostMs ? waited_ms + kRetryMs : kRetryMostMs;
}

[[noreturn]] void* keep(void*) {
  pthread_setname_np(pthread_self(), "railwitness");
  int wait_ms = kRetryMs;
  for (;;) {
    link.sweep();
    if (connected) {
      wait_ms = await_loss() ? kSoonMs : kRetryMs;
      connected = false;
      close_link();
      description = "sidecar lost";
      note_sidecar_lost(ticks());
      link.sweep();
    }
    if (!link.is_open()) {
      wait_for(wait_ms);
      // If the sidecar was lost before: one memory in use and one to come are all there ever are.
      if (wait_ms >= kRetryMs) settle(true);
    }
    wait_ms = find_sidecar(wait_ms);
  }
}

// glibc takes the static thread-local storage of the program and its libraries out of a thread's stack, and a thread that is
// left a few KiB ends the job. This function of glibc's says how much it takes; Rust's library asks it too. 0: another libc.
size_t stack_taken(const pthread_attr_t& attributes) {
  using Ask = size_t (*)(const pthread_attr_t*);
  const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
  return ask ? ask(&attributes) : 0;
}

// False: no thread can be made, now.
bool start_helper() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return false;
  pthread_attr_setstacksize(&attributes, kHelperStackBytes + stack_taken(attributes));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: the job's handlers never run on this thread
  pthread_t helper;
  const bool started = pthread_create(&helper, &attributes, keep, nullptr) == 0;
  if (started) pthread_detach(helper);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

// Without it the witness goes on with what it has; the next init tries again.
void need_helper() {
  has_helper = start_helper();
  if (!has_helper)
    description = connected ? "sidecar connected until it restarts: no thread can be started; raise RLIMIT_NPROC or pids.max"
                            : "no sidecar: no thread to wait for it can be started; raise RLIMIT_NPROC or pids.max";
}

pthread_once_t fork_handler = PTHREAD_ONCE_INIT;

// A child is no job of the sidecar's: it sees the end of its parent though the child lives. The locks may be held by threads
// that only the parent has; a child that was forked in the middle of the first begin() begins by itself.
void leave_to_parent() {
  mutex = PTHREAD_MUTEX_INITIALIZER;
  link_mutex = PTHREAD_MUTEX_INITIALIZER;
  link.close_copy();
}

Status begin_locked() {
  if (knobs.segment_file[0]) {
    Status status = Status::ok();
    Memory* memory = map_file(knobs.segment_file, status);
    description = memory ? "segment file instead of a sidecar" : status.what();
    if (!memory) memory = map_private();
    if (!memory) return Status::failed("no memory for the segment; raise RLIMIT_AS");
    start(memory);
    set_growth(grow_file);
    has_helper = true;  // and needs none
    return Status::ok();
  }
  Status status = link.connect(knobs);
  Memory* memory = status.is_ok() ? link.await_memory(kFirstAttemptMs, status) : nullptr;
  connected = memory != nullptr;
  description = memory ? "sidecar connected" : status.is_ok() ? "sidecar does not answer yet" : status.what();
  if (!memory) memory = map_private();
  if (!memory) return Status::failed("no memory for the segment; raise RLIMIT_AS");
  start(memory);
  set_growth(grow);
  connected ? note_sidecar_found(ticks()) : note_alone(ticks());
  need_helper();
  return Status::ok();
}

}  // namespace

Status begin(const Knobs& given) {
  if (is_started() && (has_helper || !may_record())) return Status::ok();
  pthread_once(&fork_handler, [] { pthread_atfork(nullptr, nullptr, leave_to_parent); });
  pthread_mutex_lock(&mutex);
  Status status = Status::ok();
  if (!begun) {
    knobs = given;
    status = begin_locked();
    begun = status.is_ok();
  } else if (!has_helper) {
    need_helper();
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

bool has_sidecar() { return connected; }

const char* describe_sidecar() { return description; }

}  // namespace railwitness::witness
