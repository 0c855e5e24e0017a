// The environment variables of the plugin. docs/job-owner.md lists them for people.
#ifndef RAILWITNESS_PLUGIN_WITNESS_KNOBS_H_
#define RAILWITNESS_PLUGIN_WITNESS_KNOBS_H_

namespace railwitness::witness {

// More than a path may have: one that is too long is refused when it is opened, and never cut to another job's.
inline constexpr unsigned kSegmentPathBytes = 4096 + 64;

enum class Mode { kTap, kChain, kOfi, kOff };

struct Knobs {
  Mode mode;               // RAILWITNESS_MODE; tap where it says something else, which base/knobs.h tells
  char plugin[512];        // of chain:PLUGIN; empty: the default one
  char socket[108];        // RAILWITNESS_SOCKET, a path as long as sockaddr_un holds; longer ones are cut and found absent
  char job[64];            // RAILWITNESS_JOB, else SLURM_JOB_ID; letters, digits and _.:/- , others become _
  unsigned cost_max_permille;  // RAILWITNESS_COST_MAX_PERMILLE
  char segment_file[kSegmentPathBytes];  // RAILWITNESS_SEGMENT_FILE and .PID; empty: ask the sidecar
};

Knobs read_knobs();

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_KNOBS_H_
