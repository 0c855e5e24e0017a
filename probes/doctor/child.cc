#include "probes/doctor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fmt/format.h"
#include "railwitness/base/clock.h"

namespace railwitness::doctor {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 10;

[[noreturn]] void answer(int to, std::string (*question)(const std::string&), const std::string& argument) {
  // Libraries print at load what is not ours to print.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const std::string text = question(argument);
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(to, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  _exit(0);
}

}  // namespace

absl::StatusOr<std::string> ask_child(std::string (*question)(const std::string&), const std::string& argument,
                                      int timeout_ms) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(fmt::format("no pipe: {}", strerror(errno)));
  const pid_t child = fork();
  if (child == 0) answer(ends[1], question, argument);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return absl::UnavailableError(fmt::format("no child process: {}", strerror(errno)));
  }
  std::string text;
  const int64_t deadline = now_mono_ms() + timeout_ms;
  bool is_late = false;
  char buffer[4096];
  while (text.size() < kMaxBytes) {
    pollfd ready{ends[0], POLLIN, 0};
    const int64_t left = deadline - now_mono_ms();
    is_late = left <= 0;
    if (is_late) break;
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  if (is_late || text.size() >= kMaxBytes) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_late) return absl::DeadlineExceededError(fmt::format("no answer within {} ms", timeout_ms));
  if (WIFSIGNALED(status) && text.size() < kMaxBytes) {
    return absl::InternalError(fmt::format("died of signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
  }
  return text;
}

}  // namespace railwitness::doctor
