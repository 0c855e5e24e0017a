// The one line that the plugin says, through NCCL's logger.
#ifndef RAILWITNESS_PLUGIN_SHIM_BANNER_H_
#define RAILWITNESS_PLUGIN_SHIM_BANNER_H_

#include "plugin/shim/wiring.h"
#include "railwitness/nccl/common.h"

#include <cstddef>

namespace railwitness::shim {

// Once per process, whoever comes first.
void say_banner(nccl::Logger log, const Started& started, int late_contexts);

void format_banner(char* text, size_t bytes, const Started& started, int late_contexts);

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_BANNER_H_
