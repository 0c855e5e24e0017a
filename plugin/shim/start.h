// The first thing that every init does, whichever slot and version NCCL begins with.
#ifndef RAILWITNESS_PLUGIN_SHIM_START_H_
#define RAILWITNESS_PLUGIN_SHIM_START_H_

#include "railwitness/nccl/common.h"

namespace railwitness::shim {

// Starts the plugin and says so through NCCL's logger, once each.
void start(nccl::Logger log) noexcept;

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_START_H_
