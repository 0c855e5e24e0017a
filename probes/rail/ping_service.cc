#include "probes/rail/ping_service.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "probes/rail/udp_endpoint.h"
#include "probes/rail/verbs_endpoint.h"
#include "railwitness/base/clock.h"

namespace railwitness::rail {
namespace {

constexpr size_t kMaxEndpoints = 64;
constexpr size_t kMaxAnswers = 256;
constexpr int64_t kAnswerValidNs = PingService::kWaitNs;
constexpr int64_t kReopenEveryNs = 1'000'000'000;
// How long an address may take to be found before the probe is given up.
constexpr int64_t kResolveNs = 5'000'000'000;

}  // namespace

PingService::PingService(std::string node)
    : node_(std::move(node)), epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), random_(std::random_device{}()) {}

PingService::~PingService() {
  outstanding_.clear();
  endpoints_.clear();
  worker_.reset();
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

void PingService::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);  // a closed descriptor leaves by itself
}

void PingService::open(const std::vector<std::string>& devices, const std::vector<std::string>& interfaces) {
  problems_.clear();
  std::erase_if(endpoints_, [&](const auto& entry) {
    const std::vector<std::string>& named = entry.second->kind() == model::RailKind::kVerbs ? devices : interfaces;
    return std::find(named.begin(), named.end(), entry.second->device()) == named.end();
  });
  if (!devices.empty() && !worker_) {
    worker_ = std::make_unique<AddressWorker>();
    watch(worker_->poll_fd());
  }
  for (const std::string& name : devices) {
    if (!is_open(name, model::RailKind::kVerbs)) open_device_ports(name);
  }
  for (const std::string& name : interfaces) {
    if (!is_open(name, model::RailKind::kNetdev)) keep(UdpEndpoint::open(name, next_endpoint_));
  }
  for (const auto& [id, endpoint] : endpoints_) endpoint->refresh_addresses();
}

bool PingService::is_open(const std::string& name, model::RailKind kind) const {
  return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const auto& entry) {
    return entry.second->device() == name && entry.second->kind() == kind;
  });
}

void PingService::open_device_ports(const std::string& name) {
  const absl::StatusOr<std::shared_ptr<VerbsDevice>> device = open_device(name);
  if (!device.ok()) {
    problems_.emplace_back(device.status().message());
    return;
  }
  ibv_device_attr attributes{};
  const int error = ibv_query_device((*device)->context, &attributes);
  if (error != 0) {
    problems_.emplace_back(verbs_error("query the device", name, error).message());
    return;
  }
  watch((*device)->context->async_fd);
  for (unsigned port = 1; port <= attributes.phys_port_cnt; ++port) {
    keep(VerbsEndpoint::open(*device, static_cast<uint8_t>(port), next_endpoint_, *worker_));
  }
}

void PingService::keep(absl::StatusOr<std::unique_ptr<Endpoint>> endpoint) {
  if (endpoints_.size() >= kMaxEndpoints) return;
  if (!endpoint.ok()) {
    problems_.emplace_back(endpoint.status().message());
    return;
  }
  watch((*endpoint)->poll_fd());
  endpoints_[next_endpoint_++] = *std::move(endpoint);
}

std::vector<model::PingPort> PingService::ports() const {
  std::vector<model::PingPort> ports;
  for (const auto& [id, endpoint] : endpoints_) ports.push_back(endpoint->ping_port());
  std::sort(ports.begin(), ports.end(), [](const model::PingPort& a, const model::PingPort& b) {
    return std::pair(a.device, a.port) < std::pair(b.device, b.port);
  });
  return ports;
}

Endpoint* PingService::find(uint64_t id) {
  const auto found = endpoints_.find(id);
  return found == endpoints_.end() ? nullptr : found->second.get();
}

absl::Status PingService::start(const model::PingRequest& request, int64_t now_mono_ns) {
  if (outstanding_.size() >= kMaxOutstanding) {
    return absl::ResourceExhaustedError(std::to_string(kMaxOutstanding) + " active probes are under way already");
  }
  uint64_t nonce = random_();
  while (outstanding_.contains(nonce)) nonce = random_();
  Outstanding& probe = outstanding_[nonce];
  probe.request = request;
  probe.started_mono_ns = probe.next_send_mono_ns = now_mono_ns;
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(), [&request](const auto& entry) {
    return entry.second->device() == request.device;
  });
  if (found == endpoints_.end()) {
    probe.problem = "no open device " + request.device + " to ping from";
    return absl::OkStatus();
  }
  probe.endpoint = found->first;
  const absl::StatusOr<Route> route = found->second->route(request.to);
  if (route.ok()) {
    probe.route = *route;
  } else {
    probe.problem = std::string(route.status().message());
  }
  return absl::OkStatus();
}

std::vector<model::Ping> PingService::tick(int64_t now_mono_ns) {
  for (const auto& [id, endpoint] : endpoints_) endpoint->drain_events();
  take_handles(now_mono_ns);
  receive(now_mono_ns);
  send_answers(now_mono_ns);
  std::vector<model::Ping> ended;
  for (auto& [nonce, probe] : outstanding_) {
    send_due(nonce, probe, now_mono_ns);
    if (has_ended(probe, now_mono_ns)) ended.push_back(result(probe, now_mono_ns));
  }
  std::erase_if(outstanding_, [&](const auto& entry) { return has_ended(entry.second, now_mono_ns); });
  reopen_broken(now_mono_ns);
  return ended;
}

void PingService::take_handles(int64_t now_mono_ns) {
  if (!worker_) return;
  for (AddressWorker::Result& result : worker_->take()) {
    if (Endpoint* endpoint = find(result.owner)) {
      endpoint->store(result.destination, std::move(result.handle), now_mono_ns);
    }
  }
}

