#include "probes/sidecar/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/model/printable.h"

extern char** environ;

namespace railwitness::sidecar {
namespace {

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  size_t begin = 0;
  while ((begin = line.find_first_not_of(" \t", begin)) != std::string::npos) {
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// Standard input from nowhere, output and error to these, a process group of its own, signals as new.
int spawn(const std::vector<std::string>& words, int output_fd, int error_fd, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, error_fd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Reading without waiting, writing as a program expects it.
bool open_pipe(ring::UniqueFd& reading, ring::UniqueFd& writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  reading = ring::UniqueFd(ends[0]);
  writing = ring::UniqueFd(ends[1]);
  fcntl(writing.get(), F_SETFL, 0);
  return true;
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Command::Command(const std::string& line) : words_(split_words(line)) {}

Command::~Command() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::Status Command::start(int64_t now_mono_ns) {
  if (words_.empty()) return absl::InvalidArgumentError("no command");
  if (running()) return absl::FailedPreconditionError(words_[0] + " is still running");
  ring::UniqueFd reading, writing, reading_errors, writing_errors;
  if (!open_pipe(reading, writing) || !open_pipe(reading_errors, writing_errors)) {
    return absl::ResourceExhaustedError(std::string("no pipe: ") + std::strerror(errno));
  }
  const int error = spawn(words_, writing.get(), writing_errors.get(), pid_);
  if (error != 0) {
    pid_ = -1;
    const std::string text = words_[0] + " cannot be run: " + std::strerror(error);
    return error == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
  }
  output_ = std::move(reading);
  errors_ = std::move(reading_errors);
  bytes_.clear();
  error_bytes_.clear();
  problem_.clear();
  started_mono_ns_ = now_mono_ns;
  return absl::OkStatus();
}

void Command::read_output() {
  char piece[16384];
  while (output_.is_open()) {
    const ssize_t got = read(output_.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      output_.reset();
    } else if (bytes_.size() + static_cast<size_t>(got) > kMaxBytes) {
      stop("said more than " + std::to_string(kMaxBytes) + " bytes");
    } else {
      bytes_.append(piece, static_cast<size_t>(got));
    }
  }
}

// Read all the time, so that the program never waits for us; what it leaves open behind is not waited for.
void Command::read_errors() {
  char piece[4096];
  for (int i = 0; i < 16 && errors_.is_open(); ++i) {
    const ssize_t got = read(errors_.get(), piece, sizeof(piece));
    if (got <= 0) return;
    error_bytes_.append(piece, static_cast<size_t>(got));
    if (error_bytes_.size() > kMaxErrorBytes) error_bytes_.erase(0, error_bytes_.size() - kMaxErrorBytes);
  }
}

void Command::stop(const std::string& problem) {
  problem_ = problem;
  output_.reset();
  kill(-pid_, SIGKILL);
}

std::optional<absl::StatusOr<std::string>> Command::poll(int64_t now_mono_ns) {
  if (!running()) return std::nullopt;
  read_errors();
  read_output();
  if (problem_.empty() && now_mono_ns - started_mono_ns_ > kTimeoutNs) stop("said no end within 5 s");
  if (output_.is_open()) return std::nullopt;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  pid_ = -1;
  read_errors();
  errors_.reset();
  if (!problem_.empty()) return absl::UnavailableError(words_[0] + " " + problem_ + model::last_error_line(error_bytes_));
  if (ended > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
    return absl::UnavailableError(words_[0] + " " + end_text(status) + model::last_error_line(error_bytes_));
  }
  return std::exchange(bytes_, {});
}

}  // namespace railwitness::sidecar
