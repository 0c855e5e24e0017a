// What the sidecar's own reader makes of a segment whose writer is dead, held against what the writer was to write.
#ifndef RAILWITNESS_TESTS_FAULTS_AUTOPSY_H_
#define RAILWITNESS_TESTS_FAULTS_AUTOPSY_H_

#include "probes/model/facts.h"
#include "probes/ring/segment_reader.h"
#include "probes/ring/tick_clock.h"
#include "tests/faults/truth.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace railwitness::faults {

enum Structure { kRails, kComms, kThreads, kIdentities, kStates, kHistograms, kRecords, kControl, kStructures };
constexpr std::array<const char*, kStructures> kNames{"rails",  "communicators", "thread lines", "identities",
                                                      "states", "histograms",    "records",      "control ring"};

struct Tally {
  uint64_t accepted = 0;  // lines that the reader took for whole
  uint64_t torn = 0;      // of these, such that are not
  uint64_t refused = 0;   // lines that the kill left half written, and that were not taken
  void add(const Tally& other) {
    accepted += other.accepted;
    torn += other.torn;
    refused += other.refused;
  }
};

struct Finding {
  std::array<Tally, kStructures> tally{};
  std::vector<std::string> wrong;  // a sentence each, the first few
  double longest_read_ms = 0;
  uint64_t torn() const {
    uint64_t n = 0;
    for (const Tally& t : tally) n += t.torn;
    return n;
  }
};

class Autopsy {
 public:
  // Keeps the descriptors; the writer has the same ones.
  explicit Autopsy(ring::Segment first);
  void add_part(ring::Segment further);

  // `dead`: counts are compared with the journal and with one another; of a living writer only what the reader promises.
  Finding open(const Journal& journal, ring::TickClock& clock, bool dead);

 private:
  void look_at(const model::Flow& flow, const Journal& journal, const ring::ReadContext& context, bool dead);
  void check_identity(const model::Flow& flow);
  void check_counts(const model::Flow& flow, bool dead);
  uint64_t check_records(const model::Flow& flow, const ring::ReadContext& context, bool dead);
  void check_journal(const model::Flow& flow, const Journal& journal);
  void check_histogram(const model::Flow& flow);
  void check_comms();
  void check_threads(const Journal& journal, bool dead);
  void check_control(const ring::ReadContext& context, bool dead);
  void look_at_rails();
  void count_half_written();
  void expect(bool condition, Structure structure, const std::string& what);
  template <typename Line>
  Line line_at(uint64_t offset, uint64_t index, int fd) const;

  ring::Geometry geometry_, further_geometry_;
  int fd_ = -1, further_fd_ = -1;
  ring::SegmentReader reader_;
  ring::CopyBuffer buffer_;
  model::Process process_;
  Finding finding_;
};

}  // namespace railwitness::faults

#endif  // RAILWITNESS_TESTS_FAULTS_AUTOPSY_H_
