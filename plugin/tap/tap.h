// Gets between NCCL's own net_ib and libibverbs. Idempotent; called from NCCL's init threads, which NCCL serialises.
#ifndef RAILWITNESS_PLUGIN_TAP_TAP_H_
#define RAILWITNESS_PLUGIN_TAP_TAP_H_

#include "railwitness/abi/segment.h"

namespace railwitness::tap {

struct Attached {
  railwitness_attach how;  // RAILWITNESS_ATTACH_NONE: not at all
  const char* why_not;     // why the stub could not be used; null if it is used
};

// Before NCCL opens libibverbs: the stub if its name is free, else the providers' tables. `stub_path` is tap-verbs.so.
Attached attach(const char* stub_path);

// After NCCL has opened its devices: whatever the first way missed. Returns how many contexts.
int attach_late();

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_TAP_H_
