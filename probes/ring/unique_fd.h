// A file descriptor that closes itself. Move only; one owner, any thread.
#ifndef RAILWITNESS_PROBES_RING_UNIQUE_FD_H_
#define RAILWITNESS_PROBES_RING_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace railwitness::ring {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_UNIQUE_FD_H_
