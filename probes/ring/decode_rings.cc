// The two kinds of rings of a segment: records of a flow and control events.
#include <algorithm>
#include <cstring>

#include "probes/ring/decode.h"
#include "probes/ring/decode_time.h"
#include "probes/ring/untrusted.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {
namespace {

template <typename Line>
Line copy_slot(std::span<const std::byte> ring_untrusted, uint64_t slot) {
  Line line;
  std::memcpy(&line, ring_untrusted.data() + slot * sizeof(Line), sizeof(Line));
  return line;
}

}  // namespace

std::vector<Record> decode_records(std::span<const std::byte> ring_untrusted, uint64_t written_before_untrusted,
                                   uint64_t written_after_untrusted, uint32_t clock_untrusted,
                                   const TimeBounds& bounds) {
  std::vector<Record> records;
  const uint64_t capacity =
      std::min<uint64_t>(ring_untrusted.size() / sizeof(railwitness_record), RAILWITNESS_RECORDS_PER_FLOW);
  if (capacity == 0 || written_after_untrusted < written_before_untrusted) return records;
  // Record i stood in its slot from the first count on; when the second count is w, record w may be half written and
  // has destroyed record w - capacity.
  const uint64_t end = written_before_untrusted;
  const uint64_t begin = written_after_untrusted >= capacity ? written_after_untrusted - capacity + 1 : 0;
  const StampReader stamps(clock_untrusted, bounds, bounds.segment_created_mono_ns);
  if (begin < end) records.reserve(end - begin);  // at most `capacity`, as end <= written_after
  for (uint64_t i = begin; i < end; ++i) {
    const auto line_untrusted = copy_slot<railwitness_record>(ring_untrusted, i % capacity);
    if (line_untrusted.sequence != i + 1) continue;
    Record& record = records.emplace_back();
    record.index = i;
    record.post_mono_ns = stamps.read(line_untrusted.post_ticks);
    record.done_mono_ns = stamps.read(line_untrusted.done_ticks);
    record.bytes = line_untrusted.bytes;
    record.wr_id = line_untrusted.wr_id;
    record.posted_through = line_untrusted.posted_through;
    record.bytes_through = line_untrusted.bytes_through;
    record.requests = line_untrusted.requests;
    record.opcode = line_untrusted.opcode;
    record.signalled = (line_untrusted.flags & RAILWITNESS_RECORD_SIGNALLED) != 0;
    record.immediate = (line_untrusted.flags & RAILWITNESS_RECORD_IMMEDIATE) != 0;
    if (record.done_mono_ns) record.status = line_untrusted.status;
  }
  return records;
}

std::vector<ControlEvent> decode_control(std::span<const std::byte> ring_untrusted, uint64_t reserved_after_untrusted,
                                         uint32_t clock_untrusted, const TimeBounds& bounds) {
  std::vector<ControlEvent> events;
  const uint64_t capacity =
      std::min<uint64_t>(ring_untrusted.size() / sizeof(railwitness_control), RAILWITNESS_CONTROL_CAPACITY);
  if (capacity == 0) return events;
  // Every claimed index may be under way in any slot; of the last `capacity` indices each slot has one.
  const uint64_t end = reserved_after_untrusted;
  const uint64_t begin = end > capacity ? end - capacity : 0;
  const StampReader stamps(clock_untrusted, bounds, bounds.process_start_mono_ns);
  events.reserve(end - begin);
  for (uint64_t i = begin; i < end; ++i) {
    const auto line_untrusted = copy_slot<railwitness_control>(ring_untrusted, i % capacity);
    if (line_untrusted.sequence != i + 1) continue;
    ControlEvent& event = events.emplace_back();
    event.index = i;
    event.mono_ns = stamps.read(line_untrusted.ticks);
    event.kind = line_untrusted.kind;
    if (line_untrusted.rail != UINT16_MAX) event.rail = line_untrusted.rail;
    if (line_untrusted.qpn != 0) event.qpn = line_untrusted.qpn;
    std::copy(std::begin(line_untrusted.value), std::end(line_untrusted.value), event.value.begin());
  }
  return events;
}

}  // namespace railwitness::ring
