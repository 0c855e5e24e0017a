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
  std::vector<std::byte> segment, identities_again;
};

struct ReadContext {
  TickRate rate;
  int64_t process_start_mono_ns = 0;
  int64_t now_mono_ns = 0;
};

class SegmentReader {
 public:
  explicit SegmentReader(Segment segment) : segment_(std::move(segment)), flows_(segment_.geometry.flow_capacity) {}

  // Fills the members of `process` that a segment tells: attach to segment_problem, comms, threads, flows.
  absl::Status read(const ReadContext& context, CopyBuffer& buffer, model::Process& process);

  // The post history of one flow and the control ring, for people who look closely.
  absl::StatusOr<std::vector<Record>> read_records(uint32_t flow, const ReadContext& context) const;
  absl::StatusOr<std::vector<ControlEvent>> read_control(const ReadContext& context) const;

 private:
  struct FlowMemory {
    uint32_t identity_sequence = 0;
    uint64_t posted = 0, completed = 0, posted_bytes = 0, completed_bytes = 0;
    uint64_t receives_posted = 0, receives_completed = 0, received_bytes = 0;
    bool contradicted = false;
  };
  struct ThreadMemory {
    uint64_t posts = 0, polls = 0, completions = 0;
    std::optional<int64_t> last_change_mono_ns;
  };

  absl::Status copy(CopyBuffer& buffer) const;
  TimeBounds bounds(const ReadContext& context) const;
  void judge_flow(const DecodedFlow& flow);
  void remember_threads(bool copied_forward, int64_t now_mono_ns, std::vector<model::CallThread>& threads);
  void note(const std::string& problem);

  Segment segment_;
  std::vector<FlowMemory> flows_;             // by line
  std::map<uint32_t, ThreadMemory> threads_;  // by tid, cleared of those no longer listed
  std::string problem_;                       // the first one; a writer that lied once is not believed again
};

}  // namespace railwitness::ring

#endif  // RAILWITNESS_PROBES_RING_SEGMENT_READER_H_
