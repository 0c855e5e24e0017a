// Turns each version's layouts into the structures of abi.h. The members have the same names in all versions, so one
// template serves them all.
#include "v2_32.h"

#include <array>

namespace cpugpu::abi {
namespace {

template <typename V>
struct CommAndChannels {
  alignas(16) typename V::Comm comm;
  typename V::Channel channels[V::kChannels];
};

template <typename V>
FifoSlot fifoSlot(char* fifo, size_t slot) {
  volatile auto& entry = reinterpret_cast<typename V::ConnFifo*>(fifo)[slot];
  return {&entry.size, entry.mode == V::kFifoOffset, entry.offset};
}

template <typename V>
Comm comm(const KernelArgs& args) {
  const auto& raw = static_cast<const CommAndChannels<V>*>(args.comm)->comm;
  Comm made = {raw.rank, raw.nRanks, {}, raw.p2pChunkSize, raw.abortFlag, nullptr, nullptr};
  for (int protocol = 0; protocol < kProtocols; protocol++) made.bufferSizes[protocol] = raw.bufferSizes[protocol];
  if constexpr (requires { raw.workStarted; }) {
    made.workStarted = raw.workStarted;
    made.workCompleted = raw.workCompleted;
  }
  return made;
}

template <typename V>
Channel channel(const KernelArgs& args, int number) {
  auto& raw = static_cast<CommAndChannels<V>*>(args.comm)->channels[number];
  Channel made = {raw.peers, {raw.ring.prev, raw.ring.next, raw.ring.userRanks, raw.ring.index}, raw.tree, nullptr};
  if constexpr (requires { raw.workCounter; }) made.workCounter = &raw.workCounter;
  return made;
}

template <typename V>
WorkBatch batch(const KernelArgs& args, int index) {
  const auto& raw = reinterpret_cast<const typename V::WorkBatch*>(&args + 1)[index];
  return {static_cast<int>(raw.nextJump), raw.nextExtends != 0, static_cast<WorkType>(raw.workType), raw.funcId,
          raw.offsetBase, raw.offsetBitset};
}

template <typename V>
WorkColl coll(const char* item) {
  const auto& raw = *reinterpret_cast<const typename V::WorkColl*>(item);
  WorkColl made = {};
  made.channelLo = raw.channelLo;
  made.channelHi = raw.channelHi;
  made.redOpArgIsPtr = raw.redOpArgIsPtr != 0;
  made.regUsed = raw.regUsed != 0;
  if constexpr (requires { raw.netRegUsed; }) {
    made.netRegUsed = raw.netRegUsed != 0;
    made.isOneRankPerNode = raw.isOneRankPerNode != 0;
    made.profilerEnabled = raw.profilerEnabled != 0;
  }
  made.root = raw.root;
  made.recvbuff = raw.recvbuff;
  made.sendbuff = raw.sendbuff;
  made.countLo = raw.countLo;
  made.countMid = raw.countMid;
  made.countHi = raw.countHi;
  made.chunkGrainsLo = raw.chunkGrainsLo;
  made.chunkGrainsMid = raw.chunkGrainsMid;
  made.chunkGrainsHi = raw.chunkGrainsHi;
  made.redOpArg = raw.redOpArg;
  return made;
}

template <typename V>
void report(void* counters, int channel, uint64_t number, uint64_t nanoseconds) {
  if constexpr (requires { typename V::ProfilerCounters; }) {
    auto& counter = static_cast<typename V::ProfilerCounters*>(counters)[channel];
    if constexpr (requires { counter.slots; }) {
      auto& slot = counter.slots[number % kProfilerSlots];
      slot.timestamp = nanoseconds;
      __atomic_store_n(&slot.counter, number, __ATOMIC_RELEASE);
    } else {
      __atomic_store_n(&counter, number, __ATOMIC_RELEASE);
    }
  }
}

template <typename V>
constexpr Version describe() {
  return {V::kName, V::kFirst, V::kLast, V::kChannels, V::kTypes, V::kHasPat, V::kHasAllGatherV, V::kReversesParts,
          {sizeof(WorkP2p), sizeof(typename V::WorkColl), sizeof(typename V::WorkColl) + V::kCollRegPointers,
           V::kBcastSize},
          fifoSlot<V>, comm<V>, channel<V>, batch<V>, coll<V>, report<V>};
}

constexpr std::array kVersions = {describe<V2_22>(), describe<V2_23>(), describe<V2_24>(), describe<V2_25>(),
                                  describe<V2_26>(), describe<V2_27>(), describe<V2_28>(), describe<V2_29>(),
                                  describe<V2_30>(), describe<V2_31>(), describe<V2_32>()};

const Version* chosen = nullptr;

}  // namespace

const Version* findVersion(int ncclVersion) {
  for (const Version& version : kVersions) {
    if (ncclVersion >= version.first && ncclVersion <= version.last) return &version;
  }
  return nullptr;
}

const Version* version() { return chosen; }
void chooseVersion(int ncclVersion) { chosen = findVersion(ncclVersion); }

}  // namespace cpugpu::abi
