// Any bytes as /proc/PID/stat.
#include <string_view>

#include "probes/host/proc_stat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  railwitness::host::parse_proc_stat({reinterpret_cast<const char*>(data), size}).status().IgnoreError();
  return 0;
}
