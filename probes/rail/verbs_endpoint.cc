#include "probes/rail/verbs_endpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/model/words.h"

namespace railwitness::rail {
namespace {

constexpr uint32_t kQueueKey = 0x11111111;
constexpr uint32_t kReceiveSlots = 64;
constexpr uint32_t kSendSlots = 64;
constexpr uint32_t kHeaderBytes = 40;  // GRH or what stands in its place
// A datagram larger than its buffer puts the queue pair into error, and anybody on the fabric may send one: room for
// the largest there is.
constexpr uint32_t kSlotBytes = kHeaderBytes + 4096;
constexpr int64_t kHandleValidNs = 60'000'000'000;  // the peer's MAC may move to another card
constexpr int64_t kFailureValidNs = 2'000'000'000;
constexpr int64_t kPendingValidNs = 10'000'000'000;
constexpr size_t kMaxKnown = 512;

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> VerbsEndpoint::open(std::shared_ptr<VerbsDevice> device, uint8_t port,
                                                              uint64_t id, AddressWorker& worker) {
  std::unique_ptr<VerbsEndpoint> endpoint(new VerbsEndpoint(std::move(device), port, id, worker));
  absl::Status status = endpoint->make_objects();
  if (status.ok()) status = endpoint->make_ready();
  if (!status.ok()) return status;
  endpoint->refresh_addresses();
  return endpoint;
}

absl::Status VerbsEndpoint::make_objects() {
  ibv_context* context = device_->context;
  buffer_.resize(size_t{kReceiveSlots + kSendSlots} * kSlotBytes);
  region_.reset(ibv_reg_mr(device_->domain, buffer_.data(), buffer_.size(), IBV_ACCESS_LOCAL_WRITE));
  if (!region_) return verbs_error("register memory", device_->name, errno);
  channel_.reset(ibv_create_comp_channel(context));
  if (!channel_) return verbs_error("make a completion channel", device_->name, errno);
  set_nonblocking(channel_->fd);
  queue_.reset(ibv_create_cq(context, kReceiveSlots + kSendSlots, nullptr, channel_.get(), 0));
  if (!queue_) return verbs_error("make a completion queue", device_->name, errno);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue_.get();
  attributes.qp_type = IBV_QPT_UD;
  attributes.sq_sig_all = 1;
  attributes.cap.max_send_wr = kSendSlots;
  attributes.cap.max_recv_wr = kReceiveSlots;
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  pair_.reset(ibv_create_qp(device_->domain, &attributes));
  if (!pair_) return verbs_error("make a queue pair", device_->name, errno);
  if (ibv_req_notify_cq(queue_.get(), 0) != 0) return verbs_error("arm the completion queue", device_->name, errno);
  return absl::OkStatus();
}

absl::Status VerbsEndpoint::make_ready() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_;
  attributes.qkey = kQueueKey;
  int error = ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  if (error != 0) return verbs_error("initialise the queue pair", device_->name, error);
  for (uint32_t slot = 0; slot < kReceiveSlots; ++slot) {
    const absl::Status status = post_receive(slot);
    if (!status.ok()) return status;
  }
  attributes.qp_state = IBV_QPS_RTR;
  error = ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE);
  if (error != 0) return verbs_error("make the queue pair ready to receive", device_->name, error);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0;
  error = ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (error != 0) return verbs_error("make the queue pair ready to send", device_->name, error);
  for (uint32_t slot = 0; slot < kSendSlots; ++slot) free_send_slots_.push_back(kReceiveSlots + slot);
  return absl::OkStatus();
}

std::span<std::byte> VerbsEndpoint::slot_bytes(uint32_t slot) {
  return std::span(buffer_).subspan(size_t{slot} * kSlotBytes, kSlotBytes);
}

absl::Status VerbsEndpoint::post_receive(uint32_t slot) {
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uintptr_t>(slot_bytes(slot).data());
  piece.length = kSlotBytes;
  piece.lkey = region_->lkey;
  ibv_recv_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(pair_.get(), &request, &refused);
  return error == 0 ? absl::OkStatus() : verbs_error("post a receive", device_->name, error);
}

