#include "plugin/engine/handles.h"

#include <cstdint>
#include <cstdlib>

namespace railwitness::engine {
namespace {

size_t hash_of(const void* handle) {
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(handle) >> 4) * 0x9E3779B97F4A7C15ull >> 20);
}

}  // namespace

// Where it is, or where it would be put.
size_t Handles::place_of(const void* handle) const {
  size_t at = hash_of(handle) & (size_ - 1);
  while (places_[at] && places_[at] != handle) at = (at + 1) & (size_ - 1);
  return at;
}

bool Handles::grow() {
  const size_t old_size = size_;
  const void** const old = places_;
  const size_t size = old_size ? 2 * old_size : 64;
  auto** places = static_cast<const void**>(calloc(size, sizeof(void*)));
  if (!places) return false;
  places_ = places;
  size_ = size;
  for (size_t i = 0; i < old_size; i++)
    if (old[i]) places_[place_of(old[i])] = old[i];
  free(old);
  return true;
}

bool Handles::add(const void* handle) {
  pthread_mutex_lock(&mutex_);
  const bool has_room = 2 * (used_ + 1) <= size_ || grow();
  if (has_room) {
    const void*& place = places_[place_of(handle)];
    if (!place) used_++;
    place = handle;
  }
  pthread_mutex_unlock(&mutex_);
  return has_room;
}

bool Handles::take(const void* handle) {
  pthread_mutex_lock(&mutex_);
  size_t at = size_ ? place_of(handle) : 0;
  const bool is_there = size_ && places_[at];
  if (is_there) {
    places_[at] = nullptr;
    used_--;
    // Those behind it move up, or they would not be found any more.
    for (size_t next = (at + 1) & (size_ - 1); places_[next]; next = (next + 1) & (size_ - 1)) {
      const void* moved = places_[next];
      places_[next] = nullptr;
      places_[place_of(moved)] = moved;
    }
  }
  pthread_mutex_unlock(&mutex_);
  return is_there;
}

}  // namespace railwitness::engine
