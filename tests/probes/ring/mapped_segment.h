// A witness segment in memory, written line by line as a job writes it; unmapped at the end. For tests and bench.
#ifndef RAILWITNESS_TESTS_PROBES_RING_MAPPED_SEGMENT_H_
#define RAILWITNESS_TESTS_PROBES_RING_MAPPED_SEGMENT_H_

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "probes/ring/segment.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {

class MappedSegment {
 public:
  MappedSegment() = default;
  // The descriptor stays the caller's, and may be closed.
  explicit MappedSegment(int fd, const Geometry& geometry = ring::geometry()) : geometry_(geometry) {
    void* at = mmap(nullptr, geometry_.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) bytes_ = static_cast<char*>(at);
  }
  ~MappedSegment() {
    if (bytes_ != nullptr) munmap(bytes_, geometry_.segment_bytes);
  }
  MappedSegment(MappedSegment&& other) noexcept
      : geometry_(other.geometry_), bytes_(std::exchange(other.bytes_, nullptr)) {}
  MappedSegment& operator=(MappedSegment&& other) noexcept {
    std::swap(geometry_, other.geometry_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  bool is_mapped() const { return bytes_ != nullptr; }
  const Geometry& geometry() const { return geometry_; }
  char* bytes() const { return bytes_; }

  railwitness_segment_header& header() const { return line<railwitness_segment_header>(0, 0); }
  railwitness_writer& writer() const { return line<railwitness_writer>(geometry_.writer_offset, 0); }
  railwitness_thread& thread(uint64_t i) const { return line<railwitness_thread>(geometry_.threads_offset, i); }
  railwitness_rail& rail(uint64_t i) const { return line<railwitness_rail>(geometry_.rails_offset, i); }
  railwitness_comm& comm(uint64_t i) const { return line<railwitness_comm>(geometry_.comms_offset, i); }
  railwitness_identity& identity(uint64_t flow) const { return line<railwitness_identity>(geometry_.identities_offset, flow); }
  railwitness_state& state(uint64_t flow) const { return line<railwitness_state>(geometry_.states_offset, flow); }
  railwitness_record& record(uint64_t flow, uint64_t i) const {
    return line<railwitness_record>(geometry_.records_offset,
                                    flow * RAILWITNESS_RECORDS_PER_FLOW + i % RAILWITNESS_RECORDS_PER_FLOW);
  }

 private:
  template <typename Line>
  Line& line(uint64_t offset, uint64_t i) const {
    return reinterpret_cast<Line*>(bytes_ + offset)[i];
  }

  Geometry geometry_;
  char* bytes_ = nullptr;
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_TESTS_PROBES_RING_MAPPED_SEGMENT_H_