void VerbsEndpoint::refresh_addresses() {
  ibv_port_attr attributes{};
  if (ibv_query_port(device_->context, port_, &attributes) == 0) {
    infiniband_ = attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
    lid_ = attributes.lid;
  }
  std::vector<ibv_gid_entry> entries(512);  // the tables of all ports of the device
  const ssize_t count = ibv_query_gid_table(device_->context, entries.data(), entries.size(), 0);
  gids_.clear();
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    if (entry.port_num != port_ || entry.gid_index > UINT8_MAX) continue;
    LocalGid& local = gids_.emplace_back();
    std::memcpy(local.gid.data(), entry.gid.raw, local.gid.size());
    local.index = static_cast<uint8_t>(entry.gid_index);
    local.usable = entry.gid_type == IBV_GID_TYPE_IB || entry.gid_type == IBV_GID_TYPE_ROCE_V2;
  }
  if (const auto own = infiniband_ && !gids_.empty() ? std::optional(gids_.front().gid) : choose_own(gids_)) {
    own_gid_ = *own;
  }
}

model::PingPort VerbsEndpoint::ping_port() const {
  model::PingPort port;
  port.device = device_->name;
  port.port = port_;
  if (own_gid_ != Gid{}) port.gid = model::gid_text(own_gid_);
  port.lid = lid_;
  port.qpn = pair_->qp_num;
  return port;
}

absl::StatusOr<Route> VerbsEndpoint::route(const model::PingPort& to) const {
  if (to.qpn == 0) return absl::InvalidArgumentError("the peer answers probes there, but not at a queue pair");
  Route route;
  route.number = to.qpn;
  Destination& destination = route.destination;
  destination.port = port_;
  destination.lid = to.lid;
  const std::optional<Gid> gid = parse_gid(to.gid);
  if (gid) destination.gid = *gid;
  if (infiniband_) {
    if (to.lid == 0) return absl::InvalidArgumentError("the peer's port has no lid");
    destination.global = gid.has_value();
    return route;
  }
  if (!gid) return absl::InvalidArgumentError("the peer's port has no address");
  const std::optional<uint8_t> source = choose_source(gids_, *gid);
  if (!source) {
    return absl::UnavailableError(device_->name + " has no RoCE v2 address of the family of " + to.gid);
  }
  destination.source_index = *source;
  destination.lid = 0;
  return route;
}

absl::StatusOr<std::unique_ptr<Endpoint>> VerbsEndpoint::reopen(uint64_t id) const {
  return open(device_, port_, id, worker_);
}

// Port states come from sysfs; here the events are only taken.
void VerbsEndpoint::drain_events() {
  ibv_async_event event{};
  for (int i = 0; i < 64 && ibv_get_async_event(device_->context, &event) == 0; ++i) {
    if (event.event_type == IBV_EVENT_GID_CHANGE || event.event_type == IBV_EVENT_PORT_ACTIVE) refresh_addresses();
    ibv_ack_async_event(&event);
  }
}

void VerbsEndpoint::consume_events() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  unsigned count = 0;
  while (count < 64 && ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ++count;
  if (count == 0) return;
  ibv_ack_cq_events(queue_.get(), count);
  if (ibv_req_notify_cq(queue_.get(), 0) != 0) broken_ = true;
}

std::vector<Arrival> VerbsEndpoint::poll() {
  std::vector<Arrival> arrivals;
  consume_events();  // armed before polling, so that nothing that comes in between is slept over
  ibv_wc completions[16];
  for (int round = 0; round < 8; ++round) {  // the rest waits for the next turn of the loop
    const int count = ibv_poll_cq(queue_.get(), 16, completions);
    if (count < 0) broken_ = true;
    if (count <= 0) break;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[i];
      if (completion.status != IBV_WC_SUCCESS) {
        broken_ = true;
      } else if (completion.wr_id < kReceiveSlots) {
        take_receive(completion, arrivals);
      }
      if (completion.wr_id >= kReceiveSlots) free_send_slots_.push_back(static_cast<uint32_t>(completion.wr_id));
    }
  }
  return arrivals;
}

