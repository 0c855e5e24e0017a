// NCCL 2.25: 64 channels; the NVLS topology lost two members.
#pragma once

#include "v2_24.h"

namespace cpugpu::abi {

struct V2_25 : V2_24 {
  static constexpr const char* kName = "2.25";
  static constexpr int kFirst = 22501, kLast = 22501;
  static constexpr int kChannels = 64;

  struct alignas(16) Channel {
    ChannelPeer** peers;
    Ring ring;
    Tree tree;
    char others[288];
    uint32_t* workFifoDone;
  };
};

static_assert(sizeof(V2_25::Channel) == 352);

}  // namespace cpugpu::abi
