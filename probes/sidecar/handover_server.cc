#include "probes/sidecar/handover_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

namespace railwitness::sidecar {
namespace {

constexpr uint64_t kListener = 0;
constexpr int kMaxAcceptsPerTurn = 64;
// Of connections, per user: a job of hundreds of processes starts at once, a flood does not go on.
constexpr double kBudgetBurst = 1024, kBudgetPerSecond = 64;
constexpr size_t kMaxBudgets = 4096;

// Nobody can push descriptors at us then, where the kernel knows it; elsewhere plain recv() drops them.
void refuse_descriptors(int fd) {
  const int no = 0;
  setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

bool add_to_epoll(int epoll_fd, int fd, uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = id;
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

// One message, with the segment's descriptor if there is one. The receiver has room for it or is not worth waiting for.
bool send_welcome(int fd, railwitness_welcome_status status, const ring::Segment* segment) {
  railwitness_welcome welcome{};
  welcome.magic = RAILWITNESS_HANDOVER_MAGIC;
  welcome.abi_major = RAILWITNESS_ABI_MAJOR;
  welcome.abi_minor = RAILWITNESS_ABI_MINOR;
  welcome.status = static_cast<uint32_t>(status);
  iovec piece{&welcome, sizeof(welcome)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (segment != nullptr) {
    welcome.segment_bytes = segment->geometry.segment_bytes;
    welcome.generation = segment->generation;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int segment_fd = segment->fd.get();
    std::memcpy(CMSG_DATA(header), &segment_fd, sizeof(segment_fd));
  }
  return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(welcome));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HandoverServer>> HandoverServer::open(const std::string& path,
                                                                     const std::string& boot_id, Seats& seats) {
  // 0666: any job of this node may ask; what it gets is its own.
  auto listener = UnixListener::open({path, SOCK_SEQPACKET, 0666, "--socket"});
  if (!listener.ok()) return listener.status();
  refuse_descriptors((*listener)->fd());
  std::unique_ptr<HandoverServer> server(new HandoverServer(*std::move(listener), boot_id, seats));
  if (!server->epoll_.is_open() || !add_to_epoll(server->epoll_.get(), server->listener_->fd(), kListener)) {
    return absl::ResourceExhaustedError("cannot watch " + path + ": " + std::strerror(errno));
  }
  return server;
}

HandoverServer::HandoverServer(std::unique_ptr<UnixListener> listener, std::string boot_id, Seats& seats)
    : listener_(std::move(listener)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      boot_id_(std::move(boot_id)),
      seats_(seats) {}

HandoverServer::Served HandoverServer::serve(int64_t now_mono_ns) {
  Served served;
  if (accept_again_mono_ns_ != 0 && now_mono_ns >= accept_again_mono_ns_) {
    accept_again_mono_ns_ = 0;
    add_to_epoll(epoll_.get(), listener_->fd(), kListener);
  }
  std::array<epoll_event, 128> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool waiting = false;
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    if (id == kListener) {
      waiting = true;
    } else {
      receive(id, served);
    }
  }
  if (waiting) accept_all(now_mono_ns);
  close_silent(now_mono_ns);
  return served;
}

void HandoverServer::accept_all(int64_t now_mono_ns) {
  for (int i = 0; i < kMaxAcceptsPerTurn; ++i) {
    ring::UniqueFd fd(accept_nonblocking(listener_->fd()));
    if (!fd.is_open()) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause_accepting(now_mono_ns);
      return;
    }
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    if (!within_budget(peer.uid, now_mono_ns)) {
      ++counters_.refused;
      continue;
    }
    refuse_descriptors(fd.get());
    make_room(peer.uid);
    const uint64_t id = next_connection_++;
    if (!add_to_epoll(epoll_.get(), fd.get(), id)) continue;
    Connection& connection = connections_[id];
    connection.fd = std::move(fd);
    connection.pid = peer.pid;
    connection.uid = peer.uid;
    connection.deadline_mono_ns = now_mono_ns + kHelloWithinNs;
  }
}

// Out of descriptors: the listener would stay readable and the loop would spin.
void HandoverServer::pause_accepting(int64_t now_mono_ns) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_->fd(), nullptr);
  accept_again_mono_ns_ = now_mono_ns + kHelloWithinNs;
}

bool HandoverServer::within_budget(uint32_t uid, int64_t now_mono_ns) {
  if (budgets_.size() >= kMaxBudgets) budgets_.clear();
  const auto [found, is_new] = budgets_.try_emplace(uid, Budget{kBudgetBurst, now_mono_ns});
  Budget& budget = found->second;
  const double seconds = static_cast<double>(now_mono_ns - budget.filled_mono_ns) / 1e9;
  budget.tokens = std::min(kBudgetBurst, budget.tokens + seconds * kBudgetPerSecond);
  budget.filled_mono_ns = now_mono_ns;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

// The longest silent one goes: an honest job says hello at once.
void HandoverServer::make_room(uint32_t uid) {
  size_t silent = 0, of_user = 0;
  auto oldest = connections_.end(), oldest_of_user = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.handed_over) continue;
    ++silent;
    if (oldest == connections_.end()) oldest = it;
    if (it->second.uid != uid) continue;
    ++of_user;
    if (oldest_of_user == connections_.end()) oldest_of_user = it;
  }
  if (of_user < kMaxSilentPerUser && silent < kMaxSilent) return;
  connections_.erase(of_user >= kMaxSilentPerUser ? oldest_of_user : oldest);
  ++counters_.crowded_out;
}

void HandoverServer::close_silent(int64_t now_mono_ns) {
  const size_t closed = std::erase_if(connections_, [now_mono_ns](const auto& entry) {
    return !entry.second.handed_over && now_mono_ns >= entry.second.deadline_mono_ns;
  });
  counters_.silent += closed;
}

void HandoverServer::receive(uint64_t id, Served& served) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // closed earlier in this turn
  Connection& connection = found->second;
  std::array<std::byte, 512> message_untrusted;
  const ssize_t got = recv(connection.fd.get(), message_untrusted.data(), message_untrusted.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (connection.handed_over) {
    // The end of the process, or a message that the protocol does not have: whoever floods us is not listened to.
    served.lost.push_back(id);
    connections_.erase(found);
    return;
  }
  if (got <= 0) {
    connections_.erase(found);
    return;
  }
  answer(id, check_hello(std::span(message_untrusted).first(static_cast<size_t>(got))), served);
}

void HandoverServer::answer(uint64_t id, const CheckedHello& hello, Served& served) {
  Connection& connection = connections_.at(id);
  railwitness_welcome_status status = hello.status;
  if (status == RAILWITNESS_WELCOME_BAD_HELLO) ++counters_.bad_hellos;
  if (status == RAILWITNESS_WELCOME_VERSION) ++counters_.other_versions;
  const bool seated = status == RAILWITNESS_WELCOME_OK && seats_.try_take(connection.uid);
  if (status == RAILWITNESS_WELCOME_OK && !seated) {
    ++counters_.refused;
    status = RAILWITNESS_WELCOME_FULL;
  }
  if (seated) {
    absl::StatusOr<ring::Segment> segment = ring::make_segment(++generation_, boot_id_);
    if (segment.ok() && send_welcome(connection.fd.get(), status, &*segment)) {
      connection.handed_over = true;
      ++counters_.handed_over;
      served.arrived.push_back({id, connection.pid, connection.uid, hello.job, *std::move(segment)});
      return;
    }
    seats_.give_back(connection.uid);
    status = RAILWITNESS_WELCOME_NO_MEMORY;
  }
  send_welcome(connection.fd.get(), status, nullptr);
  connections_.erase(id);
}

}  // namespace railwitness::sidecar
