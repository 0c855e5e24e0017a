// v5 and v6: no device handles. v5 has no DMA-BUF either.
#include "railwitness/nccl/net_v6.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"
#include "railwitness/nccl/net_v5.h"

#include <new>

namespace railwitness::chain {
namespace {

template <typename Net>
class HostOnly final : public SmallTransfers<Net> {
 public:
  using SmallTransfers<Net>::SmallTransfers;

  Result connect(void*, int device, void* handle, void** send_comm, void**) override {
    return this->calls_.connect(device, handle, send_comm);
  }
  Result accept(void* listen_comm, void** recv_comm, void**) override {
    return this->calls_.accept(listen_comm, recv_comm);
  }
  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return register_small(this->calls_.reg_mr, comm, data, bytes, type, mr);
  }
};

}  // namespace

engine::Transport* net_v5(const void* table, const char* library) {
  return new (std::nothrow) HostOnly<nccl::NetV5>(static_cast<const nccl::NetV5*>(table), library, 5);
}

engine::Transport* net_v6(const void* table, const char* library) {
  return new (std::nothrow) HostOnly<nccl::NetV6>(static_cast<const nccl::NetV6*>(table), library, 6);
}

}  // namespace railwitness::chain
