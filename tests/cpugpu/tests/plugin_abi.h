// NCCL's plugin interfaces as of 2.28: network v11, tuner v5, profiler v5.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace plugin_abi {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using ProfilerCallback = ncclResult_t (*)(void** event, int type, void* handle, int64_t pluginId, void* extra);

// --- network ----------------------------------------------------------------------------------------------------

constexpr int kPtrHost = 1, kPtrCuda = 2;
constexpr int kMaxHandleSize = 128;
constexpr int kMaxRequests = 32;  // NCCL keeps at most this many operations in flight per connection

struct VirtualDevice { int count; int devices[4]; };
struct NetCommConfig { int trafficClass; };

struct NetProperties {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush, speedMbps, port;
  float latency;
  int maxComms, maxRecvs;
  int netDeviceType, netDeviceVersion;
  VirtualDevice virtualDevice;
  size_t maxP2pBytes, maxCollBytes;
  int maxMultiRequestSize;
};

struct Net {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, NetCommConfig* config, Logger log, ProfilerCallback profiler);
  ncclResult_t (*devices)(int* count);
  ncclResult_t (*getProperties)(int device, NetProperties* properties);
  ncclResult_t (*listen)(void* context, int device, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* context, int device, void* handle, void** sendComm, void** deviceHandle);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, void** deviceHandle);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd, void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* comm, void* data, size_t size, int tag, void* mhandle, void* profiler, void** request);
  ncclResult_t (*irecv)(void* comm, int n, void** data, size_t* sizes, int* tags, void** mhandles, void** profilers,
                        void** request);
  ncclResult_t (*iflush)(void* comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* comm);
  ncclResult_t (*closeRecv)(void* comm);
  ncclResult_t (*closeListen)(void* comm);
  void* getDeviceMr;
  void* irecvConsumed;
  void* makeVDevice;
  ncclResult_t (*finalize)(void* context);
  ncclResult_t (*setNetAttr)(void* context, void* attributes);
};

// --- tuner ------------------------------------------------------------------------------------------------------

constexpr float kIgnore = -1;  // cost of combinations that NCCL cannot use

struct Tuner {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, size_t ranks, size_t nodes, Logger log, void* nvlDomains,
                       void* constants);
  ncclResult_t (*getCollInfo)(void* context, int collective, size_t bytes, int pipelined, float** costs, int algorithms,
                              int protocols, int registered, int* channels);
  ncclResult_t (*finalize)(void* context);
};

// --- profiler ---------------------------------------------------------------------------------------------------

constexpr int kEventTypes = 12;  // bits of the activation mask
constexpr const char* kEventNames[kEventTypes] = {"Group", "Coll", "P2p", "ProxyOp", "ProxyStep", "ProxyCtrl",
    "KernelCh", "NetPlugin", "GroupApi", "CollApi", "P2pApi", "KernelLaunch"};

constexpr uint64_t kEventColl = 1 << 1, kEventProxyOp = 1 << 3, kEventProxyStep = 1 << 4;

// States of a ProxyStep at which its size is known: isend was accepted; data of irecv has arrived.
constexpr int kStateSendWait = 9, kStateRecvFlushWait = 11;

struct ProfilerEvent {
  uint64_t type;
  void* parent;
  int rank;
  union {  // by type; only the one that is needed here
    struct {
      uint64_t sequence;
      const char* function;
      const void* sendBuffer;
      void* recvBuffer;
      size_t count;
      int root;
      const char* dataType;
      uint8_t channels, warps;
      const char *algorithm, *protocol;
    } coll;
    struct {
      pid_t pid;  // of the process whose handle `parent` is
      uint8_t channel;
      int peer, steps, chunkSize, isSend;
    } proxyOp;
  };
};
static_assert(offsetof(ProfilerEvent, coll.protocol) == 96 && offsetof(ProfilerEvent, proxyOp.isSend) == 44);

struct ProfilerStepArguments { size_t size; };  // of a ProxyStep's states

struct Profiler {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, int* activationMask, const char* commName, int nodes, int ranks,
                       int rank, Logger log);
  ncclResult_t (*startEvent)(void* context, void** handle, ProfilerEvent* event);
  ncclResult_t (*stopEvent)(void* handle);
  ncclResult_t (*recordEventState)(void* handle, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};

}  // namespace plugin_abi
