#include "plugin/ofi/transfer.h"

#include "plugin/ofi/memory.h"
#include "plugin/ofi/wait.h"

#include "railwitness/base/shared_word.h"

namespace railwitness::ofi {
namespace {

void* descriptor_of(void* mr) { return mr ? static_cast<Memory*>(mr)->descriptor : nullptr; }

template <typename T>
T* take_request(Comm* comm) {
  auto* request = static_cast<T*>(comm->free_requests);
  if (!request) return nullptr;
  comm->free_requests = request->next;
  add_relaxed(comm->requests_out, 1);
  return request;
}

void give_back(Comm* comm, Request* request) {
  request->next = comm->free_requests;
  comm->free_requests = request;
  store_relaxed(comm->requests_out, comm->requests_out - 1);
}

void wait_a_little(Comm* comm) {
  look_after_peer(comm);
  note_empty_poll(comm->devices->settings.wait);
}

struct Match {
  OpenSlots* open;
  int slot;
};

// The oldest slot with this tag: NCCL's sends and receives of one tag meet in the order in which they are posted.
Match find_slot(Comm* comm, int tag) {
  const auto window = static_cast<uint32_t>(comm->max_requests);
  for (uint32_t i = 0; i < window; i++) {
    OpenSlots& open = comm->open[place_of(*comm, comm->sequence + i)];
    if (!open.is_there) break;
    for (int slot = 0; slot < open.message.count; slot++)
      if (!(open.taken & 1u << slot) && open.message.slots[slot].tag == tag) return {&open, slot};
  }
  return {nullptr, 0};
}

void take_slot(Comm* comm, const Match& match) {
  match.open->taken |= 1u << match.slot;
  for (;;) {
    OpenSlots& oldest = comm->open[comm->place];
    if (!oldest.is_there || oldest.taken != (1u << oldest.message.count) - 1) return;
    oldest.is_there = false;
    next_sequence(comm);
  }
}

bool is_finished(const Request& request) {
  if (request.is_send) return static_cast<const SendRequest&>(request).is_done;
  const auto& receive = static_cast<const ReceiveRequest&>(request);
  return receive.finished == receive.count && receive.announced == receive.count;
}

// A sequence is free again when the receive that had it is over and its message has left.
bool take_sequences(Comm* comm, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const int place = place_of(*comm, comm->sequence + i);
    if (comm->sequence_busy[place] || comm->buffers[place].is_busy) return false;
  }
  for (uint32_t i = 0; i < count; i++, next_sequence(comm)) comm->sequence_busy[comm->place] = true;
  return true;
}

}  // namespace

Result start_send(Comm* comm, void* data, size_t bytes, int tag, void* mr, void** request) {
  *request = nullptr;
  if (comm->failed != nccl::kSuccess) return comm->failed;
  Match match = find_slot(comm, tag);
  if (!match.open) {
    if (progress(comm)) note_progress();
    match = find_slot(comm, tag);
  }
  if (!match.open) {
    wait_a_little(comm);
    return comm->failed;
  }
  const ClearToSend::Slot& slot = match.open->message.slots[match.slot];
  if (bytes > slot.capacity)
    return fail(comm, nccl::kInternalError, "a send of %zu bytes with tag %d does not fit into the receive of %llu bytes; "
                "sender and receiver disagree about the operation", bytes, tag,
                static_cast<unsigned long long>(slot.capacity));
  auto* send = take_request<SendRequest>(comm);
  if (!send) return nccl::kSuccess;
  send->operation.kind = Operation::Kind::kSend;
  send->operation.request = send;
  send->is_done = false;
  send->data = data;
  send->bytes = bytes;
  send->descriptor = descriptor_of(mr);
  send->tag = wire_tag(Tagged::kData, comm->cookie, match.open->message.sequence, match.slot);
  take_slot(comm, match);
  if (comm->unposted || !push(comm, send)) {
    if (comm->failed != nccl::kSuccess) return give_back(comm, send), comm->failed;
    queue_unposted(comm, send);
  }
  note_progress();
  *request = send;
  return nccl::kSuccess;
}

Result start_receive(Comm* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** request) {
  *request = nullptr;
  if (comm->failed != nccl::kSuccess) return comm->failed;
  if (n < 1 || n > kMaxReceives)
    return fail(comm, nccl::kInternalError, "a receive of %d parts; %d is the limit that we announced", n, kMaxReceives);
  const uint32_t sequence = comm->sequence;
  if (!comm->free_requests || !take_sequences(comm, groups_of(*comm, n))) {
    progress(comm);
    return comm->failed;
  }
  auto* receive = take_request<ReceiveRequest>(comm);
  receive->count = n;
  receive->posted = receive->announced = receive->finished = 0;
  receive->sequence = sequence;
  for (int i = 0; i < n; i++) {
    ReceiveRequest::Slot& slot = receive->slots[i];
    slot.operation.kind = Operation::Kind::kReceive;
    slot.operation.index = static_cast<uint16_t>(i);
    slot.operation.request = receive;
    slot.data = data[i];
    slot.capacity = bytes[i];
    slot.received = 0;
    slot.descriptor = descriptor_of(mrs ? mrs[i] : nullptr);
    slot.tag = tags[i];
  }
  if (comm->unposted || !push(comm, receive)) {
    if (comm->failed != nccl::kSuccess) return comm->failed;  // not given back: some of its slots may be posted
    queue_unposted(comm, receive);
  }
  note_progress();
  *request = receive;
  return nccl::kSuccess;
}

Result test_request(Request* request, int* done, int* bytes) {
  *done = 0;
  Comm* comm = request->comm;
  if (!is_finished(*request)) {
    if (progress(comm)) note_progress();
    if (!is_finished(*request)) {
      if (comm->failed == nccl::kSuccess) wait_a_little(comm);
      return comm->failed;
    }
  }
  if (request->is_send) {
    if (bytes) bytes[0] = static_cast<int>(static_cast<SendRequest*>(request)->bytes);
  } else {
    auto* receive = static_cast<ReceiveRequest*>(request);
    for (int i = 0; bytes && i < receive->count; i++) bytes[i] = static_cast<int>(receive->slots[i].received);
    for (uint32_t i = 0; i < groups_of(*comm, receive->count); i++)
      comm->sequence_busy[place_of(*comm, receive->sequence + i)] = false;
  }
  give_back(comm, request);
  *done = 1;
  return nccl::kSuccess;
}

}  // namespace railwitness::ofi
