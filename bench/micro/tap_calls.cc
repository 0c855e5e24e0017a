// What the tap adds to a call: verbs calls on a provider that does nothing, tapped or not.
//
//     tap_calls CASE tapped|plain CALLS     runs one case, for callgrind
//     tap_calls                             times all cases: best of 7, interleaved, nanoseconds per call
//
// The timer covers the loop and nothing else. The clock of the process says what the machine can: no NIC is involved.
#include "plugin/tap/context.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace railwitness;

uint64_t wr_id;
int completions;

int fake_post_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
int fake_post_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
int fake_poll_cq(ibv_cq*, int, ibv_wc* wc) {
  for (int i = 0; i < completions; i++) {
    wc[i].wr_id = wr_id;
    wc[i].status = IBV_WC_SUCCESS;
    wc[i].opcode = IBV_WC_RDMA_WRITE;
    wc[i].qp_num = 77;
  }
  return completions;
}

struct Bench {
  ibv_device device{};
  ibv_context plain{}, tapped{};
  ibv_qp qp{};
  ibv_cq cq{};
  ibv_sge sge[2] = {{0, 4096, 0}, {0, 64, 0}};
  ibv_send_wr send[2]{};
  ibv_recv_wr recv{};
  ibv_wc wc[4]{};
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr* bad_recv = nullptr;

  Bench() {
    strcpy(device.name, "fake0");
    for (ibv_context* c : {&plain, &tapped}) {
      c->device = &device;
      c->abi_compat = __VERBS_ABI_IS_EXTENDED;
      c->ops.post_send = fake_post_send;
      c->ops.post_recv = fake_post_recv;
      c->ops.poll_cq = fake_poll_cq;
    }
    for (int i = 0; i < 2; i++) {
      send[i].sg_list = &sge[i];
      send[i].num_sge = 1;
    }
    send[1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    send[1].send_flags = IBV_SEND_SIGNALED;
    qp.qp_num = 77;
    witness::start(witness::map_private());
    tap::tap_context(&tapped);
  }

  void use(ibv_context& context) { qp.context = cq.context = &context; }
};

constexpr const char* kCases[] = {"poll_cq, empty", "post_send, 1 WR signalled", "post_send + poll_cq with 1 completion",
                                  "post_send, 2 WRs, last signalled", "post_recv, 1 WR"};

[[gnu::always_inline]] inline void run(Bench& b, int which, long calls) {
  for (long i = 0; i < calls; i++) {
    b.send[1].wr_id = wr_id = static_cast<uint64_t>(i);
    switch (which) {
      case 0:
        completions = 0;
        ibv_poll_cq(&b.cq, 4, b.wc);
        break;
      case 1:
        ibv_post_send(&b.qp, &b.send[1], &b.bad_send);
        break;
      case 2:
        completions = 1;
        ibv_post_send(&b.qp, &b.send[1], &b.bad_send);
        ibv_poll_cq(&b.cq, 4, b.wc);
        break;
      case 3:
        b.send[0].next = &b.send[1];
        ibv_post_send(&b.qp, &b.send[0], &b.bad_send);
        break;
      case 4:
        ibv_post_recv(&b.qp, &b.recv, &b.bad_recv);
        break;
    }
  }
}

// In pieces that fit the ring of records; what is left in it is completed between them, off the clock.
double nanoseconds_of(Bench& b, int which, long calls) {
  constexpr long kPiece = 64;
  uint64_t spent = 0;
  for (long done = 0; done < calls; done += kPiece) {
    const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
    run(b, which, kPiece);
    spent += read_clock_ns(CLOCK_MONOTONIC) - start;
    completions = 1;
    for (long i = 0; which != 2 && i < kPiece; i++) {
      wr_id = static_cast<uint64_t>(i);
      ibv_poll_cq(&b.cq, 4, b.wc);
    }
  }
  return static_cast<double>(spent);
}

}  // namespace

// Callgrind collects within this function only (--toggle-collect).
extern "C" [[gnu::noinline]] void measured(Bench& b, int which, long calls) { run(b, which, calls); }

int main(int argc, char** argv) {
  static Bench bench;
  if (argc == 4) {
    bench.use(strcmp(argv[2], "tapped") ? bench.plain : bench.tapped);
    run(bench, atoi(argv[1]), 4);  // the first post of a flow is a rare, slow one
    measured(bench, atoi(argv[1]), atol(argv[3]));
    return 0;
  }
  constexpr long kCalls = 2'000'000;
  for (int which = 0; which < 5; which++) {
    double best[2] = {1e18, 1e18};
    for (int round = 0; round < 7; round++)
      for (int tapped = 0; tapped < 2; tapped++) {
        bench.use(tapped ? bench.tapped : bench.plain);
        best[tapped] = std::min(best[tapped], nanoseconds_of(bench, which, kCalls) / kCalls);
      }
    printf("%-40s untapped %5.2f ns  tapped %5.2f ns  tap %5.2f ns\n", kCases[which], best[0], best[1], best[1] - best[0]);
  }
}
