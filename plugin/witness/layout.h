// Where the tables of a segment lie: made for memory of our own, checked for memory that the sidecar gives.
#ifndef RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_
#define RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_

#include "railwitness/abi/segment.h"
#include "railwitness/base/status.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::witness {

// Larger segments are refused: 256 flows need 2.4 MiB, the largest part's 4096 need 34 MiB.
inline constexpr uint64_t kMaxSegmentBytes = 64ull << 20;

// The layout of a part with the capacities of segment.h. `magic` is 0: it is stored last, in place.
railwitness_segment_header make_header(uint32_t part = 0);

// Whether a segment of `bytes` bytes with this header can be written to as that part: same major, tables that do not
// overlap, end within it, are aligned, and hold at least as many lines as segment.h names (so that an index in use stays
// valid when the segment is changed for another). `header` must be a private copy.
Status check_header(const railwitness_segment_header& header, uint64_t bytes, uint32_t part = 0);

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_LAYOUT_H_
