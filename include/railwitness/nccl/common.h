// What NCCL's plugin interfaces share, declared by us: no header of NCCL is needed to build.
#ifndef RAILWITNESS_NCCL_COMMON_H_
#define RAILWITNESS_NCCL_COMMON_H_

#include <cstddef>
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

// Net v10 and later: tells the profiler of events below a transfer.
using ProfilerCallback = Result (*)(void** event, int type, void* handle, int64_t plugin, void* data);

inline constexpr size_t kHandleBytes = 128;                     // NCCL_NET_HANDLE_MAXSIZE
inline constexpr size_t kMaxNetBytes = size_t{1} << 40;         // NCCL_MAX_NET_SIZE_BYTES
inline constexpr int kPtrHost = 1, kPtrCuda = 2, kPtrDmabuf = 4;  // NCCL_PTR_*
inline constexpr int kNetDeviceHost = 0;                        // NCCL_NET_DEVICE_HOST
inline constexpr int kUndefined = -1;  // NCCL_NET_TRAFFIC_CLASS_UNDEF, NCCL_NET_ID_UNDEF, NCCL_NET_ATTR_UNDEF
// A receive whose caller does not need to know when it is done: `*request` as irecv gets it (NCCL 2.24 and later).
inline constexpr uintptr_t kOptionalCompletion = 1;

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_COMMON_H_
