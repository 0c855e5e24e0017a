// The hello of a job, checked. Pure. include/railwitness/abi/handover.h.
#ifndef RAILWITNESS_PROBES_SIDECAR_HELLO_H_
#define RAILWITNESS_PROBES_SIDECAR_HELLO_H_

#include <cstddef>
#include <span>
#include <string>

#include "railwitness/abi/handover.h"

namespace railwitness::sidecar {

struct CheckedHello {
  railwitness_welcome_status status = RAILWITNESS_WELCOME_BAD_HELLO;
  std::string job;  // filtered
  bool only_asks = false;  // `railwitness doctor`: no job of another version
};

// Any bytes. A longer hello of a later minor is taken by its known part.
CheckedHello check_hello(std::span<const std::byte> message_untrusted);

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_HELLO_H_
