// NCCL 2.32: work items of collectives without padding again; a batch names its collective beside the device function.
#pragma once

#include "v2_31.h"

namespace cpugpu::abi {

struct V2_32 : V2_31 {
  static constexpr const char* kName = "2.32";
  static constexpr int kFirst = 23203, kLast = 23203;

  using WorkColl = V2_24::WorkColl;

  struct alignas(16) WorkBatch {
    uint32_t nextJump : 14, nextExtends : 1, workType : 2, funcId : 11, function : 4;
    uint32_t offsetBase;
    uint64_t offsetBitset;
  };
};

static_assert(sizeof(V2_32::WorkBatch) == 16);

}  // namespace cpugpu::abi
