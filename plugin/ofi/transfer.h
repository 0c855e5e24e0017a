// isend, irecv, test: what NCCL's progress thread calls. No lock of ours, no allocation, no log unless something failed;
// system calls are libfabric's own, except one look at the side channel every 20 ms while something is awaited.
#ifndef RAILWITNESS_PLUGIN_OFI_TRANSFER_H_
#define RAILWITNESS_PLUGIN_OFI_TRANSFER_H_

#include "plugin/ofi/comm.h"

namespace railwitness::ofi {

Result start_send(Comm* comm, void* data, size_t bytes, int tag, void* mr, void** request);
Result start_receive(Comm* comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** request);
Result test_request(Request* request, int* done, int* bytes);

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_TRANSFER_H_
