// A TCP connection beside libfabric's, one a connection: the handshake goes through it, then it stays open and idle. The
// kernel ends it when a process dies, which libfabric's connectionless endpoints do not tell; a peer that is silent, or
// behind a rail that swallows everything, leaves it as it is. Nothing blocks.
#ifndef RAILWITNESS_PLUGIN_OFI_SIDE_CHANNEL_H_
#define RAILWITNESS_PLUGIN_OFI_SIDE_CHANNEL_H_

#include "plugin/ofi/handshake.h"
#include "railwitness/base/status.h"

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

namespace railwitness::ofi {

constexpr socklen_t bytes_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? 16 : 28;  // sockaddr_in, sockaddr_in6
}

// "10.0.0.1:4711", "[fd00::1]:4711", or "an unknown address".
struct AddressText {
  explicit AddressText(const sockaddr_storage& address);
  char text[64];
};

// As a GID: IPv4 as ::ffff:a.b.c.d, zeros if unknown.
void write_gid(const sockaddr_storage& address, uint8_t (&gid)[16]);

class SideChannel {
 public:
  enum class Is { kGoingOn, kThere, kClosed, kFailed };  // kFailed: error() is the errno

  bool is_open() const { return fd_ >= 0; }
  int error() const { return error_; }

  // From `from`, any port: so that it takes the rail that the data takes.
  Is start_connect(const sockaddr_storage& from, const sockaddr_storage& to);
  Is finish_connect();
  void adopt(int fd);

  void queue(const Frame& frame) { queue(&frame, sizeof frame); }
  void queue(const void* bytes, size_t count);  // at most a frame; replaces what is not sent yet
  Is flush();                      // kThere: all is sent
  Is receive();                    // kThere: a frame is in bytes(); call take() before the next
  const uint8_t (&bytes() const)[sizeof(Frame)] { return in_; }
  size_t received() const { return in_bytes_; }
  void take() { in_bytes_ = 0; }

  void close();

 private:
  int fd_ = -1;
  int error_ = 0;
  size_t in_bytes_ = 0, out_bytes_ = 0, out_size_ = 0;
  uint8_t in_[sizeof(Frame)] = {};
  uint8_t out_[sizeof(Frame)] = {};
};

// Listens on `address` (port 0), and writes the port into it. < 0: -errno.
int listen_on(sockaddr_storage* address);

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_SIDE_CHANNEL_H_
