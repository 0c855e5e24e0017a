#include "railwitness/nccl/net_v10.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {
namespace {

class V10 final : public OnceForAll<nccl::NetV10> {
 public:
  using OnceForAll::OnceForAll;

  // The config belongs to the communicator; v11 and later get it at init.
  Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) override {
    return calls_.connect(device, &static_cast<Context*>(context)->config, handle, send_comm, device_handle);
  }
  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return calls_.reg_mr(comm, data, bytes, type, mr);
  }
  Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) override {
    return calls_.isend(send_comm, data, bytes, tag, mr, profiler, request);
  }
  Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
               void** request) override {
    return calls_.irecv(recv_comm, n, data, bytes, tags, mrs, profilers, request);
  }

 private:
  Result begin(nccl::Logger log, nccl::ProfilerCallback profiler) override {
    return plugin_->init(log, profiler ? profiler : no_profiler);
  }
};

}  // namespace

engine::Transport* net_v10(const void* table, const char* library) {
  return new (std::nothrow) V10(static_cast<const nccl::NetV10*>(table), library, 10);
}

}  // namespace railwitness::chain
