// LD_PRELOAD library for nccl_lookups.py and tests/matrix/collective_matrix.py: writes down which libraries libnccl opens and which symbols it asks for, in
// order, to the file LOOKUP_RECORDER_OUT:
//   open NAME missing
//   open NAME found PATH
//   ask SYMBOL LIBRARY
// Libraries whose names begin with one of the words in LOOKUP_RECORDER_HIDE (separated by blanks) are reported missing,
// so that NCCL shows every name it would fall back to.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxOpened = 64 };
static struct { void* handle; char name[256]; } opened[kMaxOpened];   // NCCL opens its libraries under a lock

static void* real(const char* function) { return dlvsym(RTLD_NEXT, function, "GLIBC_2.2.5"); }

static int isNccl(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libnccl.so") != NULL;
}

static void note(const char* what, const char* name, const char* rest) {
  const char* path = getenv("LOOKUP_RECORDER_OUT");
  char line[1024];
  const int size = snprintf(line, sizeof(line), "%s %s %s\n", what, name, rest);
  const int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (write(fd, line, (size_t)size) != size) perror("lookup_recorder");
  close(fd);
}

static int isHidden(const char* name) {
  const char* word = getenv("LOOKUP_RECORDER_HIDE");
  while (word != NULL && *word != '\0') {
    const size_t length = strcspn(word, " ");
    if (length > 0 && strncmp(name, word, length) == 0) return 1;
    word += length + (word[length] == ' ');
  }
  return 0;
}

static const char* nameOf(const void* handle) {
  for (int i = 0; i < kMaxOpened; i++) {
    if (handle != NULL && opened[i].handle == handle) return opened[i].name;
  }
  return "-";
}

void* dlopen(const char* name, int flags) {
  void* (*const open_)(const char*, int) = (void* (*)(const char*, int))real("dlopen");
  if (name == NULL || !isNccl(__builtin_return_address(0))) return open_(name, flags);
  void* const handle = isHidden(name) ? open_("/nonexistent/hidden.so", flags) : open_(name, flags);
  struct link_map* map = NULL;
  char found[512] = "missing";
  if (handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) snprintf(found, sizeof(found), "found %s", map->l_name);
  note("open", name, found);
  for (int i = 0; handle != NULL && i < kMaxOpened; i++) {
    if (opened[i].handle != NULL && opened[i].handle != handle) continue;
    opened[i].handle = handle;
    snprintf(opened[i].name, sizeof(opened[i].name), "%s", name);
    break;
  }
  return handle;
}

void* dlsym(void* handle, const char* name) {
  void* (*const find)(void*, const char*) = (void* (*)(void*, const char*))real("dlsym");
  if (isNccl(__builtin_return_address(0))) note("ask", name, nameOf(handle));
  return find(handle, name);
}
