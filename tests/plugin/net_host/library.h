// A plugin's library, opened and searched as NCCL does it.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_LIBRARY_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_LIBRARY_H_

#include "tests/plugin/net_host/loop/loop.h"
#include "tests/plugin/net_host/net.h"
#include "tests/plugin/net_host/rank.h"

#include <memory>
#include <string>
#include <vector>

namespace railwitness::net_host {

// The versions that the NCCL whose newest is `version` looks for, newest first.
std::vector<int> known_versions(int version);

class Library {
 public:
  explicit Library(const Options& options) : Library(options, options.plugin) {}
  Library(const Options&, const std::string& path);
  Net& net() const;  // fails the case if the library has no table that this NCCL knows
  bool has_net() const { return net_ != nullptr; }
  void* find(const std::string& symbol) const;
  void unload();  // as NCCL 2.28.3 and later do with the last communicator

 private:
  void* handle_;
  std::unique_ptr<Net> net_;
};

// What the loop plugin of this process holds; the case is skipped if there is none.
loop::Counts counts(const Options&);

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_LIBRARY_H_
