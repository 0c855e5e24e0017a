// The CollNet half of the net slot (SHARP and its like), in the terms of its newest version, v12: what the shims
// translate to and what `chain` implements with the CollNet table of the plugin it opened. The other modes have none.
//
// A job has CollNet only if the library that took the net slot offers it, so a chained plugin's table must be shown, with
// that plugin's devices in their order and under their names: NCCL matches them to net devices by name.
//
// Threads and results as for Transport. A CollNet that fails costs the job CollNet, nothing else.
#ifndef RAILWITNESS_PLUGIN_ENGINE_COLLNET_H_
#define RAILWITNESS_PLUGIN_ENGINE_COLLNET_H_

#include "plugin/engine/transport.h"
#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::engine {

struct Part {  // ncclNetSGE_t as of v9
  void* mr;
  void* address;
  size_t bytes;
};

class CollNet {
 public:
  virtual const char* description() const = 0;  // in words: "CollNet of libnccl-net-spcx.so (v8)"

  // Once per communicator from v11 on, else once for all. Sets a context that is not null even when it fails.
  virtual Result init(void** context, uint64_t comm_id, nccl::Logger log) = 0;
  virtual Result finalize(void* context) = 0;
  virtual Result devices(int* count) = 0;
  virtual Result properties(int device, DeviceProperties* properties) = 0;
  virtual Result make_virtual_device(int* device, const VirtualDevice& members) = 0;
  virtual bool has_virtual_devices() const = 0;  // false: make_virtual_device is not offered to NCCL

  // `handles` has one handle of nccl::kHandleBytes a rank.
  virtual Result listen(void* context, int device, void* handle, void** listen_comm) = 0;
  virtual Result connect(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm) = 0;
  virtual Result close_coll(void* coll_comm) = 0;
  virtual Result close_listen(void* listen_comm) = 0;

  // ncclDataType_t and ncclRedOp_t as NCCL's numbers.
  virtual Result reduce_support(int data_type, int operation, int* supported) = 0;

  virtual Result register_memory(void* coll_comm, void* data, size_t bytes, int type, void** mr) = 0;
  virtual Result register_dmabuf(void* coll_comm, void* data, size_t bytes, int type, uint64_t offset, int fd,
                                 void** mr) = 0;
  virtual Result deregister(void* coll_comm, void* mr) = 0;

  virtual Result iallreduce(void* coll_comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                            void* send_mr, void* recv_mr, void** request) = 0;
  virtual bool has_gather_and_scatter() const = 0;  // false (v6, v7): the next two are not offered to NCCL
  virtual Result iallgather(void* coll_comm, void* send_data, int n, Part* recv_parts, size_t bytes_per_rank,
                            size_t window_offset, size_t window_bytes, void* send_mr, void** request) = 0;
  virtual Result ireducescatter(void* coll_comm, int n, Part* send_parts, void* recv_data, size_t bytes_per_rank,
                                size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                                void** request) = 0;
  virtual Result iflush(void* coll_comm, void* data, int bytes, void* mr, void** request) = 0;
  virtual Result test(void* request, int* done, int* bytes) = 0;

 protected:
  ~CollNet() = default;  // never destroyed
};

// Of the process; null: none. Chosen before the first init, with the transport.
void choose_collnet(CollNet* collnet);
CollNet* collnet();

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_COLLNET_H_
