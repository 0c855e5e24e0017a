// What the cases share: who is who, what was seen, and what a process holds.
//
// A case is a process of its own (lifecycle CASE MODE ...). It plays the sidecar and the judge, and never loads the plugin;
// the job is a child of it, which does. What the job has to tell goes through a page that both have.
#ifndef RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_BED_H_
#define RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_BED_H_

#include "railwitness/base/clock.h"
#include "tests/plugin/fake_sidecar.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace railwitness::lifecycle {

enum class Mode { kTap, kChain, kOfi };

inline constexpr bool kIsSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

// Both processes see it.
struct Page {
  std::atomic<uint64_t> moved[64];  // transfers done, by mover
  std::atomic<int> stage;           // the job's, then the judge's, in turn
  std::atomic<int> go_on;
  std::atomic<uint64_t> number[16];
  char text[2048];  // what the plugin said, a line each
};

struct Bed {
  std::string plugin, loop, fake_nccl, self, folder;
  Mode mode = Mode::kTap;
  Page* page = nullptr;
  std::string seen;   // for the table
  std::string wrong;  // what was not as it should be; empty: the case is right

  uint64_t moved() const;
};
extern Bed bed;

void see(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Ends the process: the case cannot be had here.
[[noreturn]] void skip(const char* format, ...) __attribute__((format(printf, 1, 2)));
void note_wrong(const char* file, int line, const char* what);

// In the judge: the case is wrong, and goes on.
#define EXPECT(condition)                                        \
  do {                                                           \
    if (!(condition)) note_wrong(__FILE__, __LINE__, #condition); \
  } while (0)

// In the job: it ends at once, and the judge sees how.
[[noreturn]] void fail_job(const char* file, int line, const char* what);
#define NEED(condition)                                        \
  do {                                                         \
    if (!(condition)) fail_job(__FILE__, __LINE__, #condition); \
  } while (0)

// A child of the judge.
class Job {
 public:
  explicit Job(const std::function<void()>& life);  // ends with exit(0) behind it
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // waitpid's status; -1: it does not end, and was killed.
  int wait(int timeout_ms = 30'000);
  bool ends_well(int timeout_ms = 30'000) { return wait(timeout_ms) == 0; }
  bool has_ended() const;
  pid_t pid;
};

std::string describe_status(int status);
bool eventually(const std::function<bool()>& holds, int timeout_ms = 10'000);
void nap_ms(int ms);
void use_sidecar(const test::FakeSidecar& sidecar);  // for jobs to come
void use_no_sidecar();
std::string use_segment_file();  // its path without the number of the process

// What one process holds.
struct Held {
  long threads, descriptors, mappings;
};
Held look(pid_t pid);

// Of the flows of all senders.
struct Sums {
  uint64_t posted = 0, completed = 0;
  uint32_t flows = 0;
};
Sums sum(const test::SegmentCopy& segment);
test::SegmentCopy read_file(const std::string& path);

struct Case {
  const char* name;
  const char* done;  // what was done, for the table
  std::vector<Mode> modes;
  void (*run)();
};
std::vector<Case> take_cases();
std::vector<Case> fork_cases();
std::vector<Case> end_cases();
std::vector<Case> signal_cases();
std::vector<Case> scarce_cases();
std::vector<Case> many_cases();
std::vector<Case> copy_cases();
std::vector<Case> change_cases();

}  // namespace railwitness::lifecycle

#endif  // RAILWITNESS_TESTS_PLUGIN_LIFECYCLE_BED_H_
