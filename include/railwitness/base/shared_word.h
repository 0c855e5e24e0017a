// Access to words that another thread or process reads meanwhile. Plain moves on x86-64 and aarch64, never a locked
// instruction; the compiler may neither tear nor invent them.
#ifndef RAILWITNESS_BASE_SHARED_WORD_H_
#define RAILWITNESS_BASE_SHARED_WORD_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace railwitness {

template <typename T>
inline T load_relaxed(const T& word) {
  static_assert(std::is_scalar_v<T> && sizeof(T) <= 8);
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

template <typename T>
inline T load_acquire(const T& word) {
  static_assert(std::is_scalar_v<T> && sizeof(T) <= 8);
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

template <typename T>
inline void store_relaxed(T& word, std::type_identity_t<T> value) {
  static_assert(std::is_scalar_v<T> && sizeof(T) <= 8);
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

template <typename T>
inline void store_release(T& word, std::type_identity_t<T> value) {
  static_assert(std::is_scalar_v<T> && sizeof(T) <= 8);
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

// For words with one writer: not one atomic operation, and need not be. On x86-64 one plain instruction instead of three.
template <typename T>
inline void add_relaxed(T& word, std::type_identity_t<T> value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  if constexpr (sizeof(T) == 8) {
    asm("addq %1, %0" : "+m"(word) : "er"(value) : "cc");
    return;
  } else if constexpr (sizeof(T) == 4) {
    asm("addl %1, %0" : "+m"(word) : "er"(value) : "cc");
    return;
  }
#endif
  store_relaxed(word, static_cast<T>(load_relaxed(word) + value));
}

// The same on eight aligned bytes of whatever type.
using AliasingWord [[gnu::may_alias]] = uint64_t;

inline uint64_t load_word(const void* at) {
  return __atomic_load_n(static_cast<const AliasingWord*>(at), __ATOMIC_RELAXED);
}

inline void store_word(void* at, uint64_t value) {
  __atomic_store_n(static_cast<AliasingWord*>(at), value, __ATOMIC_RELAXED);
}

inline void store_word_release(void* at, uint64_t value) {
  __atomic_store_n(static_cast<AliasingWord*>(at), value, __ATOMIC_RELEASE);
}

inline void copy_words(void* to, const void* from, size_t bytes) {
  for (size_t i = 0; i + 8 <= bytes; i += 8)
    store_word(static_cast<char*>(to) + i, load_word(static_cast<const char*>(from) + i));
}

inline void clear_words(void* at, size_t bytes) {
  for (size_t i = 0; i + 8 <= bytes; i += 8) store_word(static_cast<char*>(at) + i, 0);
}

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_SHARED_WORD_H_
