#include "railwitness/nccl/collnet_v11.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v11(const void* table, const char* library) {
  using V11 = Whole<CollPerComm<nccl::CollNetV11>>;
  return new (std::nothrow) V11(static_cast<const nccl::CollNetV11*>(table), library, 11);
}

}  // namespace railwitness::chain
