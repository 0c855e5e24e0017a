// A profiler plugin for libnccl 2.28 (profiler v5) that counts what NCCL itself says it sent and received over the
// network: an independent witness for tests of a net plugin, which must have seen the same bytes.
//
//   NCCL_PROFILER_PLUGIN=.../libcount_profiler.so COUNT_PROFILER_OUT=/tmp/count  program
//
// Whenever a communicator is finalized, the process rewrites $COUNT_PROFILER_OUT.<rank> (its rank in the first
// communicator; without the variable: nothing is written):
//
//   sent_bytes 1048576
//   received_bytes 1048576
//   send peer 1 channel 0 steps 8 bytes 1048576        one line per peer, channel and direction
//   recv peer 1 channel 0 steps 8 bytes 1048576
//
// A send counts when isend accepted it, a receive when its data has arrived.  Steps that intra-node transports move are
// not seen.  Called from proxy threads; takes a lock only when an operation starts.
#include "plugin_abi.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

using namespace plugin_abi;

struct Count {
  std::atomic<uint64_t> steps{0}, bytes{0};
};

// Peers are ranks of the communicator: counts of different communicators with the same numbers are added up.
struct Key {
  bool isSend;
  int peer, channel;
  auto operator<=>(const Key&) const = default;
};

std::mutex mutex;                 // of the map's shape, not of the counts
std::map<Key, Count>& counts() {  // never destroyed: proxy threads may outlive main
  static auto* const map = new std::map<Key, Count>;
  return *map;
}
std::atomic<int> firstRank{-1};
char dummy;  // NCCL ignores a profiler whose context is null, and events whose handle is null

ncclResult_t init(void** context, uint64_t, int* mask, const char*, int, int, int rank, Logger) {
  int none = -1;
  firstRank.compare_exchange_strong(none, rank);
  *context = &dummy;
  *mask = static_cast<int>(kEventProxyOp | kEventProxyStep);
  return ncclSuccess;
}

// The handle of an operation, and of each of its steps, is the count they belong to.
ncclResult_t startEvent(void*, void** handle, ProfilerEvent* event) {
  *handle = &dummy;
  if (event->type == kEventProxyOp) {
    const auto& op = event->proxyOp;
    const std::lock_guard lock(mutex);
    *handle = &counts()[Key{op.isSend != 0, op.peer, op.channel}];
  } else if (event->type == kEventProxyStep) {
    *handle = event->parent;
  }
  return ncclSuccess;
}

ncclResult_t stopEvent(void*) { return ncclSuccess; }

ncclResult_t recordEventState(void* handle, int state, void* arguments) {
  if (handle == nullptr || handle == &dummy || arguments == nullptr) return ncclSuccess;
  if (state != kStateSendWait && state != kStateRecvFlushWait) return ncclSuccess;
  auto* const count = static_cast<Count*>(handle);
  count->steps++;
  count->bytes += static_cast<ProfilerStepArguments*>(arguments)->size;
  return ncclSuccess;
}

ncclResult_t finalize(void*) {
  const char* const prefix = std::getenv("COUNT_PROFILER_OUT");
  if (prefix == nullptr) return ncclSuccess;
  const std::lock_guard lock(mutex);
  std::array<uint64_t, 2> total = {0, 0};
  std::string lines;
  for (const auto& [key, count] : counts()) {
    total[key.isSend ? 1 : 0] += count.bytes;
    lines += std::string(key.isSend ? "send" : "recv") + " peer " + std::to_string(key.peer) + " channel " +
             std::to_string(key.channel) + " steps " + std::to_string(count.steps) + " bytes " +
             std::to_string(count.bytes) + "\n";
  }
  const std::string path = std::string(prefix) + "." + std::to_string(firstRank);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    return ncclSystemError;
  }
  std::fprintf(file, "sent_bytes %llu\nreceived_bytes %llu\n%s", static_cast<unsigned long long>(total[1]),
               static_cast<unsigned long long>(total[0]), lines.c_str());
  std::fclose(file);
  return ncclSuccess;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Profiler ncclProfiler_v5 = {"count", init, startEvent, stopEvent, recordEventState, finalize};
}
