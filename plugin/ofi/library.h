// libfabric, opened by name and never linked: a job without it must still load the plugin. All else of libfabric's API
// is inline functions over tables that these six hand out (rdma/*.h).
#ifndef RAILWITNESS_PLUGIN_OFI_LIBRARY_H_
#define RAILWITNESS_PLUGIN_OFI_LIBRARY_H_

#include "railwitness/base/status.h"

#include <cstdint>

#include <rdma/fabric.h>

namespace railwitness::ofi {

struct Library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
  decltype(&::fi_version) version;
  uint32_t api;  // what we ask fi_getinfo for: the library's version, at most the one of the headers we were built with
};

// Not thread-safe; the caller sees to it that it runs once. Never closed again.
Status open_library(Library* library);

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_LIBRARY_H_
