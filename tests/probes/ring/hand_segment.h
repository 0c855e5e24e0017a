// A segment written by hand, honest to begin with, for tests to bend.
#ifndef RAILWITNESS_TESTS_PROBES_RING_HAND_SEGMENT_H_
#define RAILWITNESS_TESTS_PROBES_RING_HAND_SEGMENT_H_

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "probes/ring/decode.h"
#include "probes/ring/segment.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 50 * kSecond, kCreated = 100 * kSecond, kNow = 200 * kSecond;

// Two ticks a nanosecond; tick 1'000'000 is kCreated.
constexpr uint64_t ticks_at(int64_t mono_ns) { return static_cast<uint64_t>(1'000'000 + (mono_ns - kCreated) * 2); }

inline TimeBounds test_bounds() { return {{1'000'000, kCreated, 0.5}, kCreated, kStart, kNow}; }

class HandSegment {
 public:
  explicit HandSegment(uint32_t part = 0) : g_(geometry(capacities_of(part))), bytes_(g_.segment_bytes) {
    writer().clock = RAILWITNESS_CLOCK_TSC;
    writer().attach = RAILWITNESS_ATTACH_STUB;
    writer().contexts = 1;
  }

  railwitness_writer& writer() { return at<railwitness_writer>(g_.writer_offset, 0); }
  railwitness_thread& thread(uint64_t i) { return at<railwitness_thread>(g_.threads_offset, i); }
  railwitness_rail& rail(uint64_t i) { return at<railwitness_rail>(g_.rails_offset, i); }
  railwitness_comm& comm(uint64_t i) { return at<railwitness_comm>(g_.comms_offset, i); }
  railwitness_identity& identity(uint64_t i) { return at<railwitness_identity>(g_.identities_offset, i); }
  railwitness_state& state(uint64_t i) { return at<railwitness_state>(g_.states_offset, i); }
  railwitness_record& record(uint64_t flow, uint64_t i) {
    return at<railwitness_record>(g_.records_offset, flow * RAILWITNESS_RECORDS_PER_FLOW + i);
  }
  railwitness_control& control(uint64_t i) { return at<railwitness_control>(g_.control_offset, i); }

  uint32_t add_rail(const std::string& device) {
    std::memcpy(rail(writer().rails).device, device.data(), std::min(device.size(), sizeof(railwitness_rail::device)));
    return writer().rails++;
  }
  uint32_t add_flow(uint32_t qpn, uint32_t rail_index = 0) {
    railwitness_identity& line = identity(writer().flows);
    line.sequence = 2;
    line.port = 1;
    line.qpn = qpn;
    line.rail = rail_index;
    line.direction = RAILWITNESS_DIRECTION_SEND;
    line.role = RAILWITNESS_ROLE_DATA;
    line.created_ticks = ticks_at(kCreated + kSecond);
    return writer().flows++;
  }
  void add_thread(uint32_t tid, uint64_t posts) {
    thread(writer().threads).tid = tid;
    thread(writer().threads).posts = posts;
    ++writer().threads;
  }
  void add_comm(int32_t rank, int32_t nranks) {
    railwitness_comm& line = comm(writer().comms++);
    line.comm_hash = 0xfeed;
    line.rank = rank;
    line.nranks = nranks;
    line.nnodes = 1;
    line.open = 1;
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  const Geometry& geometry_used() const { return g_; }
  DecodedSegment decode() const { return decode_segment(bytes_, g_, test_bounds()); }
  // What a job does with its mapping.
  void write_to(int fd) const {
    const size_t skip = g_.writer_offset;
    must_be(pwrite(fd, bytes_.data() + skip, bytes_.size() - skip, static_cast<off_t>(skip)),
                    bytes_.size() - skip);
  }

 private:
  static void must_be(ssize_t done, size_t wanted) {
    if (done != static_cast<ssize_t>(wanted)) std::abort();
  }
  template <typename Line>
  Line& at(uint64_t offset, uint64_t i) {
    return *reinterpret_cast<Line*>(bytes_.data() + offset + i * sizeof(Line));
  }

  Geometry g_;
  std::vector<std::byte> bytes_;
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_TESTS_PROBES_RING_HAND_SEGMENT_H_
