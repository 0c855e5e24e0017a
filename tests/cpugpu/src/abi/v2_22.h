// NCCL 2.22: the first release whose kernels get batches of work items. Later versions are differences from this one.
#pragma once

#include "abi.h"

namespace cpugpu::abi {

struct V2_22 {
  static constexpr const char* kName = "2.22";
  static constexpr int kFirst = 22203, kLast = 22203;
  static constexpr int kChannels = 32, kTypes = 10;
  static constexpr bool kHasPat = false, kHasAllGatherV = false, kReversesParts = true;

  static constexpr int kFifoOffset = 1;
  struct ConnFifo {
    int mode;      // kFifoOffset: the payload is at buffer + offset
    int offset;
    ssize_t size;
    void* ptr;
  };

  struct Ring { int prev, next; int* userRanks; int index; };

  struct alignas(16) Channel {
    ChannelPeer** peers;
    Ring ring;
    Tree tree;
    char others[296];  // collnet and NVLS topologies: not emulated
    uint32_t* workFifoDone;
  };

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    uint32_t* workConsumed;
    int* collNetDenseToUserRank;
    volatile uint32_t* abortFlag;
    Channel* channels;
  };

  struct alignas(16) WorkColl {
    uint32_t channelLo : 8, channelHi : 8;
    uint32_t nWarps : 8;
    uint32_t redOpArgIsPtr : 1, regUsed : 2, oneNode : 1, direct : 4;
    uint32_t root;
    char* recvbuff;
    char* sendbuff;
    size_t countLo, countMid, countHi;
    uint64_t chunkGrainsLo : 21, chunkGrainsMid : 21, chunkGrainsHi : 21;
    uint64_t redOpArg;
  };

  struct alignas(16) WorkBatch {
    uint32_t nextJump : 14, nextExtends : 1, workType : 2, funcId : 15;
    uint32_t offsetBase;
    uint64_t offsetBitset;
  };

  static constexpr size_t kCollRegPointers = 192;   // WorkCollReg is WorkColl and pointers of NVLink-registered peers
  static constexpr size_t kBcastSize = 0;           // no such work
};

static_assert(sizeof(V2_22::ConnFifo) == 24 && sizeof(V2_22::Ring) == 24 && sizeof(V2_22::Channel) == 368);
static_assert(sizeof(V2_22::Comm) == 64 && sizeof(V2_22::WorkColl) == 64 && sizeof(V2_22::WorkBatch) == 16);

}  // namespace cpugpu::abi
