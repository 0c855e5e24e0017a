// A verbs provider for tests: its functions note their arguments, accept or refuse as told, and complete what is queued.
#ifndef RAILWITNESS_TESTS_PLUGIN_FAKE_PROVIDER_H_
#define RAILWITNESS_TESTS_PLUGIN_FAKE_PROVIDER_H_

#include "plugin/tap/context.h"
#include "plugin/tap/flows.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/verbs_provider.h"

#include <infiniband/verbs.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <vector>

namespace railwitness::test {

struct FakeProvider {
  static inline int post_calls = 0, result = 0, accept = 0;  // accepts `accept` requests, if result is not 0
  static inline const void* last_list = nullptr;
  static inline const void* last_bad = nullptr;
  static inline std::deque<ibv_wc> queue;
  static inline std::vector<ibv_qp_attr> asked;  // what query_qp answers with, by number of calls

  static int post_send(ibv_qp*, ibv_send_wr* list, ibv_send_wr** bad) {
    post_calls++, last_list = list, last_bad = bad;
    if (result)
      for (int i = 0; list; i++, list = list->next)
        if (i == accept) *bad = list;
    return result;
  }
  static int post_recv(ibv_qp*, ibv_recv_wr* list, ibv_recv_wr** bad) {
    post_calls++, last_list = list, last_bad = bad;
    if (result)
      for (int i = 0; list; i++, list = list->next)
        if (i == accept) *bad = list;
    return result;
  }
  static int poll_cq(ibv_cq*, int entries, ibv_wc* wc) {
    int n = 0;
    for (; n < entries && !queue.empty(); n++) wc[n] = queue.front(), queue.pop_front();
    return n;
  }
  static void reset() {
    post_calls = result = accept = 0;
    queue.clear();
  }
};

// A device with one context.
struct FakeContext : ContextOf<FakeProvider> {
  explicit FakeContext(const char* name = "fake_0") : ContextOf(name) {}
};

struct FakeQp {
  ibv_qp qp{};
  FakeQp(FakeContext& c, uint32_t number) {
    qp.context = &c.context;
    qp.qp_num = number;
  }
};

// One send request with one piece.
struct Request {
  ibv_sge sge{};
  ibv_send_wr wr{};
  Request(ibv_wr_opcode opcode, uint32_t bytes, uint64_t id, bool signalled = true) {
    sge.length = bytes;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.wr_id = id;
    wr.send_flags = signalled ? IBV_SEND_SIGNALED : 0;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

inline ibv_wc completion(uint32_t qpn, uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS, int opcode = IBV_WC_RDMA_WRITE,
                         uint32_t bytes = 0) {
  ibv_wc wc{};
  wc.qp_num = qpn;
  wc.wr_id = id;
  wc.status = status;
  wc.opcode = static_cast<ibv_wc_opcode>(opcode);
  wc.byte_len = bytes;
  return wc;
}

inline int post(FakeQp& qp, Request& request) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(&qp.qp, &request.wr, &bad);
}

inline int post_receive(FakeQp& qp, int n = 1) {
  std::vector<ibv_recv_wr> list(static_cast<size_t>(n));
  for (int i = 0; i + 1 < n; i++) list[static_cast<size_t>(i)].next = &list[static_cast<size_t>(i) + 1];
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(&qp.qp, list.data(), &bad);
}

inline int poll(FakeContext& c, int entries = 16) {
  std::vector<ibv_wc> wc(static_cast<size_t>(entries));
  return ibv_poll_cq(&c.cq, entries, wc.data());
}

// The recorder in private memory, empty again for each test.
struct FreshRecorder {
  FreshRecorder() {
    for (tap::Slot& slot : tap::slots)
      if (slot.context) slot.flows.clear(), slot.context = nullptr;
    tap::real_verbs = {};
    witness::forget_everything();
    witness::start(witness::map_private());
    FakeProvider::reset();
  }
};

// As if a sidecar gave no further segment.
inline void refuse_parts() {
  witness::set_growth([](const witness::Memory&, bool, witness::Part&) { return false; });
}

inline const railwitness_state& state_of(uint32_t flow) { return *witness::lines_of(*witness::base(), flow).state; }
inline const railwitness_identity& identity_of(uint32_t flow) {
  return *witness::lines_of(*witness::base(), flow).identity;
}
inline const railwitness_record& record_of(uint32_t flow, uint64_t i) {
  return witness::lines_of(*witness::base(), flow).records[i % witness::kRecords];
}
inline const railwitness_writer& writer() { return *witness::base()->writer; }
inline const railwitness_control& event_of(uint64_t i) { return witness::base()->control[i % RAILWITNESS_CONTROL_CAPACITY]; }

inline std::vector<railwitness_control> events_of_kind(int kind) {
  std::vector<railwitness_control> found;
  for (uint64_t i = 0; i < writer().control_reserved && i < RAILWITNESS_CONTROL_CAPACITY; i++)
    if (event_of(i).kind == kind) found.push_back(event_of(i));
  return found;
}

}  // namespace railwitness::test

#endif  // RAILWITNESS_TESTS_PLUGIN_FAKE_PROVIDER_H_
