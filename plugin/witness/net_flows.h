// Flows that are connections of a transport of ours, not queue pairs: the rare calls. net_hot.h has the frequent ones.
#ifndef RAILWITNESS_PLUGIN_WITNESS_NET_FLOWS_H_
#define RAILWITNESS_PLUGIN_WITNESS_NET_FLOWS_H_

#include "plugin/witness/recorder.h"

#include <cstdint>

namespace railwitness::witness {

struct NetEnds {
  uint32_t number, peer_number;    // peer's 0: not known
  uint8_t gid[16], peer_gid[16];   // zero: not known
  char device[sizeof(railwitness_rail::device)];
  uint8_t port;
};

// Null, and `counted`, as for open_flow. The rail must be known before.
Flow* open_net_flow(const NetEnds& ends, railwitness_direction direction, bool counted = false);

// For the flushes of a receiving connection: the same ends.
Flow* open_flush_flow(const Flow& receiver, bool counted = false);

// By the flow's thread, when it is in another memory than the current one. True: flow.memory is the current one, or was a
// moment ago, and the words of all records that never change are there.
bool enter_net_flow(Flow& flow);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_NET_FLOWS_H_
