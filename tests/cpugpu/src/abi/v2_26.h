// NCCL 2.26: counters of work items for the profiler. (2.26.2 has no profilerEnabled in its work items.)
#pragma once

#include "v2_25.h"

namespace cpugpu::abi {

struct V2_26 : V2_25 {
  static constexpr const char* kName = "2.26";
  static constexpr int kFirst = 22602, kLast = 22605;

  using ProfilerCounters = uint64_t;   // one a channel: the number of the latest work item

  struct alignas(16) Channel {
    ChannelPeer** peers;
    Ring ring;
    Tree tree;
    char others[288];
    uint32_t* workFifoDone;
    uint64_t workCounter;
  };

  struct Comm {
    int rank, nRanks, node, nNodes;
    int bufferSizes[kProtocols];
    int p2pChunkSize;
    int isAllNvlink;
    uint32_t* workConsumed;
    int* collNetDenseToUserRank;
    volatile uint32_t* abortFlag;
    Channel* channels;
    int* rankToLocalRank;
    ProfilerCounters *workStarted, *workCompleted;
  };
};

static_assert(sizeof(V2_26::Channel) == 368 && offsetof(V2_26::Channel, workCounter) == 352);
static_assert(sizeof(V2_26::Comm) == 96);

}  // namespace cpugpu::abi
