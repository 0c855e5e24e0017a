#include "railwitness/nccl/net_v7.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {
namespace {

class V7 final : public SmallTransfers<nccl::NetV7> {
 public:
  using SmallTransfers::SmallTransfers;

  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return register_small(calls_.reg_mr, comm, data, bytes, type, mr);
  }
};

}  // namespace

engine::Transport* net_v7(const void* table, const char* library) {
  return new (std::nothrow) V7(static_cast<const nccl::NetV7*>(table), library, 7);
}

}  // namespace railwitness::chain
