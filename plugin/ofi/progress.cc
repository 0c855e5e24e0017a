// What moves a connection: posting what could not be posted, reading completions.
#include "plugin/ofi/comm.h"
#include "plugin/ofi/wait.h"

#include "railwitness/base/shared_word.h"

#include <algorithm>
#include <cstring>

namespace railwitness::ofi {
namespace {

constexpr int kBatch = 16;

const char* word(const Comm& comm, int error) { return comm.devices->library.strerror(error); }

bool took(Comm* comm, ssize_t result, const char* what) {
  if (result == 0) return true;
  if (result != -FI_EAGAIN)
    fail(comm, nccl::kRemoteError, "%s fails: %s (%zd)", what, word(*comm, static_cast<int>(-result)), result);
  return false;
}

bool post_receive(Comm* comm, const ReceiveRequest& request, int index, ReceiveRequest::Slot* slot) {
  const GroupSlot at = group_slot_of(*comm, index);
  const uint64_t tag = wire_tag(Tagged::kData, comm->cookie, request.sequence + at.group, at.slot);
  return took(comm, fi_trecv(comm->endpoint, slot->data, slot->capacity, slot->descriptor, FI_ADDR_UNSPEC, tag, 0,
                             &slot->operation), "posting a receive");
}

// One clear-to-send, of the slots from `announced` on.
bool announce(Comm* comm, ReceiveRequest* request) {
  const uint32_t sequence = request->sequence + group_slot_of(*comm, request->announced).group;
  const int place = place_of(*comm, sequence);
  ClearToSendBuffer& buffer = comm->buffers[place];
  if (buffer.is_busy) return false;
  const int count = std::min(comm->max_group, request->count - request->announced);
  buffer.message.sequence = sequence;
  buffer.message.count = static_cast<uint16_t>(count);
  buffer.message.reserved = 0;
  for (int i = 0; i < count; i++) {
    const ReceiveRequest::Slot& slot = request->slots[request->announced + i];
    buffer.message.slots[i] = {slot.tag, 0, slot.capacity};
  }
  const size_t bytes = clear_to_send_bytes(count);
  const uint64_t tag = wire_tag(Tagged::kClearToSend, comm->cookie, 0, 0);
  if (bytes <= comm->device->info->tx_attr->inject_size) {
    if (!took(comm, fi_tinject(comm->endpoint, &buffer.message, bytes, comm->peer, tag), "sending a clear-to-send"))
      return false;
  } else {
    buffer.operation.kind = Operation::Kind::kClearToSendOut;
    buffer.operation.index = static_cast<uint16_t>(place);
    if (!took(comm, fi_tsend(comm->endpoint, &buffer.message, bytes, nullptr, comm->peer, tag, &buffer.operation),
              "sending a clear-to-send"))
      return false;
    buffer.is_busy = true;
  }
  request->announced += count;
  return true;
}

void take_clear_to_send(Comm* comm, ClearToSendBuffer* buffer, size_t bytes) {
  const ClearToSend& message = buffer->message;
  const auto window = static_cast<uint32_t>(comm->max_requests);
  const bool is_sound = check_clear_to_send(message, bytes, comm->max_group) && message.sequence - comm->sequence < window;
  if (!is_sound || comm->open[place_of(*comm, message.sequence)].is_there) {
    fail(comm, nccl::kRemoteError, "a clear-to-send of %zu bytes makes no sense (sequence %u, %u expected at the earliest)",
         bytes, message.sequence, comm->sequence);
    return;
  }
  OpenSlots& open = comm->open[place_of(*comm, message.sequence)];
  open.is_there = true;
  open.taken = 0;
  memcpy(&open.message, &message, bytes);
  // Room for as many as the receiver may have under way, so this one is needed again only when a slot is taken.
  took(comm, fi_trecv(comm->endpoint, &buffer->message, sizeof buffer->message, nullptr, FI_ADDR_UNSPEC,
                      wire_tag(Tagged::kClearToSend, comm->cookie, 0, 0), 0, &buffer->operation),
       "posting a receive");
}

const char* name_of(const Operation* operation) {
  if (!operation) return "an operation";
  switch (operation->kind) {
    case Operation::Kind::kSend: return "a send";
    case Operation::Kind::kReceive: return "a receive";
    default: return "a clear-to-send";
  }
}

void read_error(Comm* comm) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(comm->completions, &error, 0) < 0) return;
  const auto* operation = static_cast<const Operation*>(error.op_context);
  char text[128] = "";
  fi_cq_strerror(comm->completions, error.prov_errno, error.err_data, text, sizeof text);
  if (error.err == FI_ETRUNC && operation && operation->kind == Operation::Kind::kReceive) {
    const auto* request = static_cast<const ReceiveRequest*>(operation->request);
    fail(comm, nccl::kInternalError, "a message does not fit: slot %u of the receive takes %zu bytes, the peer sent %zu more",
         operation->index, request->slots[operation->index].capacity, error.olen);
    return;
  }
  fail(comm, nccl::kRemoteError, "%s fails: %s (%d; provider: %s, %d)", name_of(operation), word(*comm, error.err), error.err,
       text, error.prov_errno);
}

