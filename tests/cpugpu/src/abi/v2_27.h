// NCCL 2.27: the profiler's counters became rings with time stamps.
#pragma once

#include "v2_26.h"

namespace cpugpu::abi {

struct V2_27 : V2_26 {
  static constexpr const char* kName = "2.27";
  static constexpr int kFirst = 22703, kLast = 22707;

  struct ProfilerCounters {   // one a channel
    struct { uint64_t counter, timestamp; } slots[kProfilerSlots];
  };

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    int isAllNvlink;
    int* collNetDenseToUserRank;
    volatile uint32_t* abortFlag;
    Channel* channels;
    int* rankToLocalRank;
    ProfilerCounters *workStarted, *workCompleted;
  };
};

static_assert(sizeof(V2_27::ProfilerCounters) == 1024 && sizeof(V2_27::Comm) == 88);

}  // namespace cpugpu::abi
