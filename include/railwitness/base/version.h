// The version of this tree, in the form of railwitness_writer.plugin_version.
#ifndef RAILWITNESS_BASE_VERSION_H_
#define RAILWITNESS_BASE_VERSION_H_

#include <cstdint>

namespace railwitness {

inline constexpr uint32_t kVersionMajor = 0, kVersionMinor = 1, kVersionPatch = 0;
inline constexpr uint32_t kVersion = kVersionMajor << 16 | kVersionMinor << 8 | kVersionPatch;
inline constexpr const char* kVersionText = "0.1.0";

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_VERSION_H_
