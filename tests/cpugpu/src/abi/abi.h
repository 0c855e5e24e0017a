// What libnccl shares with its GPU kernels, in a form that is the same for all versions.
//
// Host code in libnccl fills structures that the real kernels read from GPU memory and our emulated kernels read from
// host memory. They are internal to NCCL and change between releases. v2_22.h to v2_32.h have the layouts of each
// family of releases, as differences from the one before; versions.cpp turns them into the structures below. The one
// descriptor that fits the loaded libnccl is chosen at start. tools/check_layout.sh compares every offset with the
// debug information inside a libnccl.so.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace cpugpu::abi {

constexpr int kSteps = 8;          // slots in every connection's ring buffer
constexpr int kProtocols = 3;
constexpr int kProtoLL = 0, kProtoLL128 = 1, kProtoSimple = 2;
constexpr size_t kMaxNetSize = size_t{1} << 30;         // chunk size where user buffers are used directly, bytes
constexpr size_t kGrain[kProtocols] = {16, 1920, 512};  // unit of "chunkGrains", bytes
constexpr int kProfilerSlots = 64;

// --- layouts that have been the same since 2.22 -----------------------------------------------------------------

struct NetDeviceHandle { int type, version; void* handle; size_t size; int needsProxyProgress; };

constexpr int kDirectNic = 0x04;  // ConnInfo::flags: the network can read and write registered user buffers

// Connection between two ranks on one channel.
struct ConnInfo {
  char* buffers[kProtocols];
  void* mhandles[kProtocols];
  uint64_t* tail;  // steps produced: written by the sender, read by the receiver
  uint64_t* head;  // steps consumed: written by the receiver, read by the sender
  int flags;
  int shared;
  int stepSize;    // bytes per slot of the Simple buffer
  void** ptrExchange;
  uint64_t* redOpArgExchange;
  char* fifo;      // kSteps slots, see Version::fifoSlot
  uint64_t step;   // where the previous kernel on this connection stopped
  uint64_t llLastCleaning;
  NetDeviceHandle netDevice;
};

constexpr int kConnsPerPeer = 2;  // 0: collectives, 1: send/recv
struct ChannelPeer {
  ConnInfo send[kConnsPerPeer];
  ConnInfo recv[kConnsPerPeer];
};

constexpr int kMaxTreeArity = 3;
struct Tree {
  int depth;
  int up;                   // -1 at the root
  int down[kMaxTreeArity];  // -1 where there is none
};

struct alignas(16) WorkP2p {
  char* sendAddr;
  char* recvAddr;
  size_t sendBytes, recvBytes;
  int sendRank, recvRank;
  uint8_t nP2pChannels, channelBase;
  uint8_t nSendChannels, nRecvChannels;   // 0: nothing in that direction
  uint8_t sendChunkSizeFp8, recvChunkSizeFp8;
  uint8_t sendLL : 1, recvLL : 1;
  uint8_t sendNetReg : 1, recvNetReg : 1;
  uint8_t sendIpcReg : 1, recvIpcReg : 1; // since 2.23
  uint8_t profilerEnabled : 1;            // since 2.26.5
};

enum WorkStorage : uint8_t { kStorageArgs = 0, kStorageFifo = 1, kStoragePersistent = 2 };

// What one kernel launch has to do.
struct alignas(16) KernelArgs {   // followed by batches of work: the first one of the n-th block at index n
  void* comm;                     // and its channels: the versions' CommAndChannels
  uint64_t channelMask;
  WorkStorage workStorage;
  uint32_t workMask;
  char* workBuf;
};

static_assert(sizeof(ConnInfo) == 152 && sizeof(ChannelPeer) == 608 && sizeof(Tree) == 20);
static_assert(offsetof(ConnInfo, fifo) == 96 && offsetof(ConnInfo, step) == 104);
static_assert(sizeof(WorkP2p) == 48 && sizeof(KernelArgs) == 32);

