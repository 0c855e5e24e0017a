#include "railwitness/nccl/collnet_v9.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v9(const void* table, const char* library) {
  using V9 = Whole<CollOnceForAll<nccl::CollNetV9>>;
  return new (std::nothrow) V9(static_cast<const nccl::CollNetV9*>(table), library, 9);
}

}  // namespace railwitness::chain
