// The job's side of the hand-over (docs/segment-abi.md, "Hand-over"): connect, say hello, take a segment. One thread.
#ifndef RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_
#define RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_

#include "plugin/witness/knobs.h"
#include "plugin/witness/memory.h"
#include "railwitness/base/status.h"

namespace railwitness::witness {

class SidecarLink {
 public:
  explicit constexpr SidecarLink() = default;

  // Nothing here blocks longer than asked for.
  Status connect(const Knobs& knobs);
  // Waits for the welcome and maps what came with it. Null with an ok status: nothing has come yet.
  Memory* await_memory(int timeout_ms, Status& status);
  // True once the sidecar has closed its end. Waits up to `timeout_ms` (-1: for ever).
  bool await_end(int timeout_ms);
  void close();

  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_
