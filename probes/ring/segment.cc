#include "probes/ring/segment.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "railwitness/base/clock.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace railwitness::ring {
namespace {

constexpr uint64_t kPageBytes = 4096;

absl::Status errno_status(const char* what) {
  const int error = errno;
  const std::string text = std::string("witness segment: ") + what + ": " + std::strerror(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC) {
    return absl::ResourceExhaustedError(text);
  }
  return absl::InternalError(text);
}

// 32 hexadecimal digits with hyphens between some of them.
void parse_boot_id(const std::string& text, uint8_t (&bytes)[16]) {
  size_t digits = 0;
  uint8_t parsed[16] = {};
  for (const char c : text) {
    if (c == '-' || c == '\n') continue;
    int value = -1;
    if (c >= '0' && c <= '9') value = c - '0';
    if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
    if (value < 0 || digits >= 32) return;
    parsed[digits / 2] = static_cast<uint8_t>(parsed[digits / 2] << 4 | value);
    ++digits;
  }
  if (digits == 32) std::memcpy(bytes, parsed, sizeof(bytes));
}

railwitness_segment_header make_header(const Geometry& g, uint32_t generation, const std::string& boot_id,
                                       uint32_t part) {
  railwitness_segment_header header{};
  header.magic = RAILWITNESS_SEGMENT_MAGIC;
  header.abi_major = RAILWITNESS_ABI_MAJOR;
  header.abi_minor = RAILWITNESS_ABI_MINOR;
  header.header_bytes = sizeof(header);
  header.segment_bytes = g.segment_bytes;
  header.thread_capacity = g.thread_capacity;
  header.rail_capacity = g.rail_capacity;
  header.comm_capacity = g.comm_capacity;
  header.flow_capacity = g.flow_capacity;
  header.records_per_flow = RAILWITNESS_RECORDS_PER_FLOW;
  header.control_capacity = g.control_capacity;
  header.generation = generation;
  header.part = part;
  header.writer_offset = g.writer_offset;
  header.threads_offset = g.threads_offset;
  header.rails_offset = g.rails_offset;
  header.comms_offset = g.comms_offset;
  header.identities_offset = g.identities_offset;
  header.states_offset = g.states_offset;
  header.histograms_offset = g.histograms_offset;
  header.records_offset = g.records_offset;
  header.control_offset = g.control_offset;
  parse_boot_id(boot_id, header.boot_id);
  header.created_wall_ns = read_clock_ns(CLOCK_REALTIME);
  header.created_mono_ns = read_clock_ns(CLOCK_MONOTONIC);
  return header;
}

}  // namespace

Geometry geometry(const Capacities& capacities) {
  Geometry g;
  g.thread_capacity = capacities.threads;
  g.rail_capacity = capacities.rails;
  g.comm_capacity = capacities.comms;
  g.flow_capacity = capacities.flows;
  g.control_capacity = capacities.control;
  g.writer_offset = sizeof(railwitness_segment_header);
  g.threads_offset = g.writer_offset + sizeof(railwitness_writer);
  g.rails_offset = g.threads_offset + uint64_t{g.thread_capacity} * sizeof(railwitness_thread);
  g.comms_offset = g.rails_offset + uint64_t{g.rail_capacity} * sizeof(railwitness_rail);
  g.identities_offset = g.comms_offset + uint64_t{g.comm_capacity} * sizeof(railwitness_comm);
  g.states_offset = g.identities_offset + uint64_t{g.flow_capacity} * sizeof(railwitness_identity);
  g.histograms_offset = g.states_offset + uint64_t{g.flow_capacity} * sizeof(railwitness_state);
  g.records_offset = g.histograms_offset + uint64_t{g.flow_capacity} * sizeof(railwitness_histogram);
  g.control_offset =
      g.records_offset + uint64_t{g.flow_capacity} * RAILWITNESS_RECORDS_PER_FLOW * sizeof(railwitness_record);
  const uint64_t end = g.control_offset + uint64_t{g.control_capacity} * sizeof(railwitness_control);
  g.segment_bytes = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  return g;
}

Capacities capacities_of(uint32_t part) {
  if (part == 0) return {};
  return {.threads = 0, .rails = 0, .comms = 0, .flows = RAILWITNESS_PART_FLOWS(part), .control = 0};
}

absl::StatusOr<Segment> make_segment(uint32_t generation, const std::string& boot_id, uint32_t part) {
  Segment segment;
  segment.geometry = geometry(capacities_of(part));
  segment.part = part;
  segment.generation = generation;
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  segment.fd = UniqueFd(memfd_create("railwitness", kFlags | MFD_NOEXEC_SEAL));
  if (!segment.fd.is_open() && errno == EINVAL) {  // kernels before 6.3 do not know the flag
    segment.fd = UniqueFd(memfd_create("railwitness", kFlags));
  }
  if (!segment.fd.is_open()) return errno_status("memfd_create");
  const int fd = segment.fd.get();
  if (ftruncate(fd, static_cast<off_t>(segment.geometry.segment_bytes)) != 0) return errno_status("ftruncate");
  const railwitness_segment_header header = make_header(segment.geometry, generation, boot_id, part);
  segment.created_mono_ns = static_cast<int64_t>(header.created_mono_ns);
  if (pwrite(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) return errno_status("pwrite");
  // Without SHRINK and GROW the job could cut the file under the reader or grow it at the node's expense.
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return errno_status("F_ADD_SEALS");
  return segment;
}

}  // namespace railwitness::ring
