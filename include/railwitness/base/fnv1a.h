// FNV-1a of 64 bits: the same number on every machine and with every compiler. Against chance, not against an attacker.
#ifndef RAILWITNESS_BASE_FNV1A_H_
#define RAILWITNESS_BASE_FNV1A_H_

#include <cstddef>
#include <cstdint>

namespace railwitness {

constexpr uint64_t fnv1a_64(const char* text, size_t bytes) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ static_cast<uint8_t>(text[i])) * 1099511628211u;
  return hash;
}
static_assert(fnv1a_64("a", 1) == 0xaf63dc4c8601ec8c);  // of its authors' list of test vectors

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_FNV1A_H_
