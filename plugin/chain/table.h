// A copy of the plugin's table of functions, complete or not at all.
//
// Plugins may set their table's functions as late as in init (HPC-X's does, to offer one of several transports), and
// NCCL's shims read them after it. So the copy is taken after the first init that succeeds.
#ifndef RAILWITNESS_PLUGIN_CHAIN_TABLE_H_
#define RAILWITNESS_PLUGIN_CHAIN_TABLE_H_

#include "railwitness/nccl/common.h"

namespace railwitness::chain {

// What NCCL takes the absence of an optional function for.
template <typename... Arguments>
nccl::Result do_nothing(Arguments...) noexcept {
  return nccl::kSuccess;
}

template <typename... Arguments>
nccl::Result refuse(Arguments...) noexcept {
  return nccl::kInternalError;
}

template <typename... Arguments>
void if_absent_do_nothing(nccl::Result (*&function)(Arguments...)) {
  if (!function) function = do_nothing<Arguments...>;
}

template <typename... Arguments>
void if_absent_refuse(nccl::Result (*&function)(Arguments...)) {
  if (!function) function = refuse<Arguments...>;
}

// For an NCCL before 2.26, which has none: plugins of v10 and later were never called without one.
inline constexpr nccl::ProfilerCallback no_profiler = do_nothing;

struct Needed {
  template <typename Function>
  Needed(const char* called, Function* function) : name(called), is_there(function) {}
  const char* name;
  bool is_there;
};

// The first that is not there, or null.
template <int n>
const char* first_absent(const Needed (&needed)[n]) {
  for (const Needed& function : needed)
    if (!function.is_there) return function.name;
  return nullptr;
}

inline constexpr char kAbsent[] = "railwitness: %s: its table has no function %s, it can't be used";

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_TABLE_H_
