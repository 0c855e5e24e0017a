// Two ranks, a process each, and what fails a case.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_RANK_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_RANK_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace railwitness::net_host {

struct Options {
  int version = 12;      // the newest net version that this NCCL knows
  std::string plugin;    // path
  std::string mode;      // RAILWITNESS_MODE; empty: the plugin is not ours
  std::string inner;     // path of the plugin behind `chain:`, or of the plugin itself: counts what it holds
  bool verbose = false;  // what the plugin logs
  int cycles = 1000;
  int seconds = 2;       // of the cases that hammer
  bool is_ours() const { return !mode.empty(); }
  bool is_silent() const { return mode == "tap" || mode == "off"; }
  bool is_chain() const { return mode.rfind("chain", 0) == 0; }
  bool is_ofi() const { return mode == "ofi"; }
};

// Ends this rank, and with it the case. `what` names the thing and what was expected.
[[noreturn]] void fail(const char* file, int line, const char* what, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
[[noreturn]] void skip(const char* reason);  // the case does not apply to this plugin

#define REQUIRE(condition, ...)                                                                    \
  do {                                                                                             \
    if (!(condition)) ::railwitness::net_host::fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
  } while (0)

struct Rank {
  int id;      // 0 or 1
  int socket;  // to the other rank
  const Options& options;

  void exchange(const void* mine, void* theirs, size_t bytes) const;
  void barrier() const;
  bool peer_is_gone() const;
};

struct Case {
  const char* name;
  const char* trap;  // of the list in README.md; empty: the contract itself
  void (*run)(Rank&);
  bool (*applies)(const Options&);
  int timeout_s = 240;
  bool one_dies = false;  // the ranks end as they like; rank 0 judges
};

struct Outcome {
  enum Kind { kRight, kWrong, kSkipped } kind;
  std::string text;
};
Outcome run_case(const Case&, const Options&);

double now_s();
void nap_us(int microseconds);

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_RANK_H_
