// A listening unix socket: takes the place of one that a dead sidecar left, never of a living one's. One thread.
#ifndef RAILWITNESS_PROBES_SIDECAR_UNIX_LISTENER_H_
#define RAILWITNESS_PROBES_SIDECAR_UNIX_LISTENER_H_

#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "probes/ring/unique_fd.h"

namespace railwitness::sidecar {

class UnixListener {
 public:
  struct Place {
    std::string path;
    int type = 0;         // SOCK_SEQPACKET or SOCK_STREAM
    mode_t mode = 0;      // of the socket file; its folder is made with 0755 if only it is missing
    const char* knob = "";  // the option that chooses another path, for messages
  };

  // Non-blocking. The message of an error names the path, the cause and the way out.
  static absl::StatusOr<std::unique_ptr<UnixListener>> open(const Place& place);
  ~UnixListener();  // removes the file, if it is still this one's

  int fd() const { return fd_.get(); }

  // Looks whether the file is still there and this one's; if not, makes it again. True: so it was, and fd() is a new one,
  // the old one closed. An error: as of open(); the old one still serves whoever is connected.
  absl::StatusOr<bool> mend();

 private:
  UnixListener(ring::UniqueFd fd, Place place, const struct stat& file)
      : fd_(std::move(fd)), place_(std::move(place)), file_(file) {}
  bool is_in_place() const;

  ring::UniqueFd fd_;
  Place place_;
  struct stat file_;
};

// The next waiting connection, non-blocking and closed on exec; -1 with errno if there is none.
int accept_nonblocking(int listener_fd);

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_UNIX_LISTENER_H_
