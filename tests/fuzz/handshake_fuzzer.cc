// Any bytes as a connect handle, as a frame of the side channel and as a clear-to-send.
#include "plugin/ofi/handshake.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

using namespace railwitness::ofi;

void demand(bool condition) {
  if (!condition) std::abort();
}

bool is_printable(const char* text, size_t most) {
  const size_t n = strnlen(text, most + 1);
  return n <= most && std::all_of(text, text + n, [](char c) { return c >= ' ' && c <= '~'; });
}

void check_terms(const Terms& terms) {
  demand(is_printable(terms.provider, 32) && is_printable(terms.device, 16));
  if (terms.wire_version == kWireVersion) demand(terms.max_group <= 64 && terms.max_requests <= 65536);
  Terms mine{};
  mine.wire_version = kWireVersion;
  mine.max_group = kMaxReceives;
  mine.max_requests = kMaxRequests;
  const Agreement a = agree(mine, terms);
  char text[200];
  describe_refusal(a.refused, mine, terms, text, sizeof text);
  demand(is_printable(text, sizeof text - 1) && text[0]);
  demand(a.max_group <= kMaxReceives && a.max_requests <= kMaxRequests);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Terms terms;
  uint8_t handle[railwitness::nccl::kHandleBytes] = {};
  memcpy(handle, data, std::min(size, sizeof handle));
  sockaddr_storage address;
  if (read_handle(handle, &terms, &address) == Handed::kOurs) {
    demand(address.ss_family == AF_INET || address.ss_family == AF_INET6);
    if (terms.wire_version == kWireVersion) demand(terms.max_group >= 1 && terms.max_requests >= kMaxReceives);
  }
  check_terms(terms);

  uint8_t bytes[sizeof(Frame)] = {};
  memcpy(bytes, data, std::min(size, sizeof bytes));
  Frame frame;
  if (read_frame(bytes, &frame, &terms)) {
    demand(is_printable(frame.text, sizeof frame.text - 1));
    if (frame.wire_version == kWireVersion) demand(frame.name_bytes <= kMaxName);
    check_terms(terms);
  }
  ClearToSend message{};
  memcpy(&message, data, std::min(size, sizeof message));
  if (check_clear_to_send(message, size, kMaxReceives))
    demand(message.count >= 1 && message.count <= kMaxReceives && size <= sizeof message);
  return 0;
}
