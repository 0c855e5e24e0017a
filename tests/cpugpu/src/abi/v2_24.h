// NCCL 2.24: 8-bit floating point, user buffers registered with the network for rings and trees.
#pragma once

#include "v2_23.h"

namespace cpugpu::abi {

struct V2_24 : V2_23 {
  static constexpr const char* kName = "2.24";
  static constexpr int kFirst = 22403, kLast = 22403;
  static constexpr int kTypes = 12;

  struct alignas(16) WorkColl {
    uint32_t channelLo : 8, channelHi : 8;
    uint32_t nWarps : 8;
    uint32_t redOpArgIsPtr : 1, regUsed : 1, netRegUsed : 1, oneNode : 1, direct : 2, isOneRankPerNode : 1;
    uint32_t profilerEnabled : 1;   // since 2.26.5
    uint32_t root;
    char* recvbuff;
    char* sendbuff;
    uintptr_t sendbuffOffset, recvbuffOffset;
    uintptr_t *sendbuffRmtAddrs, *recvbuffRmtAddrs;
    size_t countLo, countMid, countHi;
    uint64_t chunkGrainsLo : 21, chunkGrainsMid : 21, chunkGrainsHi : 21;
    uint64_t redOpArg;
  };
};

static_assert(sizeof(V2_24::WorkColl) == 96);

}  // namespace cpugpu::abi
