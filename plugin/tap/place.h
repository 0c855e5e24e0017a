// Where in the process an address lies: in which loaded object, in which of its segments.
#ifndef RAILWITNESS_PLUGIN_TAP_PLACE_H_
#define RAILWITNESS_PLUGIN_TAP_PLACE_H_

#include <cstdint>

namespace railwitness::tap {

struct Place {
  const void* object;   // null: in none. Objects are told apart by it
  char file[128];       // last part of the object's path
  uint32_t flags;       // PF_R, PF_W, PF_X of the segment
  bool is_relro;        // was made read-only after relocation
  uintptr_t end;        // of the segment
};

Place locate(const void* address);
bool is_text_of(const void* address, const Place& object);

// Of a library that is this plugin too, but not this one: of another file, or loaded into another namespace.
bool is_of_another_copy(const void* address);

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_PLACE_H_
