// Every environment variable RAILWITNESS_*, one row each. The plugin, the program and docs/knobs.md (which
// `railwitness env --markdown` prints) know no others; tests/arch/knobs.py fails where the code reads one without a row.
//
// No allocation, no exception: the plugin uses it inside a job. What is said about a variable goes into a buffer that
// the caller owns.
#ifndef RAILWITNESS_BASE_KNOBS_H_
#define RAILWITNESS_BASE_KNOBS_H_

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "railwitness/abi/handover.h"
#include "railwitness/base/edit_distance.h"

namespace railwitness::knobs {

// Who reads it; several at once.
enum Reader : unsigned { kJob = 1, kSidecar = 2, kCorrelate = 4, kLs = 8, kDoctor = 16, kBuild = 32, kTests = 64 };

enum class Type {
  kText,    // anything
  kPath,    // of a file
  kSocket,  // a path that fits into a unix socket's address
  kUrl,
  kCommand,  // for the shell; empty has a meaning
  kChoice,   // one of `choices`, in any case
  kNumber,   // whole, from `least` to `most`
};

struct Knob {
  const char* name;
  unsigned readers;
  Type type;
  const char* standard;  // what is taken when it is unset or wrong, as one would write it; empty: see `text`
  const char* unit;      // of a number
  int64_t least, most;
  const char* choices;  // separated by '|'; "word:<name>" stands for word: and a name
  const char* since;    // version of railwitness
  const char* text;
};

inline constexpr size_t kSocketBytes = 108;  // sun_path of sockaddr_un, with its end

inline constexpr Knob kAll[] = {
    // In the job.
    {"RAILWITNESS_MODE", kJob, Type::kChoice, "tap", "", 0, 0, "tap|chain:<plugin>|ofi|off", "0.1.0",
     "how transfers are witnessed: beside NCCL's own InfiniBand transport (tap), around another net plugin (chain), by "
     "the plugin's own libfabric transport (ofi), or not at all (off)"},
    {"RAILWITNESS_SOCKET", kJob | kSidecar | kDoctor, Type::kSocket, RAILWITNESS_DEFAULT_SOCKET, "", 0, 0, "", "0.1.0",
     "socket where the sidecar hands witness segments to jobs; in a container, mount its directory"},
    {"RAILWITNESS_JOB", kJob, Type::kText, "", "", 0, 0, "", "0.1.0",
     "name under which the job appears in verdicts; unset: SLURM_JOB_ID"},
    {"RAILWITNESS_SEGMENT_FILE", kJob, Type::kPath, "", "", 0, 0, "", "0.1.0",
     "write the segment into this file (.PID is appended) instead of asking a sidecar"},
    {"RAILWITNESS_OFI_PROVIDER", kJob, Type::kText, "", "", 0, 0, "", "0.1.0",
     "mode ofi: provider of libfabric, as `fi_info -t FI_EP_RDM` names it, alike on all ranks; unset: the first there is "
     "of tcp, net, tcp;ofi_rxm"},
    {"RAILWITNESS_OFI_IFNAME", kJob, Type::kText, "", "", 0, 0, "", "0.1.0",
     "mode ofi: network interfaces that are rails, in the syntax of NCCL_SOCKET_IFNAME; unset: NCCL_SOCKET_IFNAME, else "
     "all but loopback and bridges"},
    {"RAILWITNESS_OFI_CONNECT_TIMEOUT", kJob, Type::kNumber, "120", "s", 0, 86'400, "", "0.1.0",
     "mode ofi: how long a connection may take to be made before it is an error; 0: for ever"},
    {"RAILWITNESS_OFI_WAIT", kJob, Type::kChoice, "auto", "", 0, 0, "auto|spin|sleep", "0.1.0",
     "mode ofi: what a progress thread does while nothing happens; auto: sleep a little where others want the processor"},
    {"RAILWITNESS_COST_MAX_PERMILLE", kJob, Type::kNumber, "20", "permille", 0, 1'000, "", "0.1.0",
     "how much of the time of the threads that call us (NCCL's proxies, which poll for as long as they have work) recording "
     "may take, on average over those that called in a second; above it only counters are kept until it would be half of "
     "that again; 0: any"},
    // On the node and in the fleet.
    {"RAILWITNESS_CONTROL_SOCKET", kSidecar | kLs | kDoctor, Type::kSocket, "/run/railwitness/control.sock", "", 0, 0,
     "", "0.1.0", "socket where the sidecar answers `railwitness ls`"},
    {"RAILWITNESS_NATS", kSidecar | kCorrelate, Type::kUrl, "", "", 0, 0, "", "0.1.0",
     "URL of the nats-server, nats://host:4222; unset: the sidecar is alone, the correlator asks nats://127.0.0.1:4222"},
    {"RAILWITNESS_NODE", kSidecar, Type::kText, "", "", 0, 0, "", "0.1.0", "name of this node; unset: its host name"},
    {"RAILWITNESS_LLDP_COMMAND", kSidecar | kDoctor, Type::kCommand, "lldpctl -f json", "", 0, 0, "", "0.1.0",
     "command that prints LLDP neighbours as JSON; empty: no LLDP"},
    {"RAILWITNESS_LLDP_INTERVAL_MS", kSidecar, Type::kNumber, "10000", "ms", 100, 3'600'000, "", "0.1.0",
     "how often that command is run"},
    {"RAILWITNESS_READ_INTERVAL_MS", kSidecar, Type::kNumber, "100", "ms", 10, 10'000, "", "0.1.0",
     "how often segments are read"},
    {"RAILWITNESS_MAX_PROCESSES", kSidecar, Type::kNumber, "1024", "processes", 1, 65'536, "", "0.1.0",
     "segments handed out at a time"},
    {"RAILWITNESS_RAILS", kSidecar, Type::kText, "", "", 0, 0, "", "0.1.0",
     "interfaces that are rails without RDMA, separated by commas; numbered in this order, after the ports of RDMA "
     "devices and before what only jobs use, so give alike rails the same place on all nodes"},
    {"RAILWITNESS_INTERVAL_MS", kCorrelate, Type::kNumber, "500", "ms", 50, 60'000, "", "0.1.0",
     "how often the facts of the fleet are thought over"},
    // Where railwitness is built and tested.
    {"RAILWITNESS_NCCL_ROOT", kBuild, Type::kPath, "", "", 0, 0, "", "0.1.0",
     "folder with include/nccl.h and lib/libnccl.so.2; unset: /usr/local/cuda, else wheels from PyPI"},
    {"RAILWITNESS_NCCL_CACHE", kTests, Type::kPath, "", "", 0, 0, "", "0.1.0",
     "folder of further releases of NCCL that tests fetch; unset: ~/.cache/railwitness/nccl"},
    {"RAILWITNESS_TEST_FIXTURES", kTests, Type::kPath, "", "", 0, 0, "", "0.1.0",
     "folder with further input files for the tests of readers"},
};

inline const Knob* find(std::string_view name) {
  for (const Knob& knob : kAll)
    if (name == knob.name) return &knob;
  return nullptr;
}

inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

inline bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const size_t end = choices.find('|');
    const std::string_view choice = choices.substr(0, end);
    const size_t open = choice.find('<');
    const bool fits = open == choice.npos
                          ? equals_ignoring_case(choice, value)
                          : value.size() > open && equals_ignoring_case(choice.substr(0, open), value.substr(0, open));
    if (fits) return true;
    if (end == choices.npos) break;
    choices.remove_prefix(end + 1);
  }
  return false;
}

