#include "railwitness/nccl/net_v9.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {
namespace {

class V9 final : public OnceForAll<nccl::NetV9> {
 public:
  using OnceForAll::OnceForAll;

  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return calls_.reg_mr(comm, data, bytes, type, mr);
  }
  Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void*, void** request) override {
    return calls_.isend(send_comm, data, bytes, tag, mr, request);
  }
  Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void**,
               void** request) override {
    return calls_.irecv(recv_comm, n, data, bytes, tags, mrs, request);
  }
};

}  // namespace

engine::Transport* net_v9(const void* table, const char* library) {
  return new (std::nothrow) V9(static_cast<const nccl::NetV9*>(table), library, 9);
}

}  // namespace railwitness::chain
