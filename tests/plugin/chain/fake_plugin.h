// A net plugin that does nothing and remembers what it was asked: its side and the test's side.
#ifndef RAILWITNESS_TESTS_PLUGIN_CHAIN_FAKE_PLUGIN_H_
#define RAILWITNESS_TESTS_PLUGIN_CHAIN_FAKE_PLUGIN_H_

#include "railwitness/nccl/common.h"

#include <atomic>
#include <cstdint>

namespace fake {

enum Function {
  kInit, kDevices, kListen, kConnect, kAccept, kRegMr, kRegMrDmaBuf, kDeregMr, kIsend, kIrecv, kIflush, kTest,
  kCloseSend, kCloseRecv, kCloseListen, kGetDeviceMr, kIrecvConsumed, kMakeVDevice, kFinalize, kSetNetAttr,
  kReduceSupport, kIallreduce, kIallgather, kIreducescatter, kCloseColl, kGetProperties
};

struct Call {
  Function function;
  int n;
  uint64_t words[12];  // the arguments in order, each widened to 64 bits
};

// Exported by each version as fake_vN.
struct Plugin {
  railwitness::nccl::Result result = railwitness::nccl::kSuccess;  // of every call
  void (*hook)(const Call& call) = nullptr;                        // during the call: looks behind pointers, writes
  bool is_quiet = false;                                           // only counts: may be called from several threads
  std::atomic<int> calls{0};
  Call last{};
};

// What get_properties answers; every field another value. Those that a version lacks are not given.
inline constexpr uint64_t kGuid = 0x1122334455667788;
inline constexpr int kPtrSupport = 7, kSpeed = 400000, kPort = 3, kMaxComms = 65536, kMaxRecvs = 8, kNetDeviceType = 1,
                     kNetDeviceVersion = 7, kRegIsGlobal = 1, kForceFlush = 1, kMultiRequest = 16;
inline constexpr float kLatency = 1.5f;
inline constexpr size_t kMaxP2p = size_t{5} << 30, kMaxColl = size_t{3} << 30;
inline constexpr int16_t kRail = 5, kPlane = 2;

}  // namespace fake

#endif  // RAILWITNESS_TESTS_PLUGIN_CHAIN_FAKE_PLUGIN_H_
