// NCCL 2.30: work items of collectives are padded to 128 bytes.
#pragma once

#include "v2_29.h"

namespace cpugpu::abi {

struct V2_30 : V2_29 {
  static constexpr const char* kName = "2.30";
  static constexpr int kFirst = 23003, kLast = 23007;

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    bool p2pCrossClique;
    int isAllNvlink;
    int* collNetDenseToUserRank;
    volatile uint32_t* abortFlag;
    Channel* channels;
    int* rankToLocalRank;
    ProfilerCounters *workStarted, *workCompleted;
  };

  struct alignas(16) WorkColl {
    uint32_t channelLo : 8, channelHi : 8;
    uint32_t nWarps : 8;
    uint32_t redOpArgIsPtr : 1, regUsed : 1, netRegUsed : 1, oneNode : 1, direct : 2, isOneRankPerNode : 1;
    uint32_t profilerEnabled : 1;
    uint32_t root;
    uint8_t pad1[12];
    char* recvbuff;
    char* sendbuff;
    uint64_t pad0;
    uintptr_t sendbuffOffset, recvbuffOffset;
    uintptr_t *sendbuffRmtAddrs, *recvbuffRmtAddrs;
    size_t countLo, countMid, countHi;
    uint64_t chunkGrainsLo : 21, chunkGrainsMid : 21, chunkGrainsHi : 21;
    uint64_t redOpArg;
    uint8_t pad2[8];
  };
};

static_assert(sizeof(V2_30::Comm) == 88 && sizeof(V2_30::WorkColl) == 128);

}  // namespace cpugpu::abi
