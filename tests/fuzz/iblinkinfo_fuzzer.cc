// Any bytes are facts whose indices exist, or an error that names the file.
#include "probes/fabric/readers/iblinkinfo.h"

#include "tests/fuzz/facts_hold.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  railwitness::fuzz::read_and_hold(railwitness::fabric::read_iblinkinfo, data, size);
  return 0;
}