void PingService::receive(int64_t now_mono_ns) {
  for (const auto& [id, endpoint] : endpoints_) {
    for (const Arrival& arrival : endpoint->poll()) {
      if (arrival.message.kind == MessageKind::kPing) {
        on_ping(*endpoint, arrival, now_mono_ns);
      } else {
        on_pong(*endpoint, arrival.message);
      }
    }
  }
}

void PingService::on_ping(Endpoint& endpoint, const Arrival& arrival, int64_t now_mono_ns) {
  if (now_mono_ns - rate_begin_mono_ns_ >= 1'000'000'000) {
    rate_begin_mono_ns_ = now_mono_ns;
    rate_count_ = 0;
  }
  const bool wanted = arrival.message.to_node == wire_name(node_);
  if (!wanted || rate_count_ >= kAnswersPerSecond || answers_.size() >= kMaxAnswers) {
    ++refused_;
    return;
  }
  ++rate_count_;
  Answer answer{endpoint.id(), arrival.answer_to, arrival.message, now_mono_ns};
  answer.message.kind = MessageKind::kPong;
  answers_.push_back(std::move(answer));
}

void PingService::on_pong(const Endpoint& endpoint, const Message& message) {
  const auto found = outstanding_.find(message.nonce);
  if (found == outstanding_.end()) return;
  Outstanding& probe = found->second;
  const uint32_t bit = message.index < kPackets ? 1u << message.index : 0;
  const bool ours = probe.endpoint == endpoint.id() && message.round == probe.request.id &&
                    message.from_node == wire_name(node_) && message.to_node == wire_name(probe.request.to_node);
  if (!ours || message.index >= probe.sent || (probe.received_mask & bit) != 0) return;
  probe.received_mask |= bit;
  const int64_t rtt_ns = std::max<int64_t>(now_mono_ns() - probe.sent_mono_ns[message.index], 0);
  probe.rtt_ns = std::min(probe.rtt_ns.value_or(rtt_ns), rtt_ns);
}

void PingService::send_answers(int64_t now_mono_ns) {
  std::deque<Answer> waiting;
  for (Answer& answer : answers_) {
    Endpoint* endpoint = find(answer.endpoint);
    if (endpoint == nullptr || now_mono_ns - answer.asked_mono_ns > kAnswerValidNs) continue;
    const Endpoint::Lookup handle = endpoint->look_up(answer.route, now_mono_ns);
    if (handle == Endpoint::Lookup::kPending) waiting.push_back(std::move(answer));
    if (handle == Endpoint::Lookup::kReady && endpoint->send(answer.route, answer.message).ok()) {
      ++answered_;
    }
  }
  answers_ = std::move(waiting);
}

void PingService::send_due(uint64_t nonce, Outstanding& probe, int64_t now_mono_ns) {
  if (!probe.problem.empty() || probe.sent == kPackets || now_mono_ns < probe.next_send_mono_ns) return;
  Endpoint* endpoint = find(probe.endpoint);
  if (endpoint == nullptr) {
    probe.problem = probe.request.device + " was closed meanwhile";
    return;
  }
  const Endpoint::Lookup handle = endpoint->look_up(probe.route, now_mono_ns);
  if (handle == Endpoint::Lookup::kPending && now_mono_ns - probe.started_mono_ns < kResolveNs) return;
  absl::Status status = absl::DeadlineExceededError("address " + probe.request.to.gid + " is still being resolved");
  if (handle == Endpoint::Lookup::kFailed) status = endpoint->lookup_problem(probe.route);
  if (handle == Endpoint::Lookup::kReady) {
    const Message message{MessageKind::kPing, probe.sent, probe.request.id, nonce, node_, probe.request.to_node};
    probe.sent_mono_ns[probe.sent] = railwitness::now_mono_ns();  // when it goes out, not when the turn began
    status = endpoint->send(probe.route, message);
  }
  if (!status.ok()) {
    probe.problem = std::string(status.message());
    return;
  }
  ++probe.sent;
  probe.next_send_mono_ns = now_mono_ns + kSpacingNs;
}

bool PingService::has_ended(const Outstanding& probe, int64_t now_mono_ns) const {
  if (!probe.problem.empty()) return true;
  if (probe.sent < kPackets) return false;
  return std::popcount(probe.received_mask) == kPackets || now_mono_ns - probe.sent_mono_ns[kPackets - 1] >= kWaitNs;
}

model::Ping PingService::result(const Outstanding& probe, int64_t now_mono_ns) const {
  model::Ping ping;
  ping.id = probe.request.id;
  ping.device = probe.request.device;
  ping.to_node = probe.request.to_node;
  ping.to_gid = probe.request.to.gid;
  ping.sent = probe.sent;
  ping.received = static_cast<uint32_t>(std::popcount(probe.received_mask));
  ping.rtt_ns = probe.rtt_ns;
  ping.mono_ns = now_mono_ns;
  ping.problem = probe.problem;
  return ping;
}

// An end that broke never works again: a new one takes its place, under another number.
void PingService::reopen_broken(int64_t now_mono_ns) {
  if (now_mono_ns - reopened_mono_ns_ < kReopenEveryNs) return;
  std::vector<uint64_t> broken;
  for (const auto& [id, endpoint] : endpoints_) {
    if (endpoint->broken()) broken.push_back(id);
  }
  if (broken.empty()) return;
  reopened_mono_ns_ = now_mono_ns;
  for (const uint64_t id : broken) {
    const std::unique_ptr<Endpoint> old = std::move(endpoints_.at(id));
    endpoints_.erase(id);
    keep(old->reopen(next_endpoint_));
  }
}

}  // namespace railwitness::rail
