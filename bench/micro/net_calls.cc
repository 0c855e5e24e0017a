// What mode chain adds to a net call: NCCL's frequent calls on a plugin that does nothing, through our table or not.
//
//     net_calls CASE chained|plain CALLS     runs one case, for callgrind; at most 100 calls, all may be outstanding
//     net_calls                              times all cases: best of 7, interleaved, nanoseconds per call
//
// The timer covers the calls and nothing else; what they need is prepared before it runs.
#include "plugin/chain/versions.h"
#include "plugin/engine/engine.h"
#include "plugin/shim/wiring.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"
#include "railwitness/nccl/net_v12.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" railwitness::nccl::NetV12 ncclNetPlugin_v12;

namespace {

using namespace railwitness;
using nccl::Result;

char request_of_plugin;
int answer;  // of test

namespace plugin {

Result init(void** context, uint64_t, nccl::NetCommConfigV12*, nccl::Logger, nccl::ProfilerCallback) {
  *context = &request_of_plugin;
  return nccl::kSuccess;
}
Result devices(int* count) { return *count = 1, nccl::kSuccess; }
Result get_properties(int, nccl::NetPropertiesV12* p) {
  static char name[] = "fake0";
  *p = {};
  p->name = name;
  p->max_recvs = 4;  // 128 receives, so that all calls of a case may be outstanding
  return nccl::kSuccess;
}
Result listen(void*, int, void*, void** comm) { return *comm = &request_of_plugin, nccl::kSuccess; }
Result connect(void*, int, void*, void** comm, void**) { return *comm = &request_of_plugin, nccl::kSuccess; }
Result accept(void*, void** comm, void**) { return *comm = &request_of_plugin, nccl::kSuccess; }
Result close(void*) { return nccl::kSuccess; }
Result reg_mr(void*, void*, size_t, int, void** mr) { return *mr = &request_of_plugin, nccl::kSuccess; }
Result dereg_mr(void*, void*) { return nccl::kSuccess; }
Result isend(void*, void*, size_t, int, void*, void*, void** request) {
  return *request = &request_of_plugin, nccl::kSuccess;
}
Result irecv(void*, int, void**, size_t*, int*, void**, void**, void** request) {
  return *request = &request_of_plugin, nccl::kSuccess;
}
Result test(void*, int* done, int* bytes) {
  if (answer) *bytes = 4096;
  return *done = answer, nccl::kSuccess;
}

constinit nccl::NetV12 table{.name = "fake", .init = init, .devices = devices, .get_properties = get_properties,
    .listen = listen, .connect = connect, .accept = accept, .reg_mr = reg_mr, .reg_mr_dma_buf = nullptr,
    .dereg_mr = dereg_mr, .isend = isend, .irecv = irecv, .iflush = nullptr, .test = test, .close_send = close,
    .close_recv = close, .close_listen = close, .get_device_mr = nullptr, .irecv_consumed = nullptr,
    .make_v_device = nullptr, .finalize = close, .set_net_attr = nullptr};

}  // namespace plugin

constexpr const char* kCases[] = {"isend", "irecv", "test, not done", "test, send done", "test, receive done",
                                  "isend + test done, nothing else outstanding"};
constexpr int kSlots = 100;

struct Bench {
  nccl::NetV12* net = &plugin::table;
  void* send_comm = nullptr;
  void* recv_comm = nullptr;
  void* request[kSlots] = {};
  int bytes[64] = {};
  size_t capacity[1] = {4096};
  int tags[1] = {0};
  void* data[1] = {nullptr};
  void* mrs[1] = {nullptr};