// The number that `value` says, if it says one within the range.
inline bool parse_number(const Knob& knob, std::string_view value, int64_t& number) {
  int64_t parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || parsed < knob.least || parsed > knob.most)
    return false;
  number = parsed;
  return true;
}

// An empty value is as good as none.
inline bool is_valid(const Knob& knob, std::string_view value) {
  int64_t number = 0;
  if (value.empty()) return true;
  if (knob.type == Type::kNumber) return parse_number(knob, value, number);
  if (knob.type == Type::kChoice) return is_choice(knob.choices, value);
  if (knob.type == Type::kSocket) return value.size() < kSocketBytes;
  return true;
}

// What is allowed, in words: "a whole number of ms from 50 to 60000".
inline void describe_allowed(const Knob& knob, char* text, size_t bytes) {
  const long long least = knob.least, most = knob.most;
  if (knob.type == Type::kNumber)
    snprintf(text, bytes, "a whole number of %s from %lld to %lld", knob.unit, least, most);
  else if (knob.type == Type::kChoice)
    snprintf(text, bytes, "one of %s", knob.choices);
  else if (knob.type == Type::kSocket)
    snprintf(text, bytes, "a path of at most %zu bytes", kSocketBytes - 1);
  else
    snprintf(text, bytes, "anything");
}

// The known name that an unknown one is a slip of, or null. At most two slips, and no more than a third of the word.
inline const Knob* suggest(std::string_view name) {
  constexpr std::string_view kPrefix = "RAILWITNESS_";
  const Knob* nearest = nullptr;
  size_t least = 3;
  for (const Knob& knob : kAll) {
    const std::string_view known = knob.name;
    const size_t letters = known.size() - kPrefix.size();
    const size_t distance = edit_distance(name, known);
    if (distance < least && distance * 3 <= (letters < 3 ? 3 : letters)) {
      nearest = &knob;
      least = distance;
    }
    // A word cut short or too long: RAILWITNESS_SOCK, RAILWITNESS_SOCKET_PATH.
    const bool is_part = name.size() >= kPrefix.size() + 3 && (known.starts_with(name) || name.starts_with(known));
    if (is_part && !nearest) nearest = &knob;
  }
  return nearest;
}

