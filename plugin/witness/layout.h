// Where the tables of a segment lie: made for memory of our own, checked for memory that the sidecar gives.
#ifndef RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_
#define RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_

#include "railwitness/abi/segment.h"
#include "railwitness/base/status.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::witness {

// Larger segments are refused: 256 flows need 2.4 MiB.
inline constexpr uint64_t kMaxSegmentBytes = 64ull << 20;

// The layout of a segment with the capacities of segment.h. `magic` is 0: it is stored last, in place.
railwitness_segment_header make_header();

// Whether a segment of `bytes` bytes with this header can be written to: same major, tables that do not overlap, end
// within it, are aligned, and hold at least as many lines as segment.h names (so that an index in use stays valid when
// the segment is changed for another). `header` must be a private copy.
Status check_header(const railwitness_segment_header& header, uint64_t bytes);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_
