#include "probes/sidecar/unix_listener.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"

namespace railwitness::sidecar {
namespace {

using Place = UnixListener::Place;

absl::Status refuse(const Place& place, const std::string& cause, const std::string& way_out) {
  return absl::FailedPreconditionError("cannot serve " + place.path + ": " + cause + "; " + way_out +
                                       " or choose another " + place.knob);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status make_folder(const Place& place) {
  const std::string folder = folder_of(place.path);
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return absl::OkStatus();
  const int error = errno;
  return refuse(place, "folder " + folder + " is not there and cannot be made: " + std::strerror(error),
                "make it writable for this user (mkdir -p " + folder + ")");
}

// Whether anybody answers on the socket file at `address`; OK with nothing there, or only a dead one's file, which is
// removed.
absl::Status clear_stale(const Place& place, const sockaddr_un& address) {
  struct stat file {};
  if (lstat(place.path.c_str(), &file) != 0) return absl::OkStatus();  // bind will say it better
  if (!S_ISSOCK(file.st_mode)) return refuse(place, "there is a file that is no socket", "remove it");
  const ring::UniqueFd probe(socket(AF_UNIX, place.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool connected = connect(probe.get(), generic, sizeof(address)) == 0;
  const int error = errno;
  if (!connected && error == ECONNREFUSED) {  // the file outlived its process
    if (unlink(place.path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    return refuse(place, std::string("a dead sidecar's socket cannot be removed: ") + std::strerror(errno), "remove it");
  }
  if (!connected && error != EAGAIN && error != EPROTOTYPE) {
    return refuse(place, std::strerror(error), "remove the socket if nobody uses it");
  }
  ucred owner{};
  socklen_t size = sizeof(owner);
  std::string who = "another process";
  if (connected && getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.pid > 0) {
    who = "pid " + std::to_string(owner.pid);
  }
  return refuse(place, who + " is serving it already", "stop that one");
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::open(const Place& place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (place.path.empty() || place.path.size() >= sizeof(address.sun_path)) {
    return refuse(place, "a path must have 1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes", "shorten it");
  }
  std::memcpy(address.sun_path, place.path.data(), place.path.size());
  absl::Status status = make_folder(place);
  if (status.ok()) status = clear_stale(place, address);
  if (!status.ok()) return status;
  ring::UniqueFd fd(socket(AF_UNIX, place.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return refuse(place, std::strerror(errno), "free some descriptors");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return refuse(place, std::strerror(errno), "give this user the right to write its folder");
  }
  struct stat file {};
  // chmod, as bind obeys the umask.
  if (chmod(place.path.c_str(), place.mode) != 0 || lstat(place.path.c_str(), &file) != 0 ||
      listen(fd.get(), 256) != 0) {
    const int error = errno;
    unlink(place.path.c_str());
    return refuse(place, std::strerror(error), "look at its folder");
  }
  return std::unique_ptr<UnixListener>(new UnixListener(std::move(fd), place, file));
}

bool UnixListener::is_in_place() const {
  struct stat now {};
  return lstat(place_.path.c_str(), &now) == 0 && now.st_dev == file_.st_dev && now.st_ino == file_.st_ino;
}

UnixListener::~UnixListener() {
  if (is_in_place()) unlink(place_.path.c_str());
}

absl::StatusOr<bool> UnixListener::mend() {
  if (is_in_place()) return false;
  absl::StatusOr<std::unique_ptr<UnixListener>> again = open(place_);
  if (!again.ok()) return again.status();
  std::swap(fd_, (*again)->fd_);
  std::swap(file_, (*again)->file_);
  (*again)->place_.path.clear();  // what goes out of scope removes nothing: numbers of files come again
  return true;
}

int accept_nonblocking(int listener_fd) {
  int fd;
  do {
    fd = accept4(listener_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  return fd;
}

}  // namespace railwitness::sidecar
