// Any bytes as the hello of a job.
#include <cstdlib>
#include <span>

#include "probes/sidecar/hello.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto checked = railwitness::sidecar::check_hello(std::as_bytes(std::span(data, size)));
  if (checked.job.size() > 64 || (size < sizeof(railwitness_hello) && checked.status == RAILWITNESS_WELCOME_OK)) {
    std::abort();
  }
  return 0;
}
