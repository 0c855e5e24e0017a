// The entry layer: what the shims of all net versions call. Forwards to the transport of the process and witnesses the
// calls (witnessed.h). The functions below have the arguments of net v12, so its table and most of the others' point
// straight at them.
//
// Threads and results as in transport.h. Without a transport there are no devices, and NCCL asks for nothing else.
#ifndef RAILWITNESS_PLUGIN_ENGINE_ENGINE_H_
#define RAILWITNESS_PLUGIN_ENGINE_ENGINE_H_

#include "plugin/engine/transport.h"
#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::engine {

// Before the first init. Once per process: later calls change nothing. Null: none.
void choose_transport(Transport* transport);
Transport* transport();

// A transport whose first init fails is out of use: init succeeds all the same, and there are no devices. (NCCL 2.28.3 to
// 2.28.9 calls finalize after an init that failed.) A later init that fails, fails.
Result init(void** context, uint64_t comm_id, const CommConfig& config, nccl::Logger log,
            nccl::ProfilerCallback profiler) noexcept;
Result finalize(void* context) noexcept;

// For the versions without contexts, v6 to v10: one init and one context for each traffic class, never finalized.
// Versions before v10 know of none.
Result init_shared(nccl::Logger log, nccl::ProfilerCallback profiler) noexcept;
Result shared_context(const CommConfig& config, void** context) noexcept;

bool has_virtual_devices() noexcept;
Result devices(int* count) noexcept;
Result properties(int device, DeviceProperties* properties) noexcept;
Result make_virtual_device(int* device, const VirtualDevice& members) noexcept;

Result listen(void* context, int device, void* handle, void** listen_comm) noexcept;
Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) noexcept;
Result accept(void* listen_comm, void** recv_comm, void** device_handle) noexcept;
// What is closed already, or was never given, is kInvalidArgument.
Result close_listen(void* listen_comm) noexcept;
Result close_send(void* send_comm) noexcept;
Result close_recv(void* recv_comm) noexcept;

Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) noexcept;
Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) noexcept;
Result deregister(void* comm, void* mr) noexcept;
Result get_device_mr(void* comm, void* mr, void** device_pointer) noexcept;

Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) noexcept;
Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
             void** request) noexcept;
Result iflush(void* recv_comm, int n, void** data, int* bytes, void** mrs, void** request) noexcept;
Result test(void* request, int* done, int* bytes) noexcept;
Result irecv_consumed(void* recv_comm, int n, void* request) noexcept;

Result set_attributes(void* context, const void* attributes) noexcept;

// For tests that use one process for many transports.
void forget_transport();

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_ENGINE_H_
