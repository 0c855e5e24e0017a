// What NCCL holds a pointer to, so that one that it gives back twice, or never got, is an error instead of a crash. Asked
// when things are made and closed, never by a transfer.
#ifndef RAILWITNESS_PLUGIN_ENGINE_HANDLES_H_
#define RAILWITNESS_PLUGIN_ENGINE_HANDLES_H_

#include <cstddef>

#include <pthread.h>

namespace railwitness::engine {

// A set of pointers; never freed, as nothing of the plugin is. Any thread.
class Handles {
 public:
  bool add(const void* handle);   // false: no memory
  bool take(const void* handle);  // false: it is not in there

 private:
  size_t place_of(const void* handle) const;
  bool grow();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  const void** places_ = nullptr;  // open addressing; a power of two, at most half in use
  size_t size_ = 0, used_ = 0;
};

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_HANDLES_H_
