#include "plugin/witness/handover.h"

#include "railwitness/abi/handover.h"
#include "railwitness/base/clock.h"
#include "railwitness/base/version.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace railwitness::witness {
namespace {

constexpr int kMostDescriptors = 8;  // more than that come truncated, and are refused
constexpr int kLowestDescriptor = 100;

// Signals of the job do not shorten it.
bool is_readable(int fd, int timeout_ms) {
  const uint64_t until_ns = read_clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    const int n = poll(&p, 1, timeout_ms);
    if (n >= 0 || errno != EINTR) return n > 0;
    const uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= until_ns) return false;
    timeout_ms = static_cast<int>((until_ns - now_ns) / 1'000'000) + 1;
  }
}

uint64_t inode_of(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode) ? file.st_ino : 0;
}

struct Message {
  railwitness_welcome welcome;
  ssize_t bytes;
  bool truncated;
  int descriptors[kMostDescriptors];
  int count;
};

Message receive(int fd) {
  Message m{};
  iovec part{&m.welcome, sizeof m.welcome};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  do m.bytes = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (m.bytes < 0 && errno == EINTR);
  if (m.bytes < 0) return m;
  m.truncated = header.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n && m.count < kMostDescriptors; i++)
      memcpy(&m.descriptors[m.count++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
  }
  return m;
}

Status check_welcome(const Message& m) {
  const railwitness_welcome& w = m.welcome;
  if (m.bytes == 0) return Status::failed("sidecar closed the connection");
  if (m.truncated && m.count == 0 && m.bytes == ssize_t{sizeof w})
    return Status::failed("no sidecar: its segment finds no free descriptor; raise RLIMIT_NOFILE");
  if (m.truncated || m.bytes != ssize_t{sizeof w} || w.magic != RAILWITNESS_HANDOVER_MAGIC)
    return Status::failed("sidecar's answer is not understood");
  if (w.abi_major != RAILWITNESS_ABI_MAJOR || w.status == RAILWITNESS_WELCOME_VERSION)
    return Status::failed("sidecar is of another version");
  if (w.status == RAILWITNESS_WELCOME_FULL) return Status::failed("sidecar serves no more processes");
  if (w.status != RAILWITNESS_WELCOME_OK) return Status::failed("sidecar refused");
  if (m.count != 1) return Status::failed("sidecar gave no segment");
  return Status::ok();
}

}  // namespace

bool SidecarLink::is_ours() const { return fd_ >= 0 && inode_of(fd_) == inode_; }

// Above the standard descriptors in any case: where the job has closed those, its output would go to the sidecar.
Status SidecarLink::open_socket() {
  const int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = errno;
  if (low >= 0) {
    fd_ = fcntl(low, F_DUPFD_CLOEXEC, kLowestDescriptor);
    if (fd_ < 0) fd_ = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);  // RLIMIT_NOFILE is that small
    error = errno;
    ::close(low);
  }
  inode_ = inode_of(fd_);
  if (fd_ >= 0) return Status::ok();
  if (error == EMFILE || error == ENFILE || error == EINVAL)
    return Status::failed("no sidecar: no descriptor is free; raise RLIMIT_NOFILE", error);
  return Status::failed("no sidecar: no socket can be made; allow AF_UNIX in the job's seccomp filter", error);
}

Status SidecarLink::connect(const Knobs& knobs) {
  close();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", knobs.socket);
  const Status opened = open_socket();
  if (!opened.is_ok()) return opened;
  railwitness_hello hello{};
  hello.magic = RAILWITNESS_HANDOVER_MAGIC;
  hello.abi_major = RAILWITNESS_ABI_MAJOR;
  hello.abi_minor = RAILWITNESS_ABI_MINOR;
  hello.hello_bytes = sizeof hello;
  hello.pid = static_cast<uint32_t>(getpid());
  hello.plugin_version = kVersion;
  static_assert(sizeof hello.job == sizeof knobs.job);
  memcpy(hello.job, knobs.job, sizeof hello.job);
  // A full backlog gives EAGAIN: as good as no sidecar, for now.
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) ||
      send(fd_, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) != ssize_t{sizeof hello}) {
    const int error = errno;
    close();
    return Status::failed("no sidecar", error);
  }
  return Status::ok();
}

Memory* SidecarLink::await_memory(int timeout_ms, Status& status) {
  status = Status::ok();
  if (!is_readable(fd_, timeout_ms)) return nullptr;
  if (!is_ours()) return status = Status::failed("no sidecar: the job has closed the socket to it"), close(), nullptr;
  const Message m = receive(fd_);
  if (m.bytes < 0 && errno == EAGAIN) return nullptr;
  status = m.bytes < 0 ? Status::failed("sidecar cannot be heard", errno) : check_welcome(m);
  minor_ = m.welcome.abi_minor;
  Memory* memory = status.is_ok() ? map_sidecar(m.descriptors[0], m.welcome.segment_bytes, status) : nullptr;
  for (int i = 0; i < m.count; i++) memory ? void(::close(m.descriptors[i])) : lay_aside(m.descriptors[i]);
  if (!memory) close();
  return memory;
}

bool SidecarLink::ask_for_part(uint32_t number) const {
  railwitness_request request{};
  request.magic = RAILWITNESS_REQUEST_MAGIC;
  request.request_bytes = sizeof request;
  request.part = number;
  return is_ours() && send(fd_, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t{sizeof request};
}

SidecarLink::News SidecarLink::await_news(int timeout_ms, Part& part) const {
  if (!is_readable(fd_, timeout_ms)) return is_ours() ? News::kNone : News::kEnd;
  if (!is_ours()) return News::kEnd;
  const Message m = receive(fd_);
  if (m.bytes < 0) return errno == EAGAIN ? News::kNone : News::kEnd;
  News news = News::kNone;  // what is no welcome is a message of a later minor
  if (m.bytes == 0) {
    news = News::kEnd;
  } else if (m.bytes == ssize_t{sizeof m.welcome} && m.welcome.magic == RAILWITNESS_HANDOVER_MAGIC) {
    const bool is_part = m.welcome.part > 0 && m.welcome.part < kParts;
    if (m.welcome.status != RAILWITNESS_WELCOME_OK)
      news = News::kRefused;
    else if (is_part && check_welcome(m).is_ok() &&
             map_sidecar_part(m.descriptors[0], m.welcome.segment_bytes, m.welcome.part, part).is_ok())
      news = News::kPart;
    else
      news = News::kEnd;
  }
  for (int i = 0; i < m.count; i++) ::close(m.descriptors[i]);
  return news;
}

void SidecarLink::close() {
  if (is_ours()) lay_aside(fd_);
  fd_ = -1;
}

void SidecarLink::lay_aside(int fd) {
  if (aside_count_ < kMostAside)
    aside_[aside_count_++] = fd;
  else
    ::close(fd);
}

void SidecarLink::sweep() {
  while (aside_count_ > 0) ::close(aside_[--aside_count_]);
}

void SidecarLink::close_copy() {
  if (is_ours()) ::close(fd_);
  fd_ = -1;
  aside_count_ = 0;
}

}  // namespace railwitness::witness
