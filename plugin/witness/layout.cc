#include "plugin/witness/layout.h"

#include "railwitness/base/clock.h"

#include <fcntl.h>
#include <unistd.h>

namespace railwitness::witness {
namespace {

struct Table {
  uint64_t offset;
  uint64_t bytes;
};

constexpr uint64_t kHistogramBytes = sizeof(railwitness_histogram);
constexpr uint64_t kLine = 64;  // tables begin at a cache line

uint64_t place(uint64_t& end, uint64_t bytes) {
  const uint64_t at = (end + kLine - 1) / kLine * kLine;
  end = at + bytes;
  return at;
}

int nibble(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

void read_boot_id(uint8_t (&id)[16]) {
  char text[64] = {};
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  size_t digits = 0;
  for (ssize_t i = 0; i < got && digits < 32; i++) {
    const int value = nibble(text[i]);
    if (value < 0) continue;
    id[digits / 2] = static_cast<uint8_t>(id[digits / 2] << 4 | value);
    digits++;
  }
}

railwitness_segment_header make_capacities(uint32_t part) {
  railwitness_segment_header h{};
  h.flow_capacity = RAILWITNESS_PART_FLOWS(part);
  h.records_per_flow = RAILWITNESS_RECORDS_PER_FLOW;
  if (part) return h;
  h.thread_capacity = RAILWITNESS_THREAD_CAPACITY;
  h.rail_capacity = RAILWITNESS_RAIL_CAPACITY;
  h.comm_capacity = RAILWITNESS_COMM_CAPACITY;
  h.control_capacity = RAILWITNESS_CONTROL_CAPACITY;
  return h;
}

}  // namespace

railwitness_segment_header make_header(uint32_t part) {
  railwitness_segment_header h = make_capacities(part);
  h.abi_major = RAILWITNESS_ABI_MAJOR;
  h.abi_minor = RAILWITNESS_ABI_MINOR;
  h.header_bytes = sizeof h;
  h.part = part;
  uint64_t end = sizeof h;
  h.writer_offset = place(end, sizeof(railwitness_writer));
  h.threads_offset = place(end, sizeof(railwitness_thread) * h.thread_capacity);
  h.rails_offset = place(end, sizeof(railwitness_rail) * h.rail_capacity);
  h.comms_offset = place(end, sizeof(railwitness_comm) * h.comm_capacity);
  h.identities_offset = place(end, sizeof(railwitness_identity) * h.flow_capacity);
  h.states_offset = place(end, sizeof(railwitness_state) * h.flow_capacity);
  h.histograms_offset = place(end, kHistogramBytes * h.flow_capacity);
  h.records_offset = place(end, sizeof(railwitness_record) * h.records_per_flow * h.flow_capacity);
  h.control_offset = place(end, sizeof(railwitness_control) * h.control_capacity);
  h.segment_bytes = (end + 4095) / 4096 * 4096;
  read_boot_id(h.boot_id);
  h.created_wall_ns = read_clock_ns(CLOCK_REALTIME);
  h.created_mono_ns = read_clock_ns(CLOCK_MONOTONIC);
  return h;
}

Status check_header(const railwitness_segment_header& h, uint64_t bytes, uint32_t part) {
  if (h.magic != RAILWITNESS_SEGMENT_MAGIC) return Status::failed("segment has no magic");
  if (h.abi_major != RAILWITNESS_ABI_MAJOR) return Status::failed("segment has another abi_major");
  if (h.header_bytes < sizeof h || h.header_bytes > bytes) return Status::failed("segment header has an odd size");
  if (h.segment_bytes != bytes || bytes > kMaxSegmentBytes) return Status::failed("segment has an odd size");
  if (h.part != part) return Status::failed("segment is another part than was asked for");
  const railwitness_segment_header least = make_capacities(part);
  if (h.thread_capacity < least.thread_capacity || h.rail_capacity < least.rail_capacity ||
      h.comm_capacity < least.comm_capacity || h.flow_capacity < least.flow_capacity)
    return Status::failed("segment has too few lines");
  if (h.records_per_flow != RAILWITNESS_RECORDS_PER_FLOW) return Status::failed("segment has odd rings of records");
  if (h.control_capacity < least.control_capacity || (h.control_capacity & (h.control_capacity - 1)))
    return Status::failed("segment has an odd control ring");
  // Capacities are below 2^32 and lines below 2^14 bytes: no product wraps.
  const Table tables[] = {
      {0, h.header_bytes},
      {h.writer_offset, sizeof(railwitness_writer)},
      {h.threads_offset, sizeof(railwitness_thread) * uint64_t{h.thread_capacity}},
      {h.rails_offset, sizeof(railwitness_rail) * uint64_t{h.rail_capacity}},
      {h.comms_offset, sizeof(railwitness_comm) * uint64_t{h.comm_capacity}},
      {h.identities_offset, sizeof(railwitness_identity) * uint64_t{h.flow_capacity}},
      {h.states_offset, sizeof(railwitness_state) * uint64_t{h.flow_capacity}},
      {h.histograms_offset, kHistogramBytes * uint64_t{h.flow_capacity}},
      {h.records_offset, sizeof(railwitness_record) * uint64_t{h.records_per_flow} * uint64_t{h.flow_capacity}},
      {h.control_offset, sizeof(railwitness_control) * uint64_t{h.control_capacity}},
  };
  for (const Table& t : tables) {
    if (t.offset % kLine) return Status::failed("segment has a table off its line");
    if (t.offset > bytes || t.bytes > bytes - t.offset) return Status::failed("segment has a table beyond its end");
    for (const Table& other : tables)
      if (&other != &t && t.offset < other.offset + other.bytes && other.offset < t.offset + t.bytes)
        return Status::failed("segment has tables that overlap");
  }
  return Status::ok();
}

}  // namespace railwitness::witness