// --- what the versions' layouts are turned into -----------------------------------------------------------------

// One slot of the queue between kernel and network proxy thread.
struct FifoSlot {
  volatile ssize_t* size;   // sender kernel -> proxy: bytes in this slot; -1 when the proxy is done with it
  bool isOffset;            // the payload is at buffer + offset; otherwise at the slot's fixed place
  ssize_t offset;
};

struct Ring {
  int prev, next;
  const int* userRanks;     // ranks in ring order, starting with this rank
  int index;                // this rank's position in the ring
};

struct Channel {
  ChannelPeer** peers;
  Ring ring;
  Tree tree;
  uint64_t* workCounter;    // work items ever run on this channel; null before 2.26
};

struct Comm {
  int rank, nRanks;
  int bufferSizes[kProtocols];
  int p2pChunkSize;
  volatile uint32_t* abortFlag;
  void *workStarted, *workCompleted;  // NCCL's profiler polls these; null before 2.26
};

struct WorkColl {
  int channelLo, channelHi;           // inclusive range of channels that share this work
  bool redOpArgIsPtr, regUsed, netRegUsed, isOneRankPerNode, profilerEnabled;
  uint32_t root;
  char *recvbuff, *sendbuff;
  // Elements of the first, of every middle and of the last channel, and their chunk sizes in grains.
  size_t countLo, countMid, countHi;
  size_t chunkGrainsLo, chunkGrainsMid, chunkGrainsHi;
  uint64_t redOpArg;
};

enum WorkType { kWorkP2p, kWorkColl, kWorkCollReg, kWorkBcast, kWorkTypes };

struct WorkBatch {
  int nextJump;             // distance to this channel's next batch, 0 at the end
  bool nextExtends;         // the next batch belongs to the same device function call
  WorkType type;
  unsigned funcId;
  uint32_t offsetBase;
  uint64_t offsetBitset;    // bit i: there is a work item at offsetBase + i * itemSize[type]
};

// A family of releases.
struct Version {
  const char* name;
  int first, last;                    // as ncclGetVersion() gives them; all in between have these layouts
  int channels;                       // room for that many
  // Numbering of device functions.
  int types;                          // ncclNumTypes
  bool hasPat, hasAllGatherV;         // rows of the function table
  bool reversesParts;                 // parts of a send/recv are dealt to channels in bit-reversed order
  size_t itemSize[kWorkTypes];        // 0: no such work
  FifoSlot (*fifoSlot)(char* fifo, size_t slot);
  Comm (*comm)(const KernelArgs& args);
  Channel (*channel)(const KernelArgs& args, int channel);
  WorkBatch (*batch)(const KernelArgs& args, int index);
  WorkColl (*coll)(const char* item);
  // Tells NCCL's profiler the number of a work item that a channel has started or completed.
  void (*report)(void* counters, int channel, uint64_t number, uint64_t nanoseconds);
};

// Null if no layouts are known for this value of ncclGetVersion().
const Version* findVersion(int ncclVersion);

// The loaded libnccl's; null before chooseVersion() and if it is not known.
const Version* version();
void chooseVersion(int ncclVersion);

// --- numbering of device functions, the same in all versions ----------------------------------------------------

enum Collective { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce, kSendRecv, kAllGatherV };
enum DevRedOp { kSum, kProd, kMinMax, kPreMulSum, kSumPostDiv, kDevRedOps };
constexpr int kMaxTypes = 12;
// Algorithms each collective has kernels for, in the order of libnccl's function table. PAT came last, with 2.23.
enum Algorithm { kRing, kTree, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
constexpr Algorithm kAllGatherAlgos[] = {kRing, kCollnetDirect, kNvls, kPat};
constexpr Algorithm kAllReduceAlgos[] = {kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree};
constexpr Algorithm kRingOnly[] = {kRing};

}  // namespace cpugpu::abi
