// Making and ending connections: what NCCL's service thread calls, again and again until a comm is there.
#ifndef RAILWITNESS_PLUGIN_OFI_CONNECT_H_
#define RAILWITNESS_PLUGIN_OFI_CONNECT_H_

#include "plugin/ofi/comm.h"

namespace railwitness::ofi {

Result listen(Devices* devices, void* context, int device, void* handle, void** listen_comm);
Result connect(Devices* devices, void* context, int device, void* handle, void** send_comm);
Result accept(void* listen_comm, void** recv_comm);
void close_listen(void* listen_comm);
void discard_connecting(Object* object);
int close_all(void* context);  // everything that was not closed; how many there were

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_CONNECT_H_
