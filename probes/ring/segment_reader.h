// Reads one segment again and again: copies with pread, decodes the copy, and compares with what it saw before.
//
// One thread. A segment is only ever copied, never mapped: a mapping could charge this process for pages the job punched
// out. What a job writes can make its own facts wrong, which shows as segment_problem, and nothing else.
#ifndef RAILWITNESS_PROBES_RING_SEGMENT_READER_H_
#define RAILWITNESS_PROBES_RING_SEGMENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/model/facts.h"
#include "probes/ring/decode.h"
#include "probes/ring/segment.h"
#include "probes/ring/tick_clock.h"

namespace railwitness::ring {

// Scratch memory for the copies; one serves all readers of a thread.
struct CopyBuffer {
  std::vector<std::byte> segment, identities_again, comms_again;
  std::vector<model::Flow> flows;
};

struct ReadContext {
  TickRate rate;
  int64_t process_start_mono_ns = 0;
  int64_t now_mono_ns = 0;
  uint32_t most_flows = UINT32_MAX;  // lines beyond are not read
};

class SegmentReader {
 public:
  explicit SegmentReader(Segment segment) { parts_.push_back(std::move(segment)); }

  // A further segment of the same process: the next part.
  void add_part(Segment segment) { parts_.push_back(std::move(segment)); }
  // Of all segments at the last reading, destroyed flows too, as the job says it: not more than there are lines.
  uint64_t lines_in_use() const { return lines_in_use_; }

  // Fills the members of `process` that its segments tell: attach to segment_problem, comms, threads, flows. Expects the
  // flows that the call before has left there, if any.
  absl::Status read(const ReadContext& context, CopyBuffer& buffer, model::Process& process);

  // The post history of one flow and the control ring, for people who look closely.
  absl::StatusOr<std::vector<Record>> read_records(uint32_t flow, const ReadContext& context) const;
  absl::StatusOr<std::vector<ControlEvent>> read_control(const ReadContext& context) const;

 private:
  struct FlowMemory {  // beside the flow in process.flows
    uint32_t identity_sequence = 0;
    bool contradicted = false;
  };
  struct ThreadMemory {
    uint64_t posts = 0, polls = 0, completions = 0;
    std::optional<int64_t> last_change_mono_ns;
  };

  absl::StatusOr<uint32_t> copy(const Segment& segment, uint32_t most_flows, CopyBuffer& buffer);
  TimeBounds bounds(const Segment& segment, const ReadContext& context) const;
  void take_head(const ReadContext& context, DecodedSegment& decoded, model::Process& process);
  absl::Status read_parts(const ReadContext& context, CopyBuffer& buffer, model::Process& process);
  void read_flows(const FlowDecoder& decoder, uint32_t first_flow, uint32_t lines, std::vector<model::Flow>& before,
                  size_t& at, std::vector<model::Flow>& after);
  void judge_flow(const model::Flow& before, const model::Flow& now, FlowMemory& memory);
  void remember_threads(bool copied_forward, int64_t now_mono_ns, std::vector<model::CallThread>& threads);
  void note(const std::string& problem);

  std::vector<Segment> parts_;
  std::vector<FlowMemory> seen_;              // of each flow that the last read has left, in the same order
  std::vector<FlowMemory> seen_before_;
  uint64_t lines_in_use_ = 0;
  std::map<uint32_t, ThreadMemory> threads_;  // by tid, cleared of those no longer listed
  std::string problem_;                       // the first one; a writer that lied once is not believed again
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_SEGMENT_READER_H_
