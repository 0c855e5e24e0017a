// NCCL 2.28: the layouts of 2.27 (under new names: ncclKernelComm); parts of a send/recv are dealt in order.
#pragma once

#include "v2_27.h"

namespace cpugpu::abi {

struct V2_28 : V2_27 {
  static constexpr const char* kName = "2.28";
  static constexpr int kFirst = 22803, kLast = 22809;
  static constexpr bool kReversesParts = false;
};

}  // namespace cpugpu::abi
