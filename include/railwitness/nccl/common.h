// What NCCL's plugin interfaces share, declared by us: no header of NCCL is needed to build.
#ifndef RAILWITNESS_NCCL_COMMON_H_
#define RAILWITNESS_NCCL_COMMON_H_

#include <cstdint>

namespace railwitness::nccl {

enum Result : int {  // ncclResult_t
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum LogLevel : int {  // ncclDebugLogLevel
  kLogNone = 0,
  kLogVersion = 1,
  kLogWarn = 2,
  kLogInfo = 3,
  kLogAbort = 4,
  kLogTrace = 5,
};

inline constexpr unsigned long kLogInit = 1, kLogNet = 16;  // ncclDebugLogSubSys

using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line, const char* format, ...);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COMMON_H_
