#include "probes/sidecar/control_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace railwitness::sidecar {
namespace {

bool add_to_epoll(int epoll_fd, int fd, uint32_t events, uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::open(const std::string& path) {
  auto listener = UnixListener::open({path, SOCK_STREAM, 0660, "--control-socket"});
  if (!listener.ok()) return listener.status();
  std::unique_ptr<ControlServer> server(new ControlServer(*std::move(listener)));
  if (!server->epoll_.is_open() || !add_to_epoll(server->epoll_.get(), server->listener_->fd(), EPOLLIN, 0)) {
    return absl::ResourceExhaustedError("cannot watch " + path + ": " + std::strerror(errno));
  }
  return server;
}

ControlServer::ControlServer(std::unique_ptr<UnixListener> listener)
    : listener_(std::move(listener)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void ControlServer::serve(int64_t now_mono_ns, const std::function<Text()>& text) {
  if (accept_again_mono_ns_ != 0 && now_mono_ns >= accept_again_mono_ns_) {
    accept_again_mono_ns_ = 0;
    add_to_epoll(epoll_.get(), listener_->fd(), EPOLLIN, 0);
  }
  std::array<epoll_event, kMaxClients + 1> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    const auto client = clients_.find(id);
    if (id == 0) {
      accept_all(now_mono_ns, text);
    } else if (client != clients_.end() && finished(client->second)) {
      clients_.erase(client);
    }
  }
  std::erase_if(clients_, [now_mono_ns](const auto& entry) { return now_mono_ns >= entry.second.deadline_mono_ns; });
}

absl::StatusOr<bool> ControlServer::mend() {
  const absl::StatusOr<bool> mended = listener_->mend();
  if (!mended.ok() || !*mended) return mended;
  accept_again_mono_ns_ = 0;
  if (!add_to_epoll(epoll_.get(), listener_->fd(), EPOLLIN, 0)) {
    return absl::ResourceExhaustedError(std::string("cannot watch the control socket: ") + std::strerror(errno));
  }
  return true;
}

// Out of descriptors: the listener would stay readable and the loop would spin.
void ControlServer::pause_accepting(int64_t now_mono_ns) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_->fd(), nullptr);
  accept_again_mono_ns_ = now_mono_ns + kPauseNs;
}

void ControlServer::accept_all(int64_t now_mono_ns, const std::function<Text()>& text) {
  Text shared;
  for (size_t i = 0; i < 2 * kMaxClients; ++i) {
    ring::UniqueFd fd(accept_nonblocking(listener_->fd()));
    if (!fd.is_open()) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause_accepting(now_mono_ns);
      return;
    }
    if (clients_.size() >= kMaxClients) continue;  // closed unanswered: ask again
    if (!shared) shared = text();
    Client client{std::move(fd), shared, 0, now_mono_ns + kDeadlineNs};
    if (finished(client)) continue;
    const uint64_t id = next_client_++;
    if (add_to_epoll(epoll_.get(), client.fd.get(), EPOLLOUT, id)) clients_[id] = std::move(client);
  }
}

bool ControlServer::finished(Client& client) {
  while (client.sent < client.text->size()) {
    const ssize_t done = send(client.fd.get(), client.text->data() + client.sent, client.text->size() - client.sent,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
    client.sent += static_cast<size_t>(done);
  }
  return true;
}

}  // namespace railwitness::sidecar
