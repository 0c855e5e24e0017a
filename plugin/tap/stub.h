/* Between the plugin and tap-verbs.so (stub.c). */
#ifndef RAILWITNESS_PLUGIN_TAP_STUB_H_
#define RAILWITNESS_PLUGIN_TAP_STUB_H_

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called in the thread of the verbs call, after the real call has returned (the *ing ones: before it). `token` is what the
 * *ing hook returned: once the real call has returned, its object's address and number may be in use again. */
struct railwitness_tap_hooks {
  void (*opened)(struct ibv_context*);
  void* (*closing)(struct ibv_context*);
  void (*closed)(void* token, int result);
  void (*created)(struct ibv_qp*, const struct ibv_qp_init_attr*);
  void (*modified)(struct ibv_qp*, const struct ibv_qp_attr*, int mask, int result);
  void* (*destroying)(struct ibv_qp*);
  void (*destroyed)(void* token, int result);
  void (*async_event)(struct ibv_context*, const struct ibv_async_event*);
};

enum railwitness_stub_result {
  RAILWITNESS_STUB_READY = 0,       /* dlopen("libibverbs.so") finds the stub */
  RAILWITNESS_STUB_NO_VERBS = 1,    /* no libibverbs.so.1, or one without IBVERBS_1.1 */
  RAILWITNESS_STUB_NAME_TAKEN = 2,  /* dlopen("libibverbs.so") finds another object */
  RAILWITNESS_STUB_SECOND = 3,      /* another copy of the plugin has the stub */
};

enum railwitness_stub_result railwitness_stub_start(const struct railwitness_tap_hooks*);

#ifdef __cplusplus
}
#endif

#endif /* RAILWITNESS_PLUGIN_TAP_STUB_H_ */
