// Finds and loads the plugin's library, the way NCCL finds it, and refuses ourselves.
#ifndef RAILWITNESS_PLUGIN_CHAIN_LIBRARY_H_
#define RAILWITNESS_PLUGIN_CHAIN_LIBRARY_H_

#include <cstddef>

namespace railwitness::chain {

struct Library {
  void* handle;    // null: not loaded
  char name[128];  // the file's name without its folder, as loaded
};

// `plugin` as for open(). On failure `why_not` gets the reason and what to do about it.
Library load(const char* plugin, char* why_not, size_t bytes);

// The newest table among `prefix`_v`newest` to _v`oldest`, and its version; null if there is none.
const void* newest_table(const Library& library, const char* prefix, int newest, int oldest, int* version);

// Whether `address` lies in the library that this code lies in.
bool is_in_ourselves(const void* address);

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_LIBRARY_H_
