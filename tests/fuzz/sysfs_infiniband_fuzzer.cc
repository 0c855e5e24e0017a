// Any bytes are facts whose indices exist, or an error that names the file.
#include "probes/fabric/readers/sysfs_infiniband.h"

#include "tests/fuzz/facts_hold.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  railwitness::fuzz::read_and_hold(railwitness::fabric::read_sysfs_infiniband, data, size);
  return 0;
}
