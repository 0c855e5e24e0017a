// Verbs calls on a provider that does nothing, tapped or not, one event of mode tap at a time. For tap_calls.cc, which counts
// their instructions, and micro.cc, which times them.
#ifndef RAILWITNESS_BENCH_MICRO_VERBS_EVENTS_H_
#define RAILWITNESS_BENCH_MICRO_VERBS_EVENTS_H_

#include "plugin/tap/context.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/verbs_provider.h"

#include <infiniband/verbs.h>

namespace railwitness::bench {

inline constexpr int kCallsAtOnce = 100;  // within the ring of 128 records: more outstanding is not the steady state
inline constexpr int kCompletionsAtOnce = 4;  // NCCL asks for as many

// Polls find as many completions as are told to be there, in the order of posting.
struct CountingProvider : test::QuietProvider {
  static inline uint64_t next_wr_id;
  static inline int completions;
  static inline ibv_wc_opcode opcode = IBV_WC_RDMA_WRITE;

  static int poll_cq(ibv_cq*, int, ibv_wc* wc) {
    for (int i = 0; i < completions; i++) {
      wc[i].wr_id = next_wr_id++;
      wc[i].status = IBV_WC_SUCCESS;
      wc[i].opcode = opcode;
      wc[i].byte_len = 4096;
      wc[i].qp_num = 77;
    }
    return completions;
  }
};

enum class Verbs : int { kPollNothing, kSend, kSendUnsignalled, kSendList, kReceive, kPollSend, kPollSends, kPollReceive,
                         kSendAndPoll };
inline constexpr int kVerbs = 9;

class VerbsEvents {
 public:
  VerbsEvents() {
    for (int i = 0; i < 2; i++) {
      send_[i].sg_list = &pieces_[i];
      send_[i].num_sge = 1;
    }
    qp_.qp_num = 77;
    tap::tap_context(&tapped_.context);
  }

  void use(bool is_tapped) { qp_.context = cq_.context = is_tapped ? &tapped_.context : &plain_.context; }

  static int events_a_call(Verbs what) { return what == Verbs::kPollSends ? kCompletionsAtOnce : 1; }

  // What the calls of an event need before them.
  void prepare(Verbs what, long calls) {
    if (what == Verbs::kPollSend || what == Verbs::kPollSends)
      for (long i = 0; i < calls * events_a_call(what); i++) make(Verbs::kSend);
    if (what == Verbs::kPollReceive)
      for (long i = 0; i < calls; i++) make(Verbs::kReceive);
    if (what == Verbs::kSendUnsignalled) make(Verbs::kSend);  // as of a queue that is never idle
  }

  [[gnu::always_inline]] void make(Verbs what) {
    switch (what) {
      case Verbs::kPollNothing: poll(0); break;
      case Verbs::kSend: post(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED); break;
      case Verbs::kSendUnsignalled: post(IBV_WR_RDMA_WRITE, 0); break;
      case Verbs::kSendList:  // as NCCL sends with adaptive routing
        send_[0].next = &send_[1];
        send_[1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        send_[1].send_flags = IBV_SEND_SIGNALED;
        send_[1].wr_id = posted_++;
        ibv_post_send(&qp_, &send_[0], &bad_send_);
        break;
      case Verbs::kReceive: ibv_post_recv(&qp_, &receive_, &bad_receive_); break;
      case Verbs::kPollSend: poll(1); break;
      case Verbs::kPollSends: poll(kCompletionsAtOnce); break;
      case Verbs::kPollReceive:
        CountingProvider::opcode = IBV_WC_RECV_RDMA_WITH_IMM;
        poll(1);
        CountingProvider::opcode = IBV_WC_RDMA_WRITE;
        break;
      case Verbs::kSendAndPoll:
        make_one_send_and_poll();
        break;
    }
  }

  // Completes what is outstanding, so that the next calls find an empty ring.
  void finish() {
    post(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED);  // completes the unsignalled before it
    CountingProvider::next_wr_id = posted_ - 1;
    poll(1);
  }

 private:
  [[gnu::always_inline]] void post(ibv_wr_opcode opcode, unsigned flags) {
    send_[1].opcode = opcode;
    send_[1].send_flags = flags;
    send_[1].wr_id = posted_++;
    ibv_post_send(&qp_, &send_[1], &bad_send_);
  }
  [[gnu::always_inline]] void poll(int completions) {
    CountingProvider::completions = completions;
    ibv_poll_cq(&cq_, kCompletionsAtOnce, wc_);
  }
  [[gnu::always_inline]] void make_one_send_and_poll() {
    post(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED);
    poll(1);
  }

  test::ContextOf<CountingProvider> plain_{"fake0"}, tapped_{"fake0"};
  ibv_qp qp_{};
  ibv_cq cq_{};
  ibv_sge pieces_[2] = {{0, 4096, 0}, {0, 64, 0}};
  ibv_send_wr send_[2]{};
  ibv_recv_wr receive_{};
  ibv_wc wc_[kCompletionsAtOnce]{};
  ibv_send_wr* bad_send_ = nullptr;
  ibv_recv_wr* bad_receive_ = nullptr;
  uint64_t posted_ = 0;
};

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_MICRO_VERBS_EVENTS_H_
