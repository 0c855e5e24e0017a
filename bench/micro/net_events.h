// NCCL's frequent net calls on a transport that does nothing, one event at a time: through our table, over a chained
// plugin or over a transport of ours (as mode ofi), or on the plugin's own table. For net_calls.cc, which counts their
// instructions, and micro.cc, which times them. Included by one file of a program: it defines what plugin.cc defines.
#ifndef RAILWITNESS_BENCH_MICRO_NET_EVENTS_H_
#define RAILWITNESS_BENCH_MICRO_NET_EVENTS_H_

#include "plugin/chain/versions.h"
#include "plugin/engine/engine.h"
#include "plugin/shim/wiring.h"
#include "railwitness/nccl/net_v12.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

extern "C" railwitness::nccl::NetV12 ncclNetPlugin_v12;

namespace railwitness::bench {

using nccl::Result;

inline constexpr int kRequestsAtOnce = 100;

namespace fake_net {

inline char thing;               // that comms, requests and so on point to
inline int answer;               // of test
inline bool takes_none = false;  // isend and irecv: as while the peer has given no clear-to-send

inline Result init(void** context, uint64_t, nccl::NetCommConfigV12*, nccl::Logger, nccl::ProfilerCallback) {
  return *context = &thing, nccl::kSuccess;
}
inline Result devices(int* count) { return *count = 1, nccl::kSuccess; }
inline Result get_properties(int, nccl::NetPropertiesV12* p) {
  static char name[] = "fake0";
  *p = {};
  p->name = name;
  p->max_recvs = 4;  // 128 receives, so that all calls of an event may be outstanding
  return nccl::kSuccess;
}
inline Result listen(void*, int, void*, void** comm) { return *comm = &thing, nccl::kSuccess; }
inline Result connect(void*, int, void*, void** comm, void**) { return *comm = &thing, nccl::kSuccess; }
inline Result accept(void*, void** comm, void**) { return *comm = &thing, nccl::kSuccess; }
inline Result close(void*) { return nccl::kSuccess; }
inline Result reg_mr(void*, void*, size_t, int, void** mr) { return *mr = &thing, nccl::kSuccess; }
inline Result dereg_mr(void*, void*) { return nccl::kSuccess; }
inline Result isend(void*, void*, size_t, int, void*, void*, void** request) {
  return *request = takes_none ? nullptr : &thing, nccl::kSuccess;
}
inline Result irecv(void*, int, void**, size_t*, int*, void**, void**, void** request) {
  return *request = takes_none ? nullptr : &thing, nccl::kSuccess;
}
inline Result test(void*, int* done, int* bytes) {
  if (answer) *bytes = 4096;
  return *done = answer, nccl::kSuccess;
}

inline constinit nccl::NetV12 table{.name = "fake", .init = init, .devices = devices, .get_properties = get_properties,
    .listen = listen, .connect = connect, .accept = accept, .reg_mr = reg_mr, .reg_mr_dma_buf = nullptr,
    .dereg_mr = dereg_mr, .isend = isend, .irecv = irecv, .iflush = nullptr, .test = test, .close_send = close,
    .close_recv = close, .close_listen = close, .get_device_mr = nullptr, .irecv_consumed = nullptr,
    .make_v_device = nullptr, .finalize = close, .set_net_attr = nullptr};

// The same as a transport of ours, called as plugin/ofi is.
class OwnTransport final : public engine::Transport {
 public:
  const char* description() const override { return "fake"; }
  Result init(void** context, uint64_t, const engine::CommConfig&, nccl::Logger, nccl::ProfilerCallback) override {
    return fake_net::init(context, 0, nullptr, nullptr, nullptr);
  }
  Result finalize(void*) override { return nccl::kSuccess; }
  Result devices(int* count) override { return fake_net::devices(count); }
  Result properties(int, engine::DeviceProperties* p) override {
    *p = {};
    p->name = "fake0";
    p->max_recvs = 4;
    return nccl::kSuccess;
  }
  Result make_virtual_device(int*, const engine::VirtualDevice&) override { return nccl::kInvalidUsage; }
  bool has_virtual_devices() const override { return false; }
  Result listen(void*, int, void*, void** comm) override { return *comm = &thing, nccl::kSuccess; }
  Result connect(void*, int, void*, void** comm, void**) override { return *comm = &thing, nccl::kSuccess; }
  Result accept(void*, void** comm, void**) override { return *comm = &thing, nccl::kSuccess; }
  Result close_listen(void*) override { return nccl::kSuccess; }
  Result close_send(void*) override { return nccl::kSuccess; }
  Result close_recv(void*) override { return nccl::kSuccess; }
  void describe(void*, bool, engine::Ends*) override {}
  Result register_memory(void*, void*, size_t, int, void** mr) override { return *mr = &thing, nccl::kSuccess; }
  Result register_dmabuf(void*, void*, size_t, int, uint64_t, int, void**) override { return nccl::kInvalidUsage; }
  Result deregister(void*, void*) override { return nccl::kSuccess; }
  Result get_device_mr(void*, void*, void**) override { return nccl::kInvalidUsage; }
  Result isend(void*, void*, size_t, int, void*, void*, void**) override { return nccl::kInternalError; }  // calls()
  Result irecv(void*, int, void**, size_t*, int*, void**, void**, void**) override { return nccl::kInternalError; }
  Result iflush(void*, int, void**, int*, void**, void** request) override { return *request = nullptr, nccl::kSuccess; }
  Result test(void*, int*, int*) override { return nccl::kInternalError; }
  engine::Calls calls() const override { return {fake_net::isend, fake_net::irecv, fake_net::test}; }
  Result irecv_consumed(void*, int, void*) override { return nccl::kSuccess; }
  Result set_attributes(void*, const void*) override { return nccl::kSuccess; }
};
inline constinit OwnTransport own_transport;

}  // namespace fake_net

enum class Net : int { kSend, kSendNotTaken, kReceive, kReceiveNotTaken, kTestNotDone, kTestSendDone, kTestReceiveDone,
                       kSendAndTest };
inline constexpr int kNets = 8;

// Before the first `use(true)`; for good.
inline void choose_fake_transport(bool is_chained) {
  engine::choose_transport(is_chained ? chain::net_v12(&fake_net::table, "libnccl-net-fake.so") : &fake_net::own_transport);
}

class NetEvents {
 public:
  void use(bool is_witnessed) {
    net_ = is_witnessed ? &ncclNetPlugin_v12 : &fake_net::table;
    char handle[nccl::kHandleBytes] = {}, other[nccl::kHandleBytes] = {};
    void *context = nullptr, *listener = nullptr;
    net_->init(&context, 1, nullptr, nullptr, nullptr);
    net_->listen(context, 0, handle, &listener);
    memcpy(other, handle, sizeof handle);
    net_->connect(context, 0, other, &send_comm_, nullptr);
    net_->accept(listener, &recv_comm_, nullptr);
    if (!send_comm_ || !recv_comm_) {
      fprintf(stderr, "there is no connection over %s\n", net_->name);
      exit(1);
    }
    for (const Net first : {Net::kSend, Net::kReceive}) {  // the first call on a connection is a rare, slow one
      make(first, 0);
      finish(first, 1);
    }
  }

