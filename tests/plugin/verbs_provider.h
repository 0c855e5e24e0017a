// What every verbs provider of tests and bench shares, and the one that does nothing. fake_provider.h has the one that notes
// what it is asked.
#ifndef RAILWITNESS_TESTS_PLUGIN_VERBS_PROVIDER_H_
#define RAILWITNESS_TESTS_PLUGIN_VERBS_PROVIDER_H_

#include "plugin/tap/flows.h"

#include <infiniband/verbs.h>

#include <cstdio>
#include <initializer_list>

namespace railwitness::test {

// A device with one context, as libibverbs opens it. `Provider` has post_send, post_recv and poll_cq.
template <class Provider>
struct ContextOf {
  ibv_device device{};
  ibv_context context{};
  ibv_cq cq{};

  explicit ContextOf(const char* name) {
    snprintf(device.name, sizeof device.name, "%s", name);
    context.device = &device;
    context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.ops.post_send = Provider::post_send;
    context.ops.post_recv = Provider::post_recv;
    context.ops.poll_cq = Provider::poll_cq;
    cq.context = &context;
  }
  ContextOf(const ContextOf&) = delete;
  ContextOf& operator=(const ContextOf&) = delete;
};

// Accepts everything at once; every poll finds one completion, of whatever was put here.
struct QuietProvider {
  static inline ibv_wc next_completion{};

  static int post_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
  static int post_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
  static int poll_cq(ibv_cq*, int, ibv_wc* wc) { return *wc = next_completion, 1; }
};

// ibv_create_qp and three times ibv_modify_qp (INIT, RTR, RTS): what NCCL's connect does to a queue pair. `attributes` have
// the peer's number and address, and the port. Not tapped: the same work without the witness.
inline void connect_queue_pair(ibv_qp& qp, ibv_qp_attr attributes, bool is_tapped = true) {
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  constexpr int kReady = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int kSend = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN;
  attributes.ah_attr.port_num = attributes.port_num;
  attributes.ah_attr.is_global = 1;
  ibv_qp_init_attr init{};
  if (is_tapped) tap::flow_created(&qp, &init);
  for (const int mask : {kInit, kReady, kSend}) {
    attributes.qp_state = mask == kInit ? IBV_QPS_INIT : mask == kReady ? IBV_QPS_RTR : IBV_QPS_RTS;
    if (is_tapped) tap::flow_modified(&qp, &attributes, mask, 0);
  }
}

}  // namespace railwitness::test

#endif  // RAILWITNESS_TESTS_PLUGIN_VERBS_PROVIDER_H_
