#include "tests/plugin/lifecycle/bed.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>

#include <dirent.h>
#include <sys/wait.h>
#include <time.h>

namespace railwitness::lifecycle {

Bed bed;

uint64_t Bed::moved() const {
  uint64_t sum = 0;
  for (const auto& m : page->moved) sum += m;
  return sum;
}

void see(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  bed.seen += (bed.seen.empty() ? "" : "; ") + std::string(text);
}

void skip(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("skip: ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  fflush(stdout);
  _exit(77);
}

void note_wrong(const char* file, int line, const char* what) {
  const char* slash = strrchr(file, '/');
  bed.wrong += (bed.wrong.empty() ? "" : "; ") + std::string(slash ? slash + 1 : file) + ":" + std::to_string(line) + ": " + what;
}

void fail_job(const char* file, int line, const char* what) {
  fprintf(stderr, "job: %s:%d: %s (errno %d)\n", file, line, what, errno);
  _exit(99);
}

Job::Job(const std::function<void()>& life) : pid(fork()) {
  if (pid) return;
  alarm(55);
  life();
  exit(0);
}

Job::~Job() {
  if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
}

int Job::wait(int timeout_ms) {
  int status = -1;
  if (!eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; }, timeout_ms)) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    status = -1;
  }
  pid = 0;
  return status;
}

bool Job::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

std::string describe_status(int status) {
  if (status == -1) return "does not end";
  if (WIFSIGNALED(status)) return std::string("killed by SIG") + sigabbrev_np(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

bool eventually(const std::function<bool()>& holds, int timeout_ms) {
  for (int i = 0; i <= timeout_ms / 5; i++) {
    if (holds()) return true;
    nap_ms(5);
  }
  return false;
}

void nap_ms(int ms) {  // also among signals
  timespec left{ms / 1000, ms % 1000 * 1'000'000L};
  while (nanosleep(&left, &left) && errno == EINTR) {
  }
}

void use_sidecar(const test::FakeSidecar& sidecar) { setenv("RAILWITNESS_SOCKET", sidecar.path.c_str(), 1); }
void use_no_sidecar() { setenv("RAILWITNESS_SOCKET", "/nowhere/sidecar.sock", 1); }

std::string use_segment_file() {
  const std::string path = bed.folder + "/segment";
  setenv("RAILWITNESS_SEGMENT_FILE", path.c_str(), 1);
  return path;
}

namespace {

long count_entries(const std::string& folder) {
  DIR* d = opendir(folder.c_str());
  if (!d) return -1;
  long n = 0;
  while (const dirent* e = readdir(d)) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

}  // namespace

Held look(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  Held held{count_entries(folder + "/task"), count_entries(folder + "/fd"), 0};
  if (pid == getpid()) held.descriptors--;  // that of the look itself
  if (FILE* maps = fopen((folder + "/maps").c_str(), "re")) {
    for (int c; (c = fgetc(maps)) != EOF;) held.mappings += c == '\n';
    fclose(maps);
  }
  return held;
}

Sums sum(const test::SegmentCopy& s) {
  Sums sums;
  if (s.bytes.size() < sizeof(railwitness_segment_header)) return sums;  // no descriptor came so far
  sums.flows = s.writer().flows;
  for (uint32_t i = 0; i < sums.flows; i++) {
    if (s.identity(i).direction == RAILWITNESS_DIRECTION_RECV) continue;
    sums.posted += s.state(i).posted;
    sums.completed += s.state(i).completed;
  }
  return sums;
}

test::SegmentCopy read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  test::SegmentCopy s;
  if (fd >= 0) s = test::SegmentCopy::read(fd);
  if (fd >= 0) close(fd);
  if (s.bytes.size() >= sizeof(railwitness_segment_header)) return s;
  const railwitness_segment_header empty = test::good_header();  // there is none: nothing was written
  s.bytes.assign(empty.segment_bytes, 0);
  memcpy(s.bytes.data(), &empty, sizeof empty);
  return s;
}

}  // namespace railwitness::lifecycle