  // What the calls of an event need before them.
  void prepare(Net what, long calls) {
    const Net before = what == Net::kTestReceiveDone ? Net::kReceive : Net::kSend;
    if (what == Net::kTestNotDone || what == Net::kTestSendDone || what == Net::kTestReceiveDone)
      for (long i = 0; i < calls; i++) make(before, i);
    if (what == Net::kSend || what == Net::kReceive) make(what, kRequestsAtOnce);  // as in the middle of a transfer
    fake_net::takes_none = what == Net::kSendNotTaken || what == Net::kReceiveNotTaken;
    fake_net::answer = what != Net::kTestNotDone;
  }

  [[gnu::always_inline]] void make(Net what, long i) {
    switch (what) {
      case Net::kSend:
      case Net::kSendNotTaken: send(i); break;
      case Net::kReceive:
      case Net::kReceiveNotTaken: receive(i); break;
      case Net::kTestNotDone:
      case Net::kTestSendDone:
      case Net::kTestReceiveDone: ask(i); break;
      case Net::kSendAndTest:
        send(i);
        ask(i);
        break;
    }
  }

  // Ends what is outstanding.
  void finish(Net what, long calls) {
    fake_net::takes_none = false;
    fake_net::answer = 1;
    if (what == Net::kSend || what == Net::kReceive || what == Net::kTestNotDone)
      for (long i = 0; i < calls; i++) ask(i);
    if (request_[kRequestsAtOnce]) ask(kRequestsAtOnce);
    request_[kRequestsAtOnce] = nullptr;
  }

 private:
  [[gnu::always_inline]] void send(long i) {
    request_[i] = nullptr;
    net_->isend(send_comm_, data_, 4096, 0, nullptr, nullptr, &request_[i]);
  }
  [[gnu::always_inline]] void receive(long i) {
    request_[i] = nullptr;
    net_->irecv(recv_comm_, 1, data_, capacity_, tags_, mrs_, mrs_, &request_[i]);
  }
  [[gnu::always_inline]] void ask(long i) {
    int done = -1;
    net_->test(request_[i], &done, bytes_);
  }

  nccl::NetV12* net_ = &fake_net::table;
  void* send_comm_ = nullptr;
  void* recv_comm_ = nullptr;
  void* request_[kRequestsAtOnce + 1] = {};
  int bytes_[64] = {};
  size_t capacity_[1] = {4096};
  int tags_[1] = {0};
  void* data_[1] = {nullptr};
  void* mrs_[1] = {nullptr};
};

}  // namespace railwitness::bench

constinit const railwitness::shim::Wiring railwitness::shim::wiring{
    [] { return Started{.is_off = false, .how = RAILWITNESS_ATTACH_NONE, .why_not = nullptr, .sidecar = nullptr}; },
    [] { return 0; }};

#endif  // RAILWITNESS_BENCH_MICRO_NET_EVENTS_H_
