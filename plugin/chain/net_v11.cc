#include "railwitness/nccl/net_v11.h"

#include "plugin/chain/downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::Transport* net_v11(const void* table, const char* library) {
  return new (std::nothrow) PerComm<nccl::NetV11>(static_cast<const nccl::NetV11*>(table), library, 11);
}

}  // namespace railwitness::chain
