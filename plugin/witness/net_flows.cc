#include "plugin/witness/net_flows.h"

#include "plugin/witness/recorder_state.h"

#include <cstring>

namespace railwitness::witness {
namespace {

constexpr uint8_t kOpcodeSend = 2;    // IBV_WR_SEND

// requests, opcode, flags, status: the last eight bytes of a record.
constexpr uint64_t kOneSend = 1 | uint64_t{kOpcodeSend} << 16 | uint64_t{RAILWITNESS_RECORD_SIGNALLED} << 24;
static_assert(offsetof(railwitness_record, requests) == 56 && offsetof(railwitness_record, opcode) == 58);
static_assert(offsetof(railwitness_record, flags) == 59 && offsetof(railwitness_record, status) == 60);

}  // namespace

Flow* open_net_flow(const NetEnds& ends, railwitness_direction direction, bool counted) {
  Flow* flow = open_flow(ends.number, true, counted);
  if (!flow) return nullptr;
  const FlowFacts facts{.port = &ends.port, .peer_qpn = ends.peer_number ? &ends.peer_number : nullptr,
                        .local_gid = ends.gid, .peer_gid = ends.peer_gid, .device = ends.device};
  {
    const Lock lock;
    if (!lock) return nullptr;
    railwitness_identity& identity = recorder.identities[flow->index];
    identity.kind = RAILWITNESS_FLOW_CONNECTION;
    identity.direction = static_cast<uint8_t>(direction);
    identity.role = RAILWITNESS_ROLE_DATA;
  }
  learn(*flow, facts);  // publishes
  return flow;
}

Flow* open_flush_flow(const Flow& receiver, bool counted) {
  Flow* flow = open_flow(receiver.qpn, true, counted);
  if (!flow) return nullptr;
  const Lock lock;
  if (!lock) return nullptr;
  railwitness_identity& mine = recorder.identities[flow->index];
  const railwitness_identity& its = recorder.identities[receiver.index];
  mine.kind = RAILWITNESS_FLOW_CONNECTION;
  mine.direction = RAILWITNESS_DIRECTION_RECV;
  mine.role = RAILWITNESS_ROLE_FLUSH;
  mine.rail = its.rail;
  mine.port = its.port;
  memcpy(mine.local_gid, its.local_gid, sizeof mine.local_gid);
  publish_identity(*base(), flow->index);
  return flow;
}

bool enter_net_flow(Flow& flow) {
  enter_thread();
  enter_flow(flow);
  if (!flow.memory) return false;
  if (!flow.state->first_post_ticks) store_relaxed(flow.state->first_post_ticks, ticks());
  for (uint64_t i = 0; i < kRecords; i++)
    store_word(reinterpret_cast<char*>(&flow.records[i]) + offsetof(railwitness_record, requests), kOneSend);
  return true;
}

}  // namespace railwitness::witness
