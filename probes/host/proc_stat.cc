#include "probes/host/proc_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/status/status.h"

namespace railwitness::host {
namespace {

// Files of /proc are short and come whole in one read.
absl::StatusOr<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = errno;
  ssize_t got = -1;
  char bytes[4096];
  if (fd >= 0) {
    got = read(fd, bytes, sizeof(bytes));
    error = errno;
    close(fd);
  }
  if (got >= 0) return std::string(bytes, static_cast<size_t>(got));
  const std::string text = path + ": " + std::strerror(error);
  // ESRCH: the process ended between open and read.
  if (error == ENOENT || error == ESRCH) return absl::NotFoundError(text);
  return absl::UnavailableError(text);
}

// The next word, blanks skipped; empty at the end.
std::string_view next_word(std::string_view& rest) {
  const size_t begin = rest.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  const size_t end = rest.find_first_of(" \n", begin);
  const std::string_view word = rest.substr(begin, end == std::string_view::npos ? end : end - begin);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  return word;
}

bool parse_number(std::string_view word, uint64_t& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

}  // namespace

absl::StatusOr<ProcStat> parse_proc_stat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return absl::DataLossError("stat: no name in parentheses");
  std::string_view rest = text.substr(name_end + 1);
  ProcStat stat;
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return absl::DataLossError("stat: no state letter after the name");
  stat.state = state[0];
  for (int field = 4; field <= 22; ++field) {  // numbered as in proc_pid_stat(5)
    const std::string_view word = next_word(rest);
    uint64_t* wanted = nullptr;
    if (field == 14) wanted = &stat.user_ticks;
    if (field == 15) wanted = &stat.system_ticks;
    if (field == 22) wanted = &stat.start_time;
    if (word.empty() || (wanted != nullptr && !parse_number(word, *wanted))) {
      return absl::DataLossError("stat: field " + std::to_string(field) + " is missing or no number");
    }
  }
  return stat;
}

absl::StatusOr<ProcStat> read_proc_stat(const std::string& proc_root, int32_t pid) {
  const std::string path = proc_root + "/" + std::to_string(pid) + "/stat";
  absl::StatusOr<std::string> text = read_file(path);
  if (!text.ok()) return text.status();
  if (text->empty()) return absl::NotFoundError(path + ": empty");
  return parse_proc_stat(*text);
}

model::ProcessState process_state(char state) {
  switch (state) {
    case 'R': return model::ProcessState::kRunning;
    case 'S':
    case 'I': return model::ProcessState::kSleeping;
    case 'D': return model::ProcessState::kDiskSleep;
    case 'T':  // by a signal
    case 't': return model::ProcessState::kStopped;  // by a debugger
    case 'Z':
    case 'X': return model::ProcessState::kZombie;
    default: return model::ProcessState::kUnknown;
  }
}

std::string read_boot_id(const std::string& proc_root) {
  const absl::StatusOr<std::string> text = read_file(proc_root + "/sys/kernel/random/boot_id");
  if (!text.ok()) return "";
  return text->substr(0, text->find('\n'));
}

}  // namespace railwitness::host
