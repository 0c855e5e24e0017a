// What stands behind the context that NCCL holds of a chained plugin.
#ifndef RAILWITNESS_PLUGIN_CHAIN_CONTEXT_H_
#define RAILWITNESS_PLUGIN_CHAIN_CONTEXT_H_

#include "railwitness/nccl/net_v10.h"

#include <new>

namespace railwitness::chain {

// Never null towards NCCL, whatever the plugin makes of its own; finalize of a context whose init failed (NCCL 2.28
// calls it) does not reach the plugin.
struct Context {
  void* inner = nullptr;  // the plugin's own context, v11 and later
  nccl::NetCommConfigV10 config{};
  bool is_open = false;
};

inline constinit Context no_context;  // when there is no memory for one

inline Context* new_context(int traffic_class) {
  Context* context = new (std::nothrow) Context;
  if (!context) return &no_context;
  context->config.traffic_class = traffic_class;
  return context;
}

inline void delete_context(Context* context) {
  if (context != &no_context) delete context;
}

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_CONTEXT_H_
