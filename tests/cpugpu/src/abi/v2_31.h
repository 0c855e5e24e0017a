// NCCL 2.31: phases of kernels for the profiler; offsets in shared network buffers became 64 bits wide.
#pragma once

#include "v2_30.h"

namespace cpugpu::abi {

struct V2_31 : V2_30 {
  static constexpr const char* kName = "2.31";
  static constexpr int kFirst = 23102, kLast = 23102;

  struct ConnFifo {
    int mode;
    ssize_t offset;
    ssize_t size;
    void* ptr;
  };

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    bool p2pCrossClique;
    int isAllNvlink;
    int* collNetDenseToUserRank;      // denseToUserRank
    volatile uint32_t* abortFlag;
    Channel* channels;
    int* rankToLocalRank;
    ProfilerCounters *workStarted, *workCompleted;
    void* workPhases;                 // 2.32: progressCounters
  };
};

static_assert(sizeof(V2_31::ConnFifo) == 32 && sizeof(V2_31::Comm) == 96);

}  // namespace cpugpu::abi
