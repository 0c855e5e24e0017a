/* tap-verbs.so, whose SONAME is "libibverbs.so" (without ".1"). NCCL asks for dlopen("libibverbs.so") first; the dynamic
 * linker finds this object by its SONAME, because the plugin has loaded it before. NCCL's dlvsym(handle, ...) then finds
 * the functions below here and all others, by way of DT_NEEDED, in the real libibverbs.so.1. Public ABI only (IBVERBS_1.1),
 * nothing is patched, and no other user of verbs in the process passes here.
 *
 * The file's name must not begin with "lib": ldconfig would make a link "libibverbs.so" to it. */
#define _GNU_SOURCE
#include "plugin/tap/stub.h"

#include <dlfcn.h>
#include <errno.h>

static struct railwitness_tap_hooks hooks; /* empty until start: what is called before passes through */

/* Without a real function (a libibverbs of before 2007) a call fails as if there were no such device. */
#define OR_FAIL(name, value) \
  if (!real_##name) return errno = ENOSYS, (value)

#define REAL(result, name, ...)               \
  static result (*real_##name)(__VA_ARGS__); \
  result name(__VA_ARGS__)

REAL(struct ibv_context*, ibv_open_device, struct ibv_device* device) {
  OR_FAIL(ibv_open_device, NULL);
  struct ibv_context* context = real_ibv_open_device(device);
  if (context && hooks.opened) hooks.opened(context);
  return context;
}

REAL(int, ibv_close_device, struct ibv_context* context) {
  OR_FAIL(ibv_close_device, ENOSYS);
  void* token = hooks.closing ? hooks.closing(context) : NULL;
  const int result = real_ibv_close_device(context);
  if (token) hooks.closed(token, result);
  return result;
}

REAL(struct ibv_qp*, ibv_create_qp, struct ibv_pd* pd, struct ibv_qp_init_attr* attributes) {
  OR_FAIL(ibv_create_qp, NULL);
  struct ibv_qp* qp = real_ibv_create_qp(pd, attributes);
  if (qp && hooks.created) hooks.created(qp, attributes);
  return qp;
}

REAL(int, ibv_modify_qp, struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask) {
  OR_FAIL(ibv_modify_qp, ENOSYS);
  const int result = real_ibv_modify_qp(qp, attributes, mask);
  if (hooks.modified) hooks.modified(qp, attributes, mask, result);
  return result;
}

REAL(int, ibv_destroy_qp, struct ibv_qp* qp) {
  OR_FAIL(ibv_destroy_qp, ENOSYS);
  void* token = hooks.destroying ? hooks.destroying(qp) : NULL;
  const int result = real_ibv_destroy_qp(qp);
  if (token) hooks.destroyed(token, result);
  return result;
}

REAL(int, ibv_get_async_event, struct ibv_context* context, struct ibv_async_event* event) {
  OR_FAIL(ibv_get_async_event, -1);
  const int result = real_ibv_get_async_event(context, event);
  if (!result && hooks.async_event) hooks.async_event(context, event);
  return result;
}

static int find_real(void) {
  void* real = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NODELETE);
  if (!real) return 0;
#define FIND(name) \
  if (!(real_##name = (__typeof__(real_##name))dlvsym(real, #name, "IBVERBS_1.1"))) return 0
  FIND(ibv_open_device);
  FIND(ibv_close_device);
  FIND(ibv_create_qp);
  FIND(ibv_modify_qp);
  FIND(ibv_destroy_qp);
  FIND(ibv_get_async_event);
#undef FIND
  return 1;
}

static int is_ours(void* symbol) {
  Dl_info us, found;
  return symbol && dladdr(symbol, &found) && dladdr((void*)railwitness_stub_start, &us) && us.dli_fbase == found.dli_fbase;
}

/* Does NCCL's request lead to us? Not if somebody opened the real library by this name before, or another installation of
 * the plugin its own stub. */
static enum railwitness_stub_result look_up_the_name(void) {
  void* handle = dlopen("libibverbs.so", RTLD_NOW | RTLD_NOLOAD);
  if (!handle) return RAILWITNESS_STUB_NAME_TAKEN;
  enum railwitness_stub_result result = RAILWITNESS_STUB_NAME_TAKEN;
  void* start = dlsym(handle, "railwitness_stub_start");
  if (start && !is_ours(start))
    result = RAILWITNESS_STUB_SECOND;
  else if (is_ours(dlvsym(handle, "ibv_open_device", "IBVERBS_1.1")) && dlvsym(handle, "ibv_get_device_list", "IBVERBS_1.1"))
    result = RAILWITNESS_STUB_READY;
  dlclose(handle);
  return result;
}

enum railwitness_stub_result railwitness_stub_start(const struct railwitness_tap_hooks* given) {
  if (hooks.opened) return hooks.opened == given->opened ? RAILWITNESS_STUB_READY : RAILWITNESS_STUB_SECOND;
  if (!find_real()) return RAILWITNESS_STUB_NO_VERBS;
  const enum railwitness_stub_result result = look_up_the_name();
  if (result == RAILWITNESS_STUB_READY) hooks = *given;
  return result;
}