bool push_any(Comm* comm, Request* request) {
  return request->is_send ? push(comm, static_cast<SendRequest*>(request)) : push(comm, static_cast<ReceiveRequest*>(request));
}

}  // namespace

bool push(Comm* comm, SendRequest* request) {
  iovec vector{request->data, request->bytes};
  fi_msg_tagged message{};
  message.msg_iov = &vector;
  message.desc = &request->descriptor;
  message.iov_count = 1;
  message.addr = comm->peer;
  message.tag = request->tag;
  message.context = &request->operation;
  const uint64_t meaning = request->bytes > 0 ? comm->device->completion : comm->device->empty_completion;
  return took(comm, fi_tsendmsg(comm->endpoint, &message, FI_COMPLETION | meaning), "posting a send");
}

bool push(Comm* comm, ReceiveRequest* request) {
  for (; request->posted < request->count; request->posted++)
    if (!post_receive(comm, *request, request->posted, &request->slots[request->posted])) return false;
  while (request->announced < request->count)
    if (!announce(comm, request)) return false;
  return true;
}

void queue_unposted(Comm* comm, Request* request) {
  request->next = nullptr;
  *comm->unposted_end = request;
  comm->unposted_end = &request->next;
}

void complete(Comm* comm, Operation* operation, size_t bytes) {
  switch (operation->kind) {
    case Operation::Kind::kSend: static_cast<SendRequest*>(operation->request)->is_done = true; break;
    case Operation::Kind::kReceive: {
      auto* request = static_cast<ReceiveRequest*>(operation->request);
      request->slots[operation->index].received = bytes;
      request->finished++;
      break;
    }
    case Operation::Kind::kClearToSendIn: take_clear_to_send(comm, &comm->buffers[operation->index], bytes); break;
    case Operation::Kind::kClearToSendOut: comm->buffers[operation->index].is_busy = false; break;
    case Operation::Kind::kReady: comm->is_ready = true; break;
  }
}

bool progress(Comm* comm) {
  while (Request* request = comm->unposted) {
    if (!push_any(comm, request)) break;
    comm->unposted = request->next;
    if (!comm->unposted) comm->unposted_end = &comm->unposted;
  }
  bool moved = false;
  for (;;) {
    fi_cq_tagged_entry entries[kBatch];
    const ssize_t n = fi_cq_read(comm->completions, entries, kBatch);
    for (ssize_t i = 0; i < n; i++) complete(comm, static_cast<Operation*>(entries[i].op_context), entries[i].len);
    moved |= n > 0;
    if (n == kBatch) continue;
    if (n == -FI_EAVAIL)
      read_error(comm);
    else if (n < 0 && n != -FI_EAGAIN)
      fail(comm, nccl::kSystemError, "reading completions fails: %s (%zd)", word(*comm, static_cast<int>(-n)), n);
    return moved;
  }
}

}  // namespace railwitness::ofi
