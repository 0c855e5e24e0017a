// From the private copy of a segment to facts. Pure: bytes in, facts out; any bytes give facts, never a crash, and
// never more of them than the segment has room for. docs/segment-abi.md.
#ifndef RAILWITNESS_PROBES_RING_DECODE_H_
#define RAILWITNESS_PROBES_RING_DECODE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/model/facts.h"
#include "probes/ring/segment.h"
#include "probes/ring/tick_clock.h"

namespace railwitness::ring {

// What the reader itself knows about time; stamps outside are moved to the nearest end.
struct TimeBounds {
  TickRate rate;
  int64_t segment_created_mono_ns = 0;
  // Older stamps are plausible only where lines were taken over from before this segment, or for the span without a
  // sidecar; then the start of the process is the bound.
  int64_t process_start_mono_ns = 0;
  int64_t now_mono_ns = 0;
};

struct DecodedFlow {
  model::Flow facts;
  uint32_t identity_sequence = 0;
  // Counters contradict one another. A copy can show that for a moment without fault, as it is not atomic over words.
  std::string contradiction;
};

// What the flows of all segments of a process take from its first one.
struct FlowContext {
  uint32_t clock_untrusted = 0;
  bool copied_forward = false;
  std::vector<std::string> devices;  // by rail index
};

struct DecodedSegment {
  FlowContext flow_context;
  model::Attach attach = model::Attach::kNone;
  uint32_t contexts = 0;
  uint64_t unwitnessed_flows = 0, unwitnessed_events = 0;
  std::optional<int64_t> alone_begin_mono_ns, alone_end_mono_ns;
  bool copied_forward = false;
  std::optional<model::WitnessCost> witness_cost;
  std::vector<model::Comm> comms;
  std::vector<model::CallThread> threads;  // last_change_mono_ns is for the reader, which remembers
  std::vector<DecodedFlow> flows;
  std::string problem;  // what no honest writer does; the first that was found
};

// `bytes_untrusted` starts at the segment's offset 0 and may end anywhere: lines beyond its end do not exist.
DecodedSegment decode_segment(std::span<const std::byte> bytes_untrusted, const Geometry& geometry,
                              const TimeBounds& bounds);
// The same without the flows.
DecodedSegment decode_head(std::span<const std::byte> bytes_untrusted, const Geometry& geometry, const TimeBounds& bounds);

// The flows of one segment, one by one, for a reader that remembers them: flow i of it has index `first_flow` + i.
class FlowDecoder {
 public:
  FlowDecoder(std::span<const std::byte> bytes_untrusted, const Geometry& geometry, uint32_t first_flow,
              const FlowContext& context, const TimeBounds& bounds);

  // Nothing: the line is free, being written, or beyond the table or the copy.
  std::optional<uint32_t> identity_sequence(uint32_t line) const;
  void read_identity(uint32_t line, model::Flow& flow) const;
  void read_state(uint32_t line, model::Flow& flow) const;

 private:
  std::span<const std::byte> bytes_untrusted_;
  Geometry geometry_;
  uint32_t first_flow_;
  const FlowContext& context_;
  TimeBounds bounds_;
  int64_t floor_mono_ns_;
};

// Of its counters; empty: there is none.
std::string contradiction_of(const model::Flow& flow);

// Number of flow lines in use, bounded by the capacity: what a reader has to copy.
uint32_t flows_in_use(std::span<const std::byte> writer_line_untrusted, const Geometry& geometry);

struct Record {
  uint64_t index = 0;
  std::optional<int64_t> post_mono_ns, done_mono_ns;
  uint64_t bytes = 0, wr_id = 0, posted_through = 0, bytes_through = 0;
  uint16_t requests = 0, status = 0;
  uint8_t opcode = 0;
  bool signalled = false, immediate = false;
};

// The ring of one flow, oldest first. `written_before_untrusted` and `written_after_untrusted` are state.records read
// before and after the ring was copied: slots that may have been overwritten in between are left out.
std::vector<Record> decode_records(std::span<const std::byte> ring_untrusted, uint64_t written_before_untrusted,
                                   uint64_t written_after_untrusted, uint32_t clock_untrusted, const TimeBounds& bounds);

struct ControlEvent {
  uint64_t index = 0;
  std::optional<int64_t> mono_ns;
  uint16_t kind = 0;  // enum railwitness_control_kind, or one that is not known yet
  std::optional<uint32_t> rail, qpn;
  std::array<uint64_t, 3> value{};
};

// The control ring, oldest first; `reserved_after_untrusted` is writer.control_reserved read after the copy.
std::vector<ControlEvent> decode_control(std::span<const std::byte> ring_untrusted, uint64_t reserved_after_untrusted,
                                         uint32_t clock_untrusted, const TimeBounds& bounds);

// Eight groups of four hexadecimal digits; empty for all zero.
std::string gid_text(const uint8_t (&gid)[16]);

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_DECODE_H_
