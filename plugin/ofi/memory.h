// Registrations. Most software providers need none (no FI_MR_LOCAL): then a registration is a record of ours, which
// exists because NCCL takes a null handle for a failure. Where libfabric wants one, each has a key of its own: providers of
// 1.17 refuse the second registration with the same key.
#ifndef RAILWITNESS_PLUGIN_OFI_MEMORY_H_
#define RAILWITNESS_PLUGIN_OFI_MEMORY_H_

#include "plugin/ofi/comm.h"

#include <cstdint>

namespace railwitness::ofi {

struct Memory {
  uint64_t key;
  fid_mr* registered;  // null: libfabric needs none
  void* descriptor;    // what goes with every operation on it
  Memory* next;        // in the comm's list
  bool is_dropped;     // deregistered by NCCL with requests under way; kept until the endpoint is closed
};

// `always`: also where the provider does not ask for it; for tests.
Result add_memory(Comm* comm, void* data, size_t bytes, Memory** memory, bool always = false);
void drop_memory(Comm* comm, Memory* memory);
void forget_memory(Comm* comm);  // all that is left; the endpoint is closed

uint64_t memory_in_use();  // registrations of this process

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_MEMORY_H_
