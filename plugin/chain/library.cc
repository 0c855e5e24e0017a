#include "plugin/chain/library.h"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

namespace railwitness::chain {
namespace {

constexpr size_t kNameBytes = 4096;  // PATH_MAX

bool is_name_of_a_file(const char* plugin) {  // NCCL 2.28 and later: no prefix is put before such a name
  const size_t length = strlen(plugin);
  return strchr(plugin, '/') || (length > 6 && !strncmp(plugin, "lib", 3) && !strcmp(plugin + length - 3, ".so"));
}

// The i-th name to try, or false when there are no more.
bool candidate(const char* plugin, int i, char* name) {
  static constexpr const char* kPrefixes[] = {"libnccl-net", "librccl-net"};  // RCCL has a prefix of its own
  int length = -1;
  if (!*plugin) {
    if (i < 2) length = snprintf(name, kNameBytes, "%s.so", kPrefixes[i]);
  } else if (i == 0) {
    length = snprintf(name, kNameBytes, "%s", plugin);
  } else if (i < 3 && !is_name_of_a_file(plugin)) {
    length = snprintf(name, kNameBytes, "%s-%s.so", kPrefixes[i - 1], plugin);
  }
  return length >= 0 && static_cast<size_t>(length) < kNameBytes;
}

bool says_that_there_is_none(const char* error, const char* name) {
  return strstr(error, "No such file") && !strncmp(error, name, strlen(name));
}

const link_map* map_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

const void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

}  // namespace

bool is_in_ourselves(const void* address) {
  const void* base = base_of(address);
  return base && base == base_of(reinterpret_cast<const void*>(&load));
}

Library load(const char* plugin, char* why_not, size_t bytes) {
  Library library{};
  if (!plugin) plugin = "";
  char name[kNameBytes], error[512] = "", tried[512] = "";
  for (int i = 0; !library.handle && candidate(plugin, i, name); i++) {
    library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // NCCL's own flags
    if (library.handle) break;
    const char* said = dlerror();
    if (said && !*error && !says_that_there_is_none(said, name)) snprintf(error, sizeof error, "%s", said);
    const size_t length = strlen(tried);
    snprintf(tried + length, sizeof tried - length, "%s%s", i ? ", " : "", name);
  }
  if (library.handle) {
    const link_map* map = map_of(library.handle);
    const char* path = map && *map->l_name ? map->l_name : name;
    const char* slash = strrchr(path, '/');
    snprintf(library.name, sizeof library.name, "%s", slash ? slash + 1 : path);
  } else if (*error) {
    snprintf(why_not, bytes, "chain:%s can't be loaded: %s", plugin, error);
  } else {
    snprintf(why_not, bytes,
             "chain:%s is not found (tried %s); give the plugin's path, or put its folder into LD_LIBRARY_PATH", plugin,
             *tried ? tried : "nothing: the name is too long");
  }
  return library;
}

const void* newest_table(const Library& library, const char* prefix, int newest, int oldest, int* version) {
  for (int v = newest; v >= oldest; v--) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s_v%d", prefix, v);
    if (const void* table = dlsym(library.handle, symbol)) {
      *version = v;
      return table;
    }
  }
  *version = 0;
  return nullptr;
}

}  // namespace railwitness::chain
