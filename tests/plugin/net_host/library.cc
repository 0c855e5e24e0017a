#include "tests/plugin/net_host/library.h"

#include <dlfcn.h>

namespace railwitness::net_host {

std::vector<int> known_versions(int version) {
  const int oldest = version >= 10 ? 6 : version >= 7 ? 5 : 4;
  std::vector<int> known;
  for (int v = version; v >= oldest; v--) known.push_back(v);
  return known;
}

Library::Library(const Options& options, const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  REQUIRE(handle_, "%s", dlerror());
  print_log(options.verbose);
  for (const int v : known_versions(options.version)) {
    const void* table = find("ncclNetPlugin_v" + std::to_string(v));
    if (!table) continue;
    if (v >= abi::kOldest) net_ = make_net(v, table);
    break;  // the first one wins; NCCL does not look further
  }
}

Net& Library::net() const {
  if (!net_) skip("the library has no table that this NCCL knows: it would go on without, silently");
  return *net_;
}

void* Library::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

void Library::unload() {
  net_.reset();
  REQUIRE(dlclose(handle_) == 0, "%s", dlerror());
  handle_ = nullptr;
}

loop::Counts counts(const Options& options) {
  loop::Counts out{};
  void* handle = options.inner.empty() ? nullptr : dlopen(options.inner.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto get = handle ? reinterpret_cast<loop::CountsFunction>(dlsym(handle, "loop_counts")) : nullptr;
  if (!get) skip("what the plugin holds cannot be counted: it is not the loop plugin");
  get(&out);
  dlclose(handle);
  return out;
}

}  // namespace railwitness::net_host
