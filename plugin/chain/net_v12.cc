#include "railwitness/nccl/net_v12.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::Transport* net_v12(const void* table, const char* library) {
  return new (std::nothrow) PerComm<nccl::NetV12>(static_cast<const nccl::NetV12*>(table), library, 12);
}

}  // namespace railwitness::chain
