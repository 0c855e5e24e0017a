#include "railwitness/nccl/collnet_v10.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v10(const void* table, const char* library) {
  using V10 = Whole<CollOnceForAll<nccl::CollNetV10>>;
  return new (std::nothrow) V10(static_cast<const nccl::CollNetV10*>(table), library, 10);
}

}  // namespace railwitness::chain
