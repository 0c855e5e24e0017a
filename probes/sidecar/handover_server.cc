#include "probes/sidecar/handover_server.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "railwitness/base/clock.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
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

// Whether who connected has ended. A child that it left behind may speak for it, and its number be another's by now. An older
// kernel cannot say: then the start of the process that has the number tells (HandOver::connected_mono_ns).
bool has_ended(int fd) {
  int peer = -1;
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer, &size) != 0) return errno == ESRCH;
  const ring::UniqueFd owned(peer);
  pollfd end{peer, POLLIN, 0};
  return poll(&end, 1, 0) == 1;
}

// One message, with the segment's descriptor if there is one. The receiver has room for it or is not worth waiting for.
bool send_welcome(int fd, railwitness_welcome_status status, uint32_t part, const ring::Segment* segment) {
  railwitness_welcome welcome{};
  welcome.magic = RAILWITNESS_HANDOVER_MAGIC;
  welcome.abi_major = RAILWITNESS_ABI_MAJOR;
  welcome.abi_minor = RAILWITNESS_ABI_MINOR;
  welcome.status = static_cast<uint32_t>(status);
  welcome.part = part;
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

// The part that a job asks for; nothing: it says something else.
std::optional<uint32_t> read_request(std::span<const std::byte> message_untrusted) {
  railwitness_request request_untrusted;
  if (message_untrusted.size() < sizeof(request_untrusted)) return std::nullopt;
  std::memcpy(&request_untrusted, message_untrusted.data(), sizeof(request_untrusted));
  if (request_untrusted.magic != RAILWITNESS_REQUEST_MAGIC ||
      request_untrusted.request_bytes != message_untrusted.size()) {
    return std::nullopt;
  }
  return request_untrusted.part;
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
      receive(id, now_mono_ns, served);
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
      counters_.refused_mono_ns = now_mono_ns;
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
    connection.connected_mono_ns = read_signed_clock_ns(CLOCK_MONOTONIC);  // not `now`, which is of before
    connection.deadline_mono_ns = now_mono_ns + kHelloWithinNs;
  }
}

// Out of descriptors: the listener would stay readable and the loop would spin.
void HandoverServer::pause_accepting(int64_t now_mono_ns) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_->fd(), nullptr);
  accept_again_mono_ns_ = now_mono_ns + kHelloWithinNs;
}

bool HandoverServer::Budget::spend(double most, double per_second, int64_t now_mono_ns) {
  const double seconds = static_cast<double>(now_mono_ns - filled_mono_ns) / 1e9;
  tokens = std::min(most, tokens + seconds * per_second);
  filled_mono_ns = now_mono_ns;
  if (tokens < 1) return false;
  tokens -= 1;
  return true;
}

bool HandoverServer::within_budget(uint32_t uid, int64_t now_mono_ns) {
  if (budgets_.size() >= kMaxBudgets) budgets_.clear();
  const auto [found, is_new] = budgets_.try_emplace(uid, Budget{kBudgetBurst, now_mono_ns});
  return found->second.spend(kBudgetBurst, kBudgetPerSecond, now_mono_ns);
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

void HandoverServer::receive(uint64_t id, int64_t now_mono_ns, Served& served) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // closed earlier in this turn
  Connection& connection = found->second;
  std::array<std::byte, 512> message_untrusted;
  const ssize_t got = recv(connection.fd.get(), message_untrusted.data(), message_untrusted.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (connection.handed_over) {
    const auto bytes = static_cast<size_t>(std::max<ssize_t>(got, 0));
    const auto part_untrusted = read_request(std::span(message_untrusted).first(bytes));
    if (part_untrusted && answer_request(id, *part_untrusted, now_mono_ns, served)) return;
    // The end of the process, or a message that the protocol does not have: whoever floods us is not listened to.
    served.lost.push_back(id);
    connections_.erase(found);
    return;
  }
  if (got <= 0) {
    connections_.erase(found);
    return;
  }
  answer(id, check_hello(std::span(message_untrusted).first(static_cast<size_t>(got))), now_mono_ns, served);
}

void HandoverServer::answer(uint64_t id, const CheckedHello& hello, int64_t now_mono_ns, Served& served) {
  Connection& connection = connections_.at(id);
  railwitness_welcome_status status = hello.status;
  if (status == RAILWITNESS_WELCOME_OK && has_ended(connection.fd.get())) {
    connections_.erase(id);
    return;
  }
  if (status == RAILWITNESS_WELCOME_BAD_HELLO) ++counters_.bad_hellos;
  if (status == RAILWITNESS_WELCOME_VERSION && !hello.only_asks) {
    ++counters_.other_versions;
    counters_.other_version_mono_ns = now_mono_ns;
  }
  const bool seated = status == RAILWITNESS_WELCOME_OK && seats_.try_take(connection.uid);
  if (status == RAILWITNESS_WELCOME_OK && !seated) {
    ++counters_.refused;
    counters_.refused_mono_ns = now_mono_ns;
    status = RAILWITNESS_WELCOME_FULL;
  }
  if (seated) {
    absl::StatusOr<ring::Segment> segment = ring::make_segment(++generation_, boot_id_);
    if (segment.ok() && send_welcome(connection.fd.get(), status, 0, &*segment)) {
      connection.handed_over = true;
      connection.parts = 1;
      connection.requests = {kRequestsAtOnce, now_mono_ns};
      ++counters_.handed_over;
      served.arrived.push_back({id, connection.pid, connection.uid, hello.job, *std::move(segment),
                                connection.connected_mono_ns});
      return;
    }
    seats_.give_back(connection.uid);
    status = RAILWITNESS_WELCOME_NO_MEMORY;
  }
  send_welcome(connection.fd.get(), status, 0, nullptr);
  connections_.erase(id);
}

// False: this job asks without end, and is not listened to. A refusal costs one short message and no memory.
bool HandoverServer::answer_request(uint64_t id, uint32_t part_untrusted, int64_t now_mono_ns, Served& served) {
  Connection& connection = connections_.at(id);
  if (!connection.requests.spend(kRequestsAtOnce, kRequestsPerSecond, now_mono_ns)) return false;
  railwitness_welcome_status status = RAILWITNESS_WELCOME_FULL;
  const uint32_t next = connection.parts;
  if (part_untrusted == next && next < RAILWITNESS_PARTS && seats_.try_take_part(connection.uid, next)) {
    absl::StatusOr<ring::Segment> segment = ring::make_segment(++generation_, boot_id_, next);
    if (segment.ok() && send_welcome(connection.fd.get(), RAILWITNESS_WELCOME_OK, next, &*segment)) {
      ++connection.parts;
      ++counters_.further;
      served.further.push_back({id, connection.uid, *std::move(segment)});
      return true;
    }
    seats_.give_back_part(connection.uid, next);
    status = RAILWITNESS_WELCOME_NO_MEMORY;
  }
  ++counters_.further_refused;
  counters_.further_refused_mono_ns = now_mono_ns;
  send_welcome(connection.fd.get(), status, part_untrusted, nullptr);
  return true;
}

absl::StatusOr<bool> HandoverServer::mend() {
  const absl::StatusOr<bool> mended = listener_->mend();
  if (!mended.ok() || !*mended) return mended;
  refuse_descriptors(listener_->fd());
  accept_again_mono_ns_ = 0;
  if (!add_to_epoll(epoll_.get(), listener_->fd(), kListener)) {
    return absl::ResourceExhaustedError(std::string("cannot watch the socket for jobs: ") + std::strerror(errno));
  }
  return true;
}

}  // namespace railwitness::sidecar