void VerbsEndpoint::take_receive(const ibv_wc& completion, std::vector<Arrival>& arrivals) {
  const auto slot = static_cast<uint32_t>(completion.wr_id);
  const std::span<std::byte> bytes = slot_bytes(slot).first(std::min(completion.byte_len, kSlotBytes));
  std::optional<Message> message;
  if (bytes.size() >= kHeaderBytes) message = parse_message(bytes.subspan(kHeaderBytes));
  if (message) {
    Arrival arrival;
    arrival.message = *std::move(message);
    arrival.answer_to.number = completion.src_qp;
    Destination& from = arrival.answer_to.destination;
    from.port = port_;
    from.lid = infiniband_ ? completion.slid : uint16_t{0};
    from.global = (completion.wc_flags & IBV_WC_GRH) != 0;
    if (!from.global) {
      if (infiniband_) arrivals.push_back(std::move(arrival));
    } else if (const auto addresses = parse_datagram_header(bytes.first(kHeaderBytes))) {
      const std::optional<uint8_t> source = infiniband_ ? std::optional<uint8_t>(0) : choose_source(gids_, addresses->source);
      from.gid = addresses->source;
      from.source_index = source.value_or(0);
      if (source) arrivals.push_back(std::move(arrival));
    }
  }
  if (!post_receive(slot).ok()) broken_ = true;
}

Endpoint::Lookup VerbsEndpoint::look_up(const Route& route, int64_t now_mono_ns) {
  const Destination& destination = route.destination;
  const auto found = known_.find(destination);
  if (found != known_.end()) {
    const Known& known = found->second;
    if (known.pending && now_mono_ns - known.asked_mono_ns < kPendingValidNs) return Lookup::kPending;
    if (known.handle && now_mono_ns - known.made_mono_ns < kHandleValidNs) return Lookup::kReady;
    if (!known.pending && !known.handle && now_mono_ns - known.made_mono_ns < kFailureValidNs) return Lookup::kFailed;
    known_.erase(found);
  }
  if (known_.size() >= kMaxKnown) {
    std::erase_if(known_, [](const auto& entry) { return !entry.second.pending; });
  }
  if (known_.size() >= kMaxKnown || !worker_.try_submit(id(), device_, destination)) return Lookup::kFailed;
  known_[destination].asked_mono_ns = now_mono_ns;
  return Lookup::kPending;
}

absl::Status VerbsEndpoint::lookup_problem(const Route& route) const {
  const auto found = known_.find(route.destination);
  if (found == known_.end()) return absl::ResourceExhaustedError("too many addresses are being resolved");
  return found->second.problem;
}

void VerbsEndpoint::store(const Destination& destination, absl::StatusOr<std::shared_ptr<AddressHandle>> handle,
                     int64_t now_mono_ns) {
  const auto found = known_.find(destination);
  if (found == known_.end()) return;
  found->second.pending = false;
  found->second.made_mono_ns = now_mono_ns;
  found->second.problem = handle.status();
  if (handle.ok()) found->second.handle = *std::move(handle);
}

absl::Status VerbsEndpoint::send(const Route& route, const Message& message) {
  const auto found = known_.find(route.destination);
  if (found == known_.end() || !found->second.handle) return absl::FailedPreconditionError("no address handle");
  if (free_send_slots_.empty()) return absl::ResourceExhaustedError(device_->name + ": all send buffers are in use");
  const uint32_t slot = free_send_slots_.back();
  const auto bytes = encode_message(message);
  std::memcpy(slot_bytes(slot).data(), bytes.data(), bytes.size());
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uintptr_t>(slot_bytes(slot).data());
  piece.length = static_cast<uint32_t>(bytes.size());
  piece.lkey = region_->lkey;
  ibv_send_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.wr.ud.ah = found->second.handle->get();
  request.wr.ud.remote_qpn = route.number;
  request.wr.ud.remote_qkey = kQueueKey;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_.get(), &request, &refused);
  if (error != 0) return verbs_error("send a datagram", device_->name, error);
  free_send_slots_.pop_back();
  return absl::OkStatus();
}

}  // namespace railwitness::rail
