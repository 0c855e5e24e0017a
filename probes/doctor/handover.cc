#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fmt/format.h"
#include "probes/doctor/checks.h"
#include "railwitness/abi/handover.h"

namespace railwitness::doctor {
namespace {

constexpr char kName[] = "sidecar's hand-over socket";
constexpr int kTimeoutMs = 2000;

Check refused(const std::string& path, int error) {
  const std::string seen = fmt::format("{}: {}", path, strerror(error));
  if (error == EACCES || error == EPERM) {
    return {kName, State::kBad, seen, "let the job's user enter its directory; the socket itself is open to all"};
  }
  if (error == ECONNREFUSED) return {kName, State::kBad, seen, "no sidecar behind it: start `railwitness sidecar`"};
  return {kName, State::kBad, seen,
          "start `railwitness sidecar`; in a container, mount its directory; RAILWITNESS_SOCKET names another path"};
}

// A living sidecar says which version it speaks and gives no segment away.
Check ask(int fd, const std::string& path) {
  railwitness_hello hello{};
  hello.magic = RAILWITNESS_HANDOVER_MAGIC;
  hello.abi_major = RAILWITNESS_HANDOVER_ASKS;
  hello.hello_bytes = sizeof hello;
  hello.pid = static_cast<uint32_t>(getpid());
  if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != ssize_t{sizeof hello}) return refused(path, errno);
  pollfd ready{fd, POLLIN, 0};
  railwitness_welcome welcome{};
  if (poll(&ready, 1, kTimeoutMs) <= 0 || recv(fd, &welcome, sizeof welcome, MSG_DONTWAIT) != ssize_t{sizeof welcome} ||
      welcome.magic != RAILWITNESS_HANDOVER_MAGIC) {
    return {kName, State::kBad, fmt::format("{} takes the connection, but says nothing that a sidecar would", path),
            "restart the sidecar, or free the path from what listens there"};
  }
  if (welcome.abi_major != RAILWITNESS_ABI_MAJOR) {
    return {kName, State::kBad,
            fmt::format("the sidecar at {} speaks layout {}, this railwitness {}", path, welcome.abi_major,
                        RAILWITNESS_ABI_MAJOR),
            "bring plugin and sidecar to one version"};
  }
  return {kName, State::kOk,
          fmt::format("the sidecar at {} answers, layout {}.{}", path, welcome.abi_major, welcome.abi_minor), ""};
}

}  // namespace

Check check_handover(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || socket_path.size() >= sizeof address.sun_path) return refused(socket_path, ENAMETOOLONG);
  memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return {kName, State::kUnknown, fmt::format("no socket: {}", strerror(errno)), ""};
  const timeval timeout{kTimeoutMs / 1000, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);  // a full queue of connections
  const Check check = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
                          ? ask(fd, socket_path)
                          : refused(socket_path, errno);
  close(fd);
  return check;
}

}  // namespace railwitness::doctor
