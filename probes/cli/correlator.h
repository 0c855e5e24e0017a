// The fleet's thinking over time: keeps what each node said last, asks diagnose, keeps incidents, and decides when to
// ask for probes. Without bus, clock or output: the present comes in, words come out.
#ifndef RAILWITNESS_PROBES_CLI_CORRELATOR_H_
#define RAILWITNESS_PROBES_CLI_CORRELATOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probes/diagnose/diagnose.h"
#include "probes/diagnose/tracker.h"
#include "probes/model/facts.h"

namespace railwitness::cli {

class Correlator {
 public:
  struct Word {
    diagnose::Changes changes;
    std::vector<model::PingRequest> pings;
  };

  Correlator() : tracker_("fleet") {}

  void hear(std::vector<model::Heard> arrived, int64_t now_mono_ns);
  Word think(int64_t now_mono_ns, int64_t now_wall_ns);

  std::vector<std::string> speaking(int64_t now_mono_ns) const;  // nodes that are not silent
  std::vector<std::string> silent(int64_t now_mono_ns) const;
  // Nodes whose name two sidecars use, lately: their facts take turns.
  std::vector<std::string> doubled(int64_t now_mono_ns) const;
  // Lately there were more names than are kept: some nodes are not heard.
  bool is_crowded(int64_t now_mono_ns) const;
  const std::vector<model::Incident>& open() const { return tracker_.open(); }

  static constexpr int64_t kProbeEveryNs = 1'000'000'000;
  static constexpr int64_t kForgetNs = int64_t{7200} * 1'000'000'000;  // a node that was taken out of service
  static constexpr size_t kMaxNodes = 16'384;
  // With all places taken, a name that was said once and never again makes room: a sidecar speaks every two seconds.
  static constexpr int64_t kSaidOnceNs = int64_t{30} * 1'000'000'000;
  static constexpr int64_t kTellDoubledNs = int64_t{60} * 1'000'000'000;
  static constexpr int64_t kTellCrowdedNs = int64_t{60} * 1'000'000'000;

 private:
  // Which sidecar process spoke for a node. One that was restarted is not heard again.
  struct Voice {
    std::string boot_id;
    int64_t start_mono_ns = 0;
    bool operator==(const Voice&) const = default;
  };
  struct Voices {
    Voice last, before;
    int64_t doubled_mono_ns = 0;  // 0: never
  };
  void note_voice(const model::NodeFacts& facts, int64_t now_mono_ns);

  std::vector<std::string> nodes_where(bool silent, int64_t now_mono_ns) const;
  void forget_old(int64_t now_mono_ns);

  diagnose::Thresholds thresholds_;
  diagnose::Tracker tracker_;
  std::map<std::string, size_t> index_;  // of a node in the two below
  std::vector<model::Heard> heard_;      // ages are set before thinking
  std::vector<int64_t> arrived_mono_ns_;
  std::vector<bool> said_again_;  // more than one message came
  int64_t crowded_mono_ns_ = 0;   // when a node was not heard last; 0: never
  std::map<std::string, Voices> voices_;
  int64_t last_probe_mono_ns_ = 0;
  uint64_t round_ = 0;
};

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_CORRELATOR_H_