  void use(bool chained) {
    net = chained ? &ncclNetPlugin_v12 : &plugin::table;
    char handle[nccl::kHandleBytes] = {}, other[nccl::kHandleBytes] = {};
    void *context = nullptr, *listener = nullptr;
    net->init(&context, 1, nullptr, nullptr, nullptr);
    net->listen(context, 0, handle, &listener);
    memcpy(other, handle, sizeof handle);
    net->connect(context, 0, other, &send_comm, nullptr);
    net->accept(listener, &recv_comm, nullptr);
    if (send_comm && recv_comm) return;
    fprintf(stderr, "net_calls: there is no connection over %s\n", net->name);
    exit(1);
  }
};

[[gnu::always_inline]] inline void send(Bench& b, long i) {
  b.request[i] = nullptr;
  b.net->isend(b.send_comm, b.data, 4096, 0, nullptr, nullptr, &b.request[i]);
}
[[gnu::always_inline]] inline void receive(Bench& b, long i) {
  b.request[i] = nullptr;
  b.net->irecv(b.recv_comm, 1, b.data, b.capacity, b.tags, b.mrs, b.mrs, &b.request[i]);
}
[[gnu::always_inline]] inline void ask(Bench& b, long i, int is_done) {
  int done = -1;
  answer = is_done;
  b.net->test(b.request[i], &done, b.bytes);
}

[[gnu::always_inline]] inline void run(Bench& b, int which, long calls) {
  switch (which) {
    case 0:
      for (long i = 0; i < calls; i++) send(b, i);
      break;
    case 1:
      for (long i = 0; i < calls; i++) receive(b, i);
      break;
    case 2:
      for (long i = 0; i < calls; i++) ask(b, i, 0);
      break;
    case 5:
      for (long i = 0; i < calls; i++) send(b, i), ask(b, i, 1);
      break;
    default:
      for (long i = 0; i < calls; i++) ask(b, i, 1);
  }
}

// What the calls of a case need before them, and what finishes them after.
void prepare(Bench& b, int which, long calls) {
  for (long i = 0; (which == 2 || which == 3) && i < calls; i++) send(b, i);
  for (long i = 0; which == 4 && i < calls; i++) receive(b, i);
}
void finish(Bench& b, int which, long calls) {
  for (long i = 0; which < 3 && i < calls; i++) ask(b, i, 1);
}

double nanoseconds_of(Bench& b, int which, long calls) {
  uint64_t spent = 0;
  const long piece = which == 1 || which == 4 ? 32 : kSlots;
  for (long made = 0; made < calls; made += piece) {
    prepare(b, which, piece);
    const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
    run(b, which, piece);
    spent += read_clock_ns(CLOCK_MONOTONIC) - start;
    finish(b, which, piece);
  }
  return static_cast<double>(spent);
}

}  // namespace

constinit const shim::Wiring railwitness::shim::wiring{
    [] { return shim::Started{.is_off = false, .how = RAILWITNESS_ATTACH_NONE, .why_not = nullptr, .sidecar = nullptr}; },
    [] { return 0; }};

// Callgrind collects within this function only (--toggle-collect).
extern "C" [[gnu::noinline]] void measured(Bench& b, int which, long calls) { run(b, which, calls); }

int main(int argc, char** argv) {
  witness::start(witness::map_private());
  engine::choose_transport(chain::net_v12(&plugin::table, "libnccl-net-fake.so"));
  static Bench bench;
  if (argc == 4) {
    const int which = atoi(argv[1]);
    const long calls = std::min<long>(atol(argv[3]), kSlots);
    bench.use(!strcmp(argv[2], "chained"));
    for (const int first : {0, 1}) {  // the first call on a connection is a rare, slow one
      run(bench, first, 1);
      finish(bench, first, 1);
    }
    prepare(bench, which, calls);
    if (which < 2) run(bench, which, 1);  // something is outstanding, as in the middle of a transfer
    measured(bench, which, calls);
    return 0;
  }
  constexpr long kCalls = 400'000;
  for (int which = 0; which < 6; which++) {
    double best[2] = {1e18, 1e18};
    for (int round = 0; round < 7; round++)
      for (int is_chained = 0; is_chained < 2; is_chained++) {
        bench.use(is_chained);
        best[is_chained] = std::min(best[is_chained], nanoseconds_of(bench, which, kCalls) / kCalls);
      }
    printf("%-44s plain %5.2f ns  chained %5.2f ns  added %5.2f ns\n", kCases[which], best[0], best[1], best[1] - best[0]);
  }
}
