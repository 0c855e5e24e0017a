#include "probes/sidecar/hello.h"

#include <cstring>

#include "probes/ring/untrusted.h"

namespace railwitness::sidecar {

CheckedHello check_hello(std::span<const std::byte> message_untrusted) {
  CheckedHello checked;
  railwitness_hello hello_untrusted;
  if (message_untrusted.size() < sizeof(hello_untrusted)) return checked;
  std::memcpy(&hello_untrusted, message_untrusted.data(), sizeof(hello_untrusted));
  if (hello_untrusted.magic != RAILWITNESS_HANDOVER_MAGIC) return checked;
  if (hello_untrusted.abi_major != RAILWITNESS_ABI_MAJOR) {
    checked.status = RAILWITNESS_WELCOME_VERSION;
    checked.only_asks = hello_untrusted.abi_major == RAILWITNESS_HANDOVER_ASKS;
    return checked;
  }
  if (hello_untrusted.hello_bytes != message_untrusted.size()) return checked;
  checked.job = ring::filtered_text(hello_untrusted.job, sizeof(hello_untrusted.job));
  checked.status = RAILWITNESS_WELCOME_OK;
  return checked;
}

}  // namespace railwitness::sidecar
