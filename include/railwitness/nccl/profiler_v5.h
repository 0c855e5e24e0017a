// ncclProfiler_v5_t (NCCL 2.28 and later): the symbol ncclProfiler_v5.
#ifndef RAILWITNESS_NCCL_PROFILER_V5_H_
#define RAILWITNESS_NCCL_PROFILER_V5_H_

#include "railwitness/nccl/common.h"

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace railwitness::nccl {

struct ProfilerEventV5 {
  struct GroupApi {
    bool graph_captured;
    int group_depth;
  };
  struct CollApi {
    const char* func;
    size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graph_captured;
  };
  struct P2pApi {
    const char* func;
    size_t count;
    const char* datatype;
    void* stream;
    bool graph_captured;
  };
  struct KernelLaunch {
    void* stream;
  };
  struct Coll {
    uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    size_t count;
    int root;
    const char* datatype;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* parent_group;
  };
  struct P2p {
    const char* func;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void* parent_group;
  };
  struct ProxyOp {
    pid_t pid;  // of the process whose handle `parent` is
    uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int is_send;
  };
  struct ProxyStep {
    int step;
  };
  struct KernelChannel {
    uint8_t channel;
    uint64_t gpu_timer;
  };
  struct NetPlugin {
    int64_t id;
    void* data;
  };

  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};

union ProfilerStateV5 {
  size_t proxy_step_bytes;
  int appended_proxy_ops;
  void* net_plugin_data;
  uint64_t kernel_gpu_timer;
};

struct ProfilerV5 {
  const char* name;
  Result (*init)(void** context, uint64_t comm_id, int* activation_mask, const char* comm_name, int nodes, int ranks,
                 int rank, Logger log);
  Result (*start_event)(void* context, void** handle, ProfilerEventV5* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, ProfilerStateV5* arguments);
  Result (*finalize)(void* context);
};

using EventV5 = ProfilerEventV5;
static_assert(sizeof(EventV5) == 112 && offsetof(EventV5, type) == 0 && offsetof(EventV5, parent) == 8);
static_assert(offsetof(EventV5, rank) == 16 && offsetof(EventV5, coll) == 24);
static_assert(sizeof(EventV5::GroupApi) == 8 && offsetof(EventV5::GroupApi, group_depth) == 4);
static_assert(sizeof(EventV5::CollApi) == 48 && offsetof(EventV5::CollApi, func) == 0);
static_assert(offsetof(EventV5::CollApi, count) == 8 && offsetof(EventV5::CollApi, datatype) == 16);
static_assert(offsetof(EventV5::CollApi, root) == 24 && offsetof(EventV5::CollApi, stream) == 32);
static_assert(offsetof(EventV5::CollApi, graph_captured) == 40);
static_assert(sizeof(EventV5::P2pApi) == 40 && offsetof(EventV5::P2pApi, func) == 0);
static_assert(offsetof(EventV5::P2pApi, count) == 8 && offsetof(EventV5::P2pApi, datatype) == 16);
static_assert(offsetof(EventV5::P2pApi, stream) == 24 && offsetof(EventV5::P2pApi, graph_captured) == 32);
static_assert(sizeof(EventV5::KernelLaunch) == 8);
static_assert(sizeof(EventV5::Coll) == 88 && offsetof(EventV5::Coll, sequence) == 0);
static_assert(offsetof(EventV5::Coll, func) == 8 && offsetof(EventV5::Coll, send_buffer) == 16);
static_assert(offsetof(EventV5::Coll, recv_buffer) == 24 && offsetof(EventV5::Coll, count) == 32);
static_assert(offsetof(EventV5::Coll, root) == 40 && offsetof(EventV5::Coll, datatype) == 48);
static_assert(offsetof(EventV5::Coll, channels) == 56 && offsetof(EventV5::Coll, warps) == 57);
static_assert(offsetof(EventV5::Coll, algorithm) == 64 && offsetof(EventV5::Coll, protocol) == 72);
static_assert(offsetof(EventV5::Coll, parent_group) == 80);
static_assert(sizeof(EventV5::P2p) == 48 && offsetof(EventV5::P2p, func) == 0 && offsetof(EventV5::P2p, buffer) == 8);
static_assert(offsetof(EventV5::P2p, datatype) == 16 && offsetof(EventV5::P2p, count) == 24);
static_assert(offsetof(EventV5::P2p, peer) == 32 && offsetof(EventV5::P2p, channels) == 36);
static_assert(offsetof(EventV5::P2p, parent_group) == 40);
static_assert(sizeof(EventV5::ProxyOp) == 24 && offsetof(EventV5::ProxyOp, pid) == 0);
static_assert(offsetof(EventV5::ProxyOp, channel) == 4 && offsetof(EventV5::ProxyOp, peer) == 8);
static_assert(offsetof(EventV5::ProxyOp, steps) == 12 && offsetof(EventV5::ProxyOp, chunk_bytes) == 16);
static_assert(offsetof(EventV5::ProxyOp, is_send) == 20);
static_assert(sizeof(EventV5::ProxyStep) == 4 && sizeof(EventV5::KernelChannel) == 16);
static_assert(offsetof(EventV5::KernelChannel, gpu_timer) == 8);
static_assert(sizeof(EventV5::NetPlugin) == 16 && offsetof(EventV5::NetPlugin, data) == 8);
static_assert(sizeof(ProfilerStateV5) == 8);

static_assert(sizeof(ProfilerV5) == 48 && offsetof(ProfilerV5, name) == 0 && offsetof(ProfilerV5, init) == 8);
static_assert(offsetof(ProfilerV5, start_event) == 16 && offsetof(ProfilerV5, stop_event) == 24);
static_assert(offsetof(ProfilerV5, record_event_state) == 32 && offsetof(ProfilerV5, finalize) == 40);

}  // namespace railwitness::nccl

#endif  // RAILWITNESS_NCCL_PROFILER_V5_H_
