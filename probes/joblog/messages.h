// What NCCL says about its net plugins, in the words of every version from 2.18 to 2.32, and what our plugin says.
// Pure. tests/probes/joblog/data/messages.tsv has the words found in each version's library.
#ifndef RAILWITNESS_PROBES_JOBLOG_MESSAGES_H_
#define RAILWITNESS_PROBES_JOBLOG_MESSAGES_H_

#include <string_view>

namespace railwitness::joblog {

enum class Event {
  kNone,
  kVersion,          // NCCL's
  kPluginSetting,    // NCCL_NET_PLUGIN
  kNetSetting,       // NCCL_NET
  kProfilerSetting,  // NCCL_PROFILER_PLUGIN
  kNotFound,         // a library could not be opened
  kOpenError,        // and what the loader said to that
  kUnsupported,      // it has no table that this NCCL knows
  kNoSymbol,         // it has not the table of one version; NCCL may go on to an older one
  kNetLoaded,        // a net table was found: its name
  kNetInitFailed,    // or it has no devices: NCCL says the same
  kNoNetAtAll,       // the communicator fails
  kNetwork,          // what the communicator uses
  kNoIbDevice,
  kIbDevices,  // "[0]mlx5_0:1/IB [1]..."
  kProfilerLoaded,
  kBanner,       // ours: version, then what
  kKnobProblem,  // ours
  kNoTransport,  // ours: what RAILWITNESS_MODE names can't be had
  kUnloaded,     // NCCL closed a net plugin with the last communicator that used it
};

struct Match {
  Event event = Event::kNone;
  std::string_view value;
};

Match match(std::string_view text);

}  // namespace railwitness::joblog

#endif  // RAILWITNESS_PROBES_JOBLOG_MESSAGES_H_
