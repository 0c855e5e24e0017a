// Mode `ofi`: our own transport over libfabric (FI_EP_RDM, FI_TAGGED), for hosts without verbs. Host memory only.
// The wire format is docs/wire.md.
#ifndef RAILWITNESS_PLUGIN_OFI_OFI_H_
#define RAILWITNESS_PLUGIN_OFI_OFI_H_

#include "plugin/engine/transport.h"

namespace railwitness::ofi {

// The transport, or null and `*reason` in words with the way out. Once per process; later calls give the same answer.
// Opens libfabric.so.1 and enumerates devices, which takes milliseconds. `reason` lives as long as the process.
engine::Transport* open(const char** reason);

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_OFI_H_
