#include "tests/plugin/net_host/rank.h"

#include "railwitness/base/clock.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::net_host {

namespace {

constexpr int kSkip = 77;
int report_fd = -1;  // to the parent: why this rank failed or skipped
int this_rank = -1;

void report(const char* text, size_t bytes) {
  if (write(report_fd, text, bytes) < 0) perror("net_host: report");
}

}  // namespace

void fail(const char* file, int line, const char* what, const char* format, ...) {
  const int error = errno;
  char text[1024];
  const char* name = strrchr(file, '/');
  int n = snprintf(text, sizeof text, "rank %d, %s:%d: %s:", this_rank, name ? name + 1 : file, line, what);
  va_list arguments;
  va_start(arguments, format);
  n += vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, arguments);
  va_end(arguments);
  if (error && static_cast<size_t>(n) < sizeof text)
    n += snprintf(text + n, sizeof text - static_cast<size_t>(n), " (last errno: %s)", strerror(error));
  if (static_cast<size_t>(n) < sizeof text - 2) text[n++] = '.', text[n++] = ' ', text[n] = 0;
  report(text, strnlen(text, sizeof text));
  _exit(1);
}

void skip(const char* reason) {
  if (this_rank == 0) report(reason, strlen(reason));
  _exit(kSkip);
}

double now_s() { return static_cast<double>(read_clock_ns(CLOCK_MONOTONIC)) / 1e9; }

void nap_us(int microseconds) { usleep(static_cast<useconds_t>(microseconds)); }

void Rank::exchange(const void* mine, void* theirs, size_t bytes) const {
  REQUIRE(send(socket, mine, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes), "the other rank is gone");
  for (size_t got = 0; got < bytes;) {
    const ssize_t n = recv(socket, static_cast<char*>(theirs) + got, bytes - got, 0);
    if (n < 0 && errno == EINTR) continue;
    REQUIRE(n > 0, "the other rank is gone");
    got += static_cast<size_t>(n);
  }
}

void Rank::barrier() const {
  const char mine = 'b';
  char theirs = 0;
  exchange(&mine, &theirs, 1);
}

bool Rank::peer_is_gone() const {
  char byte;
  const ssize_t n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

namespace {

[[noreturn]] void be_rank(const Case& c, const Options& options, int id, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  this_rank = id;
  alarm(static_cast<unsigned>(c.timeout_s));
  if (options.is_ours()) setenv("RAILWITNESS_MODE", options.mode.c_str(), 1);
  setenv("RAILWITNESS_SOCKET", "/nowhere/sidecar.sock", 0);  // whatever sidecar this host has is not asked
  Rank rank{id, socket, options};
  c.run(rank);
  fflush(stdout);
  _exit(0);  // as a job ends that does not unload: without destructors
}

std::string words(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "hung until its time was up";
  if (WIFSIGNALED(status)) return std::string("died of ") + strsignal(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Outcome run_case(const Case& c, const Options& options) {
  int ranks[2], reports[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ranks) || pipe(reports)) return {Outcome::kWrong, "no pipe"};
  fflush(stdout);
  pid_t pids[2];
  for (int id = 0; id < 2; id++) {
    pids[id] = fork();
    if (pids[id] < 0) return {Outcome::kWrong, "no process can be made"};
    if (pids[id]) continue;
    close(ranks[1 - id]);
    close(reports[0]);
    report_fd = reports[1];
    be_rank(c, options, id, ranks[id]);
  }
  close(ranks[0]), close(ranks[1]), close(reports[1]);
  int first = -1, failed = -1;  // who ended first otherwise than well
  int statuses[2] = {};
  for (int left = 2; left; left--) {
    int status = 0;
    const pid_t pid = wait(&status);
    const int id = pid == pids[1];
    statuses[id] = status;
    if (c.one_dies && id == 1) continue;
    const bool bad = status && !(WIFEXITED(status) && WEXITSTATUS(status) == kSkip);
    if (status && first < 0) first = id;
    if (bad && failed < 0) failed = id;
    if (bad && left == 2) kill(pids[1 - id], SIGKILL);  // it would wait for us
  }
  std::string text;
  char part[1024];
  for (ssize_t n; (n = read(reports[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  close(reports[0]);
  if (failed >= 0) {
    if (text.empty()) text = "rank " + std::to_string(failed) + " " + words(statuses[failed]);
    return {Outcome::kWrong, text};
  }
  if (first >= 0) return {Outcome::kSkipped, text};
  return {Outcome::kRight, text};
}

}  // namespace railwitness::net_host
