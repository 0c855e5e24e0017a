// The recorder: every line of the process' segment is written here or in hot.h. One per process, constant-initialised.
//
// Any thread may call, at any time after start(); calls are serialised by one mutex, held for microseconds, longest when
// a flow takes its lines along (8.5 KiB). No call prints, throws or waits for another process.
//
// After fork(2): the child has no helper thread and may have inherited a locked mutex, so in a child every call returns at
// once. Posts and polls of a child on its parent's contexts count into pages of its own, which nobody reads: a handler of
// pthread_atfork puts them where the parent's lie. A child of a bare clone(2), which runs no such handlers, would count into
// the parent's lines. A child that wants its own witness execs.
#ifndef RAILWITNESS_PLUGIN_WITNESS_RECORDER_H_
#define RAILWITNESS_PLUGIN_WITNESS_RECORDER_H_

#include "plugin/witness/hot.h"
#include "plugin/witness/memory.h"
#include "railwitness/abi/segment.h"
#include "railwitness/base/status.h"

#include <cstdint>

namespace railwitness::witness {

inline constexpr uint32_t kNoRail = ~0u;

struct ControlEvent {
  railwitness_control_kind kind;
  uint32_t rail = kNoRail;
  uint32_t qpn = 0;
  uint64_t value[3] = {0, 0, 0};
};

// What is learnt about a queue pair over time; a null member was not learnt.
struct FlowFacts {
  const uint8_t* port = nullptr;
  const uint32_t* peer_qpn = nullptr;
  const uint8_t* local_gid = nullptr;  // 16 bytes
  const uint8_t* peer_gid = nullptr;   // 16 bytes
  const uint16_t* peer_lid = nullptr;
  const uint8_t* qp_state = nullptr;
  const uint8_t* timeout = nullptr;
  const uint8_t* retry_count = nullptr;
  const uint8_t* path_mtu = nullptr;
  const char* device = nullptr;  // with `port`: finds the rail
};

// Begins recording into `memory`. Once per process.
void start(const Memory* memory);

// Where the next part of a memory comes from. Called under the recorder's mutex when a flow is opened: `now` false when
// few lines are left, true when none is. Fills `part` and returns true if there is one at once; what comes later comes
// through add_part. Without this private memory is taken.
using Grow = bool (*)(const Memory& memory, bool now, Part& part);
void set_growth(Grow grow);
// To the current memory. False: it has this part already, or not yet the one before; the caller keeps it.
bool add_part(const Part& part);
// Of the flows that there are.
uint32_t parts_in_use();
// A line is free, or that of a destroyed flow; for threads whose flow had found none.
bool has_room();
bool is_started();
bool may_record();  // started, and this is no forked child; asks the kernel nothing

// Changes to memory that a sidecar gave: copies everything, then publishes. Only the helper thread or start() calls it.
// False: there are more flows by now than `memory` has parts for; nothing was changed.
// Afterwards settle() some times: what a thread wrote into an old memory while the copy was made is brought along. With
// `last`, at the earliest a second after the change, old memories are given back.
bool switch_memory(Memory* memory);
void settle(bool last);

void record_event(const ControlEvent& event);
void note_attached(railwitness_attach how);
void note_context_tapped();
void note_alone(uint64_t since_ticks);  // at the start: no sidecar yet
void note_sidecar_lost(uint64_t when_ticks);
void note_sidecar_found(uint64_t when_ticks);

// Finds or makes the line of this device and port. kNoRail: the table is full.
uint32_t add_rail(const railwitness_rail& rail);
uint32_t find_rail(const char* device, uint8_t port);

// A token for close_comm, never 0.
uint64_t open_comm(uint64_t hash, int rank, int ranks, int nodes, const char* name);
void close_comm(uint64_t token);

// Null: no line is free, and none of a destroyed queue pair can be taken. `counted`: so it was before for this one.
Flow* open_flow(uint32_t qpn, bool always_signalled, bool counted = false);
void learn(Flow& flow, const FlowFacts& facts);
void close_flow(Flow& flow);
// By the flow's own thread at its first post; from then on hot.h finds it ready.
void settle_role(Flow& flow, railwitness_direction direction, railwitness_role role, uint64_t now);
uint32_t rail_of(const Flow& flow);
bool is_peer_known(const Flow& flow);

// For tests that use one process for many recorders. No other thread may be recording.
void forget_everything();

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_RECORDER_H_