// Kubernetes gives every pod variables named after each service: a service called "railwitness" or "railwitness-nats"
// makes RAILWITNESS_SERVICE_HOST, RAILWITNESS_NATS_PORT=tcp://… and more. They are nobody's mistake.
inline bool is_of_kubernetes(std::string_view name, std::string_view value) {
  const size_t port = name.find("_PORT_");
  return name.find("_SERVICE_HOST") != name.npos || name.find("_SERVICE_PORT") != name.npos ||
         (name.ends_with("_PORT") && value.find("://") != value.npos) ||
         (port != name.npos && port + 6 < name.size() && name[port + 6] >= '0' && name[port + 6] <= '9');
}

// One entry of an environment, "NAME=value": is it meant for us, and is the name known?
struct Entry {
  std::string_view name, value;
  const Knob* knob;   // the row, if the name is known
  const Knob* meant;  // the row that an unknown name is a slip of, if any
  bool is_unknown;    // begins as ours do, or is nearly one of ours, but is none
  bool is_ours() const { return knob || is_unknown; }
};

inline Entry read_entry(std::string_view entry) {
  constexpr std::string_view kPrefix = "RAILWITNESS_";
  const size_t equals = entry.find('=');
  Entry e{entry.substr(0, equals), equals == entry.npos ? std::string_view() : entry.substr(equals + 1), nullptr,
          nullptr, false};
  if (e.name.size() < 4 || !equals_ignoring_case(e.name.substr(0, 4), "RAIL")) return e;
  e.knob = find(e.name);
  if (e.knob || is_of_kubernetes(e.name, e.value)) return e;
  e.meant = suggest(e.name);
  for (const Knob& knob : kAll)
    if (!e.meant && equals_ignoring_case(e.name, knob.name)) e.meant = &knob;
  e.is_unknown = e.meant || e.name.starts_with(kPrefix);
  return e;
}

// What is wrong with an entry, in one sentence; empty if nothing is. A value is shown up to 40 bytes, unprintable ones
// as '?': it goes into other people's logs.
inline void describe_problem(const Entry& e, char* text, size_t bytes) {
  text[0] = 0;
  char shown[44], allowed[128];
  const auto printable = [&shown](std::string_view word) {
    size_t n = 0;
    for (; n < word.size() && n < 40; ++n) shown[n] = word[n] >= ' ' && word[n] < 127 ? word[n] : '?';
    memcpy(shown + n, word.size() > n ? "…" : "", word.size() > n ? 4 : 1);
    return shown;
  };
  if (e.is_unknown && e.meant) {
    snprintf(text, bytes, "%s is not known; %s is meant?", printable(e.name), e.meant->name);
  } else if (e.is_unknown) {
    snprintf(text, bytes, "%s is not known; `railwitness env` lists what is", printable(e.name));
  } else if (e.knob && !is_valid(*e.knob, e.value)) {
    describe_allowed(*e.knob, allowed, sizeof allowed);
    // A job goes on with the default; a program with a wrong value does not start.
    snprintf(text, bytes, "%s is '%s'; %s is meant%s%s%s", e.knob->name, printable(e.value), allowed,
             e.knob->readers & kJob ? ", " : "", e.knob->readers & kJob ? e.knob->standard : "",
             e.knob->readers & kJob ? " is taken" : "");
  }
}

// All problems of an environment that concern `reader`, joined by "; ". Returns how many.
inline int describe_problems(const char* const* environment, unsigned reader, char* text, size_t bytes) {
  size_t used = 0;
  int problems = 0;
  text[0] = 0;
  for (; environment && *environment; ++environment) {
    const Entry e = read_entry(*environment);
    if (!e.is_ours() || (e.knob && !(e.knob->readers & reader))) continue;
    char problem[256];
    describe_problem(e, problem, sizeof problem);
    if (!problem[0]) continue;
    problems++;
    const int n = snprintf(text + used, bytes - used, "%s%s", used ? "; " : "", problem);
    if (n < 0 || static_cast<size_t>(n) >= bytes - used) {
      text[used] = 0;  // whole sentences only
      break;
    }
    used += static_cast<size_t>(n);
  }
  return problems;
}

}  // namespace railwitness::knobs

#endif  // RAILWITNESS_BASE_KNOBS_H_
