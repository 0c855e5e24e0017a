#include "railwitness/nccl/net_v8.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {
namespace {

class V8 final : public SmallTransfers<nccl::NetV8> {
 public:
  using SmallTransfers::SmallTransfers;

  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return calls_.reg_mr(comm, data, bytes, type, mr);
  }
};

}  // namespace

engine::Transport* net_v8(const void* table, const char* library) {
  return new (std::nothrow) V8(static_cast<const nccl::NetV8*>(table), library, 8);
}

}  // namespace railwitness::chain
