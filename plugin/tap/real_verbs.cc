#include "plugin/tap/real_verbs.h"

#include <dlfcn.h>

namespace railwitness::tap {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlvsym(library, name, "IBVERBS_1.1"));
  return function != nullptr;
}

}  // namespace

constinit RealVerbs real_verbs{};

void* find_real_verbs() {
  void* library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NODELETE);
  if (!library) return nullptr;
  RealVerbs v{};
  const bool whole = find(library, "ibv_get_device_list", v.get_device_list) &&
                     find(library, "ibv_free_device_list", v.free_device_list) &&
                     find(library, "ibv_get_device_guid", v.get_device_guid) &&
                     find(library, "ibv_query_port", v.query_port) && find(library, "ibv_query_gid", v.query_gid) &&
                     find(library, "ibv_query_qp", v.query_qp);
  if (!whole) return nullptr;
  real_verbs = v;
  return library;
}

}  // namespace railwitness::tap
