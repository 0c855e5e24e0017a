#include "plugin/tap/place.h"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

namespace railwitness::tap {
namespace {

struct Query {
  uintptr_t address;
  Place place;
};

int look(dl_phdr_info* info, size_t, void* data) {
  Query& q = *static_cast<Query*>(data);
  bool is_here = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& h = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    if (q.address < begin || q.address - begin >= h.p_memsz) continue;
    if (h.p_type == PT_GNU_RELRO) q.place.is_relro = true;
    if (h.p_type != PT_LOAD) continue;
    is_here = true;
    q.place.flags = h.p_flags;
    q.place.end = begin + h.p_memsz;
  }
  if (!is_here) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  q.place.object = info->dlpi_phdr;
  snprintf(q.place.file, sizeof q.place.file, "%.127s", slash ? slash + 1 : info->dlpi_name);
  return 1;
}

}  // namespace

Place locate(const void* address) {
  Query query{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(look, &query);
  return query.place;
}

bool is_of_another_copy(const void* address) {
  Dl_info its, ours;
  if (!dladdr(address, &its) || !its.dli_fname || !dladdr(reinterpret_cast<void*>(&is_of_another_copy), &ours)) return false;
  if (its.dli_fbase == ours.dli_fbase) return false;
  void* library = dlopen(its.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  // A name that a library of its own has, and not one that it needs.
  Dl_info mark;
  const void* found = dlsym(library, "railwitness_plugin");
  const bool is_plugin = found && dladdr(found, &mark) && mark.dli_fbase == its.dli_fbase;
  dlclose(library);
  return is_plugin;
}

bool is_text_of(const void* address, const Place& object) {
  const Place place = locate(address);
  return (place.flags & PF_X) && place.object == object.object;
}

}  // namespace railwitness::tap
