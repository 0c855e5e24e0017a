#include "railwitness/nccl/collnet_v7.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v7(const void* table, const char* library) {
  using V7 = AllReduceOnly<CollOnceForAll<nccl::CollNetV7>>;
  return new (std::nothrow) V7(static_cast<const nccl::CollNetV7*>(table), library, 7);
}

}  // namespace railwitness::chain
