// The few functions of the real libibverbs that the tap asks questions with; never on a path that repeats.
#ifndef RAILWITNESS_PLUGIN_TAP_REAL_VERBS_H_
#define RAILWITNESS_PLUGIN_TAP_REAL_VERBS_H_

#include <infiniband/verbs.h>

namespace railwitness::tap {

struct RealVerbs {
  ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(ibv_device** list);
  __be64 (*get_device_guid)(ibv_device* device);
  int (*query_port)(ibv_context* context, uint8_t port, struct _compat_ibv_port_attr* attributes);
  int (*query_gid)(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
  int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes);
};

// Filled by find_real_verbs, or by a test. A member may be null.
extern RealVerbs real_verbs;

// Loads libibverbs.so.1 if need be. Null: there is none, or one that is not understood.
void* find_real_verbs();

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_REAL_VERBS_H_
