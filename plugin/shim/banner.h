// What the plugin says, through NCCL's logger: one line, one more if a RAILWITNESS_* variable is misspelt or wrong, and a
// warning if the transport that was asked for cannot be had.
#ifndef RAILWITNESS_PLUGIN_SHIM_BANNER_H_
#define RAILWITNESS_PLUGIN_SHIM_BANNER_H_

#include "plugin/shim/wiring.h"
#include "railwitness/nccl/common.h"

#include <cstddef>

namespace railwitness::shim {

// Once per process, whoever comes first; the environment's problems with it.
void say_banner(nccl::Logger log, const Started& started, int late_contexts);

void format_banner(char* text, size_t bytes, const Started& started, int late_contexts);

// Nothing if there are none. include/railwitness/base/knobs.h says what a problem is.
void say_problems(nccl::Logger log, const char* const* environment);

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_BANNER_H_
