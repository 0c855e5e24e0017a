// NCCL 2.29: all-gather with different sizes, as a work type of its own.
#pragma once

#include "v2_28.h"

namespace cpugpu::abi {

struct V2_29 : V2_28 {
  static constexpr const char* kName = "2.29";
  static constexpr int kFirst = 22902, kLast = 22907;
  static constexpr bool kHasAllGatherV = true;
  static constexpr size_t kBcastSize = 48;

  struct Ring { int prev, next; int *userRanks, *rankToIndex; int index; };

  struct alignas(16) Channel {
    ChannelPeer** peers;
    Ring ring;
    Tree tree;
    char others[288];
    uint32_t* workFifoDone;
    uint64_t workCounter;
  };
};

static_assert(sizeof(V2_29::Ring) == 32 && sizeof(V2_29::Channel) == 368);
static_assert(offsetof(V2_29::Channel, workCounter) == 360);

}  // namespace cpugpu::abi
