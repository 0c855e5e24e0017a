#include "railwitness/nccl/collnet_v12.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {

engine::CollNet* collnet_v12(const void* table, const char* library) {
  using V12 = Whole<CollPerComm<nccl::CollNetV12>>;
  return new (std::nothrow) V12(static_cast<const nccl::CollNetV12*>(table), library, 12);
}

}  // namespace railwitness::chain
