// NCCL 2.23: PAT, buffers registered between GPUs of a node.
#pragma once

#include "v2_22.h"

namespace cpugpu::abi {

struct V2_23 : V2_22 {
  static constexpr const char* kName = "2.23";
  static constexpr int kFirst = 22304, kLast = 22304;
  static constexpr bool kHasPat = true;

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    int isAllNvlink;   // 2.23: isNvlink
    uint32_t* workConsumed;
    int* collNetDenseToUserRank;
    volatile uint32_t* abortFlag;
    Channel* channels;
    int* rankToLocalRank;
  };

  struct alignas(16) WorkColl {
    uint32_t channelLo : 8, channelHi : 8;
    uint32_t nWarps : 8;
    uint32_t redOpArgIsPtr : 1, regUsed : 2, oneNode : 1, direct : 4;
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

static_assert(sizeof(V2_23::Comm) == 80 && sizeof(V2_23::WorkColl) == 96);

}  // namespace cpugpu::abi
