// What the CollNet versions translate. Where the transport's plugin has no CollNet there are no devices: NCCL then does
// without it, as it would with a library that shows no CollNet table.
#ifndef RAILWITNESS_PLUGIN_SHIM_COLLNET_CALLS_H_
#define RAILWITNESS_PLUGIN_SHIM_COLLNET_CALLS_H_

#include "plugin/engine/collnet.h"
#include "plugin/shim/convert.h"
#include "plugin/shim/start.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::shim {

using engine::collnet;
using nccl::Result;

// NCCL starts CollNet after the net of the same library. A first init that fails costs CollNet only: no devices.
Result coll_init(void** context, uint64_t comm_id, nccl::Logger log) noexcept;
Result coll_init_shared(nccl::Logger log) noexcept;  // v6 to v10: once for all
Result coll_finalize(void* context) noexcept;
Result coll_devices(int* count) noexcept;
Result coll_listen_shared(int device, void* handle, void** listen_comm) noexcept;
bool has_collnet() noexcept;

inline Result coll_listen(void* context, int device, void* handle, void** listen_comm) noexcept {
  return has_collnet() ? collnet()->listen(context, device, handle, listen_comm) : nccl::kInternalError;
}

template <typename Properties>
Result coll_properties(int device, Properties* properties) noexcept {
  engine::DeviceProperties ours{};
  if (!has_collnet()) return nccl::kInternalError;
  const Result result = collnet()->properties(device, &ours);
  if (result == nccl::kSuccess) set_properties(ours, *properties);
  return result;
}

inline Result coll_connect(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm) noexcept {
  return collnet()->connect(handles, ranks, rank, listen_comm, coll_comm);
}
inline Result coll_reduce_support(int data_type, int operation, int* supported) noexcept {
  return collnet()->reduce_support(data_type, operation, supported);
}
inline Result coll_reg_mr(void* comm, void* data, size_t bytes, int type, void** mr) noexcept {
  return collnet()->register_memory(comm, data, bytes, type, mr);
}
inline Result coll_reg_mr_small(void* comm, void* data, int bytes, int type, void** mr) noexcept {
  return bytes < 0 ? nccl::kInternalError : coll_reg_mr(comm, data, static_cast<size_t>(bytes), type, mr);
}
inline Result coll_reg_mr_dma_buf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd,
                                  void** mr) noexcept {
  return collnet()->register_dmabuf(comm, data, bytes, type, offset, fd, mr);
}
inline Result coll_dereg_mr(void* comm, void* mr) noexcept { return collnet()->deregister(comm, mr); }

inline Result coll_iallreduce(void* comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                              void* send_mr, void* recv_mr, void** request) noexcept {
  return collnet()->iallreduce(comm, send_data, recv_data, count, data_type, operation, send_mr, recv_mr, request);
}
inline Result coll_iallreduce_small(void* comm, void* send_data, void* recv_data, int count, int data_type, int operation,
                                    void* send_mr, void* recv_mr, void** request) noexcept {
  return coll_iallreduce(comm, send_data, recv_data, static_cast<size_t>(count), data_type, operation, send_mr, recv_mr,
                         request);
}

// `Sge` of the version to the engine's parts.
struct Parts {
  engine::Part part[engine::kMaxGroup];

  template <typename Sge>
  bool take(const Sge* from, int n) {
    if (n < 0 || n > engine::kMaxGroup) return false;
    for (int i = 0; i < n; i++) part[i] = {from[i].mr, from[i].address, from[i].bytes};
    return true;
  }
};

template <typename Sge>
Result coll_iallgather(void* comm, void* send_data, int n, Sge* from, size_t bytes_per_rank, size_t window_offset,
                       size_t window_bytes, void* send_mr, void** request) noexcept {
  Parts to;
  if (!to.take(from, n)) return nccl::kInternalError;
  return collnet()->iallgather(comm, send_data, n, to.part, bytes_per_rank, window_offset, window_bytes, send_mr,
                               request);
}

template <typename Sge>
Result coll_ireducescatter(void* comm, int n, Sge* from, void* recv_data, size_t bytes_per_rank, size_t window_offset,
                           size_t window_bytes, int data_type, int operation, void* recv_mr, void** request) noexcept {
  Parts to;
  if (!to.take(from, n)) return nccl::kInternalError;
  return collnet()->ireducescatter(comm, n, to.part, recv_data, bytes_per_rank, window_offset, window_bytes, data_type,
                                   operation, recv_mr, request);
}

inline Result coll_iflush(void* comm, void* data, int bytes, void* mr, void** request) noexcept {
  return collnet()->iflush(comm, data, bytes, mr, request);
}
inline Result coll_test(void* request, int* done, int* bytes) noexcept {
  return collnet()->test(request, done, bytes);
}
inline Result coll_close(void* comm) noexcept { return collnet()->close_coll(comm); }
inline Result coll_close_listen(void* listen_comm) noexcept { return collnet()->close_listen(listen_comm); }

template <typename Members>
Result coll_make_v_device(int* device, Members* members) noexcept {
  return collnet()->make_virtual_device(device, virtual_device(*members));
}

// What a plugin may lack is offered only if it is there; NCCL reads the table after init.
template <typename Table>
void offer_optional(Table& table) {
  table.iallgather = nullptr;
  table.ireducescatter = nullptr;
  if (has_collnet() && collnet()->has_gather_and_scatter()) {
    table.iallgather = coll_iallgather;
    table.ireducescatter = coll_ireducescatter;
  }
  if constexpr (requires { table.make_v_device; }) {
    table.make_v_device = nullptr;
    if (has_collnet() && collnet()->has_virtual_devices()) table.make_v_device = coll_make_v_device;
  }
}

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_COLLNET_CALLS_H_
