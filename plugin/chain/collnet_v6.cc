#include "railwitness/nccl/collnet_v6.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v6(const void* table, const char* library) {
  using V6 = AllReduceOnly<CollOnceForAll<nccl::CollNetV6>>;
  return new (std::nothrow) V6(static_cast<const nccl::CollNetV6*>(table), library, 6);
}

}  // namespace railwitness::chain
