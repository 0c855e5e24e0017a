// The job's end of the hand-over, for tests: honest, or rude in every way a socket allows.
#ifndef RAILWITNESS_TESTS_PROBES_SIDECAR_FAKE_PLUGIN_H_
#define RAILWITNESS_TESTS_PROBES_SIDECAR_FAKE_PLUGIN_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "probes/ring/unique_fd.h"
#include "railwitness/abi/handover.h"

namespace railwitness::sidecar {

// A folder of its own, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "railwitness_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string at(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

inline ring::UniqueFd connect_to(const std::string& path, int type = SOCK_SEQPACKET) {
  ring::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return ring::UniqueFd();
  return fd;
}

inline railwitness_hello honest_hello(const std::string& job = "job-1") {
  railwitness_hello hello{};
  hello.magic = RAILWITNESS_HANDOVER_MAGIC;
  hello.abi_major = RAILWITNESS_ABI_MAJOR;
  hello.abi_minor = RAILWITNESS_ABI_MINOR;
  hello.hello_bytes = sizeof(hello);
  hello.pid = 1;
  std::memcpy(hello.job, job.data(), std::min(job.size(), sizeof(hello.job)));
  return hello;
}

template <typename Message>
bool send_message(const ring::UniqueFd& fd, const Message& message, size_t bytes = sizeof(Message)) {
  return send(fd.get(), &message, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

struct Welcomed {
  railwitness_welcome welcome{};
  ring::UniqueFd segment;
};

// Nothing if the other side closed or says nothing for `wait_ms`.
inline std::optional<Welcomed> receive_welcome(const ring::UniqueFd& fd, int wait_ms) {
  pollfd event{fd.get(), POLLIN, 0};
  if (poll(&event, 1, wait_ms) <= 0) return std::nullopt;
  Welcomed welcomed;
  iovec piece{&welcomed.welcome, sizeof(welcomed.welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(fd.get(), &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof(railwitness_welcome))) {
    return std::nullopt;
  }
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int segment = -1;
    std::memcpy(&segment, CMSG_DATA(header), sizeof(segment));
    welcomed.segment = ring::UniqueFd(segment);
  }
  return welcomed;
}

inline bool is_closed(const ring::UniqueFd& fd, int wait_ms) {
  pollfd event{fd.get(), POLLIN, 0};
  char byte;
  return poll(&event, 1, wait_ms) > 0 && recv(fd.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_TESTS_PROBES_SIDECAR_FAKE_PLUGIN_H_
