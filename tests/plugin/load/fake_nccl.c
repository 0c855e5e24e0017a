/* A library with NCCL's name (late attach looks at no other): opens verbs and keeps the context in a variable. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <dlfcn.h>
#include <stddef.h>

struct {
  int devices;
  struct ibv_context* contexts[4];
} fake_nccl_state;

struct ibv_context* fake_nccl_open(void) {
  void* verbs = dlopen("libibverbs.so.1", RTLD_NOW);
  if (!verbs) return NULL;
  struct ibv_device** (*list)(int*) = (struct ibv_device * *(*)(int*)) dlvsym(verbs, "ibv_get_device_list", "IBVERBS_1.1");
  struct ibv_context* (*open)(struct ibv_device*) =
      (struct ibv_context * (*)(struct ibv_device*)) dlvsym(verbs, "ibv_open_device", "IBVERBS_1.1");
  void (*free_list)(struct ibv_device**) = (void (*)(struct ibv_device**))dlvsym(verbs, "ibv_free_device_list", "IBVERBS_1.1");
  struct ibv_device** devices = list(&fake_nccl_state.devices);
  fake_nccl_state.contexts[2] = open(devices[0]);
  free_list(devices);
  return fake_nccl_state.contexts[2];
}
