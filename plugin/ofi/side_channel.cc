#include "plugin/ofi/side_channel.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

namespace railwitness::ofi {
namespace {

const sockaddr* plain(const sockaddr_storage& address) { return reinterpret_cast<const sockaddr*>(&address); }

int open_socket(sa_family_t family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

bool would_block(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

AddressText::AddressText(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
    snprintf(text, sizeof text, "%s:%d", host, ntohs(in.sin_port));
  } else if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof host);
    snprintf(text, sizeof text, "[%s]:%d", host, ntohs(in.sin6_port));
  } else {
    snprintf(text, sizeof text, "an unknown address");
  }
}

void write_gid(const sockaddr_storage& address, uint8_t (&gid)[16]) {
  memset(gid, 0, sizeof gid);
  if (address.ss_family == AF_INET) {
    gid[10] = gid[11] = 0xff;
    memcpy(gid + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.ss_family == AF_INET6) {
    memcpy(gid, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
}

SideChannel::Is SideChannel::start_connect(const sockaddr_storage& from, const sockaddr_storage& to) {
  fd_ = open_socket(to.ss_family);
  if (fd_ < 0) return error_ = errno, Is::kFailed;
  const int one = 1;
  setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  sockaddr_storage any_port = from;
  if (from.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(any_port).sin_port = 0;
  if (from.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(any_port).sin6_port = 0;
  if (from.ss_family == to.ss_family && bind(fd_, plain(any_port), bytes_of(any_port)) != 0)
    return error_ = errno, Is::kFailed;
  if (connect(fd_, plain(to), bytes_of(to)) == 0) return Is::kThere;
  return errno == EINPROGRESS ? Is::kGoingOn : (error_ = errno, Is::kFailed);
}

SideChannel::Is SideChannel::finish_connect() {
  pollfd p{fd_, POLLOUT, 0};
  if (poll(&p, 1, 0) <= 0) return Is::kGoingOn;
  socklen_t length = sizeof error_;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error_, &length) != 0) error_ = errno;
  return error_ ? Is::kFailed : Is::kThere;
}

void SideChannel::adopt(int fd) {
  fd_ = fd;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void SideChannel::queue(const void* bytes, size_t count) {
  memcpy(out_, bytes, count);
  out_bytes_ = 0;
  out_size_ = count;
}

SideChannel::Is SideChannel::flush() {
  while (out_bytes_ < out_size_) {
    const ssize_t n = send(fd_, out_ + out_bytes_, out_size_ - out_bytes_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return would_block(errno) ? Is::kGoingOn : (error_ = errno, Is::kFailed);
    out_bytes_ += static_cast<size_t>(n);
  }
  return Is::kThere;
}

SideChannel::Is SideChannel::receive() {
  while (in_bytes_ < sizeof in_) {
    const ssize_t n = recv(fd_, in_ + in_bytes_, sizeof in_ - in_bytes_, MSG_DONTWAIT);
    if (n == 0) return Is::kClosed;
    if (n < 0) return would_block(errno) ? Is::kGoingOn : (error_ = errno, Is::kFailed);
    in_bytes_ += static_cast<size_t>(n);
  }
  return Is::kThere;
}

void SideChannel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int listen_on(sockaddr_storage* address) {
  const int fd = open_socket(address->ss_family);
  if (fd < 0) return -errno;
  socklen_t length = bytes_of(*address);
  if (bind(fd, plain(*address), length) == 0 && listen(fd, 1024) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(address), &length) == 0)
    return fd;
  const int error = errno;
  ::close(fd);
  return -error;
}

}  // namespace railwitness::ofi
