// For nccl_lookups.py: a net plugin of every version that starts, has no device and exports nothing else, so that NCCL
// shows what it looks for in a net plugin's library. In all versions a table begins with name, init and devices; what
// NCCL may call besides (finalize) has another place in each, so every further entry does nothing.
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static int succeed(void) { return 0; }

static int no_devices(int* count) {
  *count = 0;
  return 0;
}

struct Table {
  const char* name;
  int (*init)(void);
  int (*devices)(int*);
  int (*others[32])(void);
};

#define FOUR succeed, succeed, succeed, succeed
#define TABLE(version) \
  EXPORT struct Table ncclNetPlugin_##version = {"idle", succeed, no_devices, {FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR}}

TABLE(v4);
TABLE(v5);
TABLE(v6);
TABLE(v7);
TABLE(v8);
TABLE(v9);
TABLE(v10);
TABLE(v11);
TABLE(v12);
TABLE(v13);
