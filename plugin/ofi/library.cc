#include "plugin/ofi/library.h"

#include <dlfcn.h>

namespace railwitness::ofi {
namespace {

// Ubuntu 22.04 ships 1.11, the oldest in a container of today.
constexpr uint32_t kOldest = FI_VERSION(1, 11);
constexpr uint32_t kNewestTried = FI_VERSION(1, 17);

template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

Status open_library(Library* library) {
  // RTLD_GLOBAL would let libfabric's own symbols reach other plugins of the process.
  void* opened = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!opened)
    return Status::failed(
        "libfabric.so.1 cannot be opened; install libfabric1 (Debian, Ubuntu) or libfabric (RHEL), or put the folder of "
        "your own into LD_LIBRARY_PATH");
  const bool complete = find(opened, "fi_getinfo", &library->getinfo) && find(opened, "fi_freeinfo", &library->freeinfo) &&
                        find(opened, "fi_dupinfo", &library->dupinfo) && find(opened, "fi_fabric", &library->fabric) &&
                        find(opened, "fi_strerror", &library->strerror) && find(opened, "fi_version", &library->version);
  if (!complete) return Status::failed("libfabric.so.1 lacks functions of libfabric; is it another library of that name?");
  const uint32_t version = library->version();
  if (FI_VERSION_LT(version, kOldest)) return Status::failed("libfabric is older than 1.11; install a newer one");
  library->api = FI_VERSION_LT(version, kNewestTried) ? version : kNewestTried;
  return Status::ok();
}

}  // namespace railwitness::ofi
