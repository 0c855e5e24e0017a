// Every version of the net slot over one transport: what NCCL would call, and what the transport is told.
#include "plugin/engine/engine.h"
#include "plugin/shim/convert.h"
#include "plugin/witness/recorder.h"
#include "railwitness/nccl/net_v12.h"
#include "railwitness/nccl/net_v6.h"
#include "railwitness/nccl/net_v7.h"
#include "railwitness/nccl/net_v8.h"
#include "tests/plugin/fake_transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

extern "C" {
extern railwitness::nccl::NetV6 ncclNetPlugin_v6;
extern railwitness::nccl::NetV7 ncclNetPlugin_v7;
extern railwitness::nccl::NetV8 ncclNetPlugin_v8;
extern railwitness::nccl::NetV9 ncclNetPlugin_v9;
extern railwitness::nccl::NetV10 ncclNetPlugin_v10;
extern railwitness::nccl::NetV11 ncclNetPlugin_v11;
extern railwitness::nccl::NetV12 ncclNetPlugin_v12;
}

namespace railwitness {
namespace {

using nccl::Result;

template <typename Net>
constexpr bool has_config = requires(Net n, nccl::NetCommConfigV10* c, void** p) { n.connect(0, c, nullptr, p, nullptr); };
template <typename Net>
constexpr bool has_context = requires(Net n) { n.finalize; };
template <typename Net>
constexpr bool has_profiler = has_config<Net> || has_context<Net>;
template <typename Net>
constexpr bool has_device_handles = requires(Net n) { n.get_device_mr; };

template <typename Function>
struct Argument;
template <typename Properties>
struct Argument<Result (*)(int, Properties*)> {
  using Type = Properties;
};
template <typename Net>
using PropertiesOf = typename Argument<decltype(Net::get_properties)>::Type;
struct Tables {
  template <typename Net>
  static Net& of();
};
template <> nccl::NetV6& Tables::of() { return ncclNetPlugin_v6; }
template <> nccl::NetV7& Tables::of() { return ncclNetPlugin_v7; }
template <> nccl::NetV8& Tables::of() { return ncclNetPlugin_v8; }
template <> nccl::NetV9& Tables::of() { return ncclNetPlugin_v9; }
template <> nccl::NetV10& Tables::of() { return ncclNetPlugin_v10; }
template <> nccl::NetV11& Tables::of() { return ncclNetPlugin_v11; }
template <> nccl::NetV12& Tables::of() { return ncclNetPlugin_v12; }

template <typename Net>
class EveryVersion : public testing::Test {
 protected:
  void SetUp() override {
    witness::forget_everything();
    witness::start(witness::map_private());
    engine::forget_transport();
    engine::choose_transport(&fake);
  }
  void TearDown() override { engine::forget_transport(); }

  Result init() {
    nccl::NetCommConfigV10 config{5};
    if constexpr (has_context<Net>) return net.init(&context, 0xC0FFEE, &config, nullptr, nullptr);
    else if constexpr (has_config<Net>) return net.init(nullptr, nullptr);
    else return net.init(nullptr);
  }
  Result listen(void* handle, void** comm) {
    if constexpr (has_context<Net>) return net.listen(context, 0, handle, comm);
    else return net.listen(0, handle, comm);
  }
  Result connect(void* handle, void** comm) {
    nccl::NetCommConfigV10 config{5};
    if constexpr (has_context<Net>) return net.connect(context, 0, handle, comm, nullptr);
    else if constexpr (has_config<Net>) return net.connect(0, &config, handle, comm, nullptr);
    else if constexpr (has_device_handles<Net>) return net.connect(0, handle, comm, nullptr);
    else return net.connect(0, handle, comm);
  }
  Result accept(void* listener, void** comm) {
    if constexpr (has_device_handles<Net>) return net.accept(listener, comm, nullptr);
    else return net.accept(listener, comm);
  }
  Result isend(void* comm, int bytes, void** request) {
    if constexpr (has_profiler<Net>) return net.isend(comm, nullptr, bytes, 17, nullptr, &fake, request);
    else return net.isend(comm, nullptr, bytes, 17, nullptr, request);
  }
  template <typename Bytes>
  Result irecv(void* comm, int n, Bytes* bytes, void** request) {
    int tags[8] = {};
    if constexpr (has_profiler<Net>) return net.irecv(comm, n, nullptr, bytes, tags, nullptr, nullptr, request);
    else return net.irecv(comm, n, nullptr, bytes, tags, nullptr, request);
  }

  Net& net = Tables::of<Net>();
  FakeTransport fake;
  void* context = nullptr;
};

using Versions = testing::Types<nccl::NetV6, nccl::NetV7, nccl::NetV8, nccl::NetV9, nccl::NetV10, nccl::NetV11, nccl::NetV12>;
TYPED_TEST_SUITE(EveryVersion, Versions);

TYPED_TEST(EveryVersion, SetsEveryPropertyItHasOverWhatWasInMemory) {
  PropertiesOf<TypeParam> p, q;
  memset(static_cast<void*>(&p), 0xAA, sizeof p);
  memset(static_cast<void*>(&q), 0x55, sizeof q);
  ASSERT_EQ(this->init(), nccl::kSuccess);
  ASSERT_EQ(this->net.get_properties(0, &p), nccl::kSuccess);
  ASSERT_EQ(this->net.get_properties(0, &q), nccl::kSuccess);
  EXPECT_STREQ(p.name, "fake0");
  EXPECT_EQ(p.guid, 0x1122334455667788u);
  EXPECT_EQ(p.speed_mbps, 400000);
  EXPECT_EQ(p.port, 1);
  EXPECT_EQ(p.latency_us, 1.5F);
  EXPECT_EQ(p.max_comms, 65536);
  EXPECT_EQ(p.max_recvs, 8);
  EXPECT_EQ(p.ptr_support, nccl::kPtrHost);
  if constexpr (requires { p.net_device_version; }) {
    EXPECT_EQ(p.net_device_version, 7);
  }
  if constexpr (requires { p.reg_is_global; }) {
    EXPECT_EQ(p.reg_is_global, 1);
  }
  if constexpr (requires { p.force_flush; }) {
    EXPECT_EQ(p.force_flush, 2);
  }
  if constexpr (requires { p.max_p2p_bytes; }) {
    EXPECT_EQ(p.max_p2p_bytes, nccl::kMaxNetBytes);
    EXPECT_EQ(p.max_coll_bytes, size_t{1} << 29);
    EXPECT_EQ(p.vprops.ndevs, std::min<int>(6, std::size(p.vprops.devs)));
    EXPECT_EQ(p.vprops.devs[3], 3);
  }
  if constexpr (requires { p.max_multi_request_size; }) {
    EXPECT_EQ(p.max_multi_request_size, 1);
  }
  if constexpr (requires { p.rail_id; }) {
    EXPECT_EQ(p.rail_id, 3);
    EXPECT_EQ(p.plane_id, 2);
  }
  EXPECT_EQ(memcmp(&p, &q, sizeof p), 0) << "no byte is what it was before";
}

TYPED_TEST(EveryVersion, MovesBytesBothWays) {
  ASSERT_EQ(this->init(), nccl::kSuccess);
  char handle[nccl::kHandleBytes];
  void *listener = nullptr, *sender = nullptr, *receiver = nullptr;
  ASSERT_EQ(this->listen(handle, &listener), nccl::kSuccess);
  ASSERT_EQ(this->connect(handle, &sender), nccl::kSuccess);
  ASSERT_EQ(this->accept(listener, &receiver), nccl::kSuccess);
  ASSERT_NE(sender, nullptr);
  ASSERT_NE(receiver, nullptr);

  void* mr = nullptr;
  EXPECT_EQ(this->net.reg_mr(sender, handle, 4096, nccl::kPtrHost, &mr), nccl::kSuccess);
  EXPECT_NE(mr, nullptr);
  EXPECT_EQ(this->fake.bytes_registered, 4096u);
  EXPECT_NE(this->net.reg_mr_dma_buf(sender, handle, 4096, nccl::kPtrCuda, 0, -1, &mr), nccl::kSuccess)
      << "so that NCCL falls back to reg_mr";

  void* sent = nullptr;
  ASSERT_EQ(this->isend(sender, 3000, &sent), nccl::kSuccess);
  EXPECT_EQ(this->fake.bytes_sent, 3000u);
  EXPECT_EQ(this->fake.tag, 17);
  EXPECT_EQ(this->fake.profiler, has_profiler<TypeParam> ? &this->fake : nullptr);
  void* received = reinterpret_cast<void*>(uintptr_t{1});
  if constexpr (std::is_same_v<decltype(TypeParam::irecv), decltype(nccl::NetV6::irecv)>) {
    int bytes[8] = {64, 64, 64};
    ASSERT_EQ(this->irecv(receiver, 3, bytes, &received), nccl::kSuccess);
    EXPECT_EQ(this->fake.hint, nullptr) << "what is in *request means nothing";
  } else {
    size_t bytes[8] = {64, 64, 64};
    ASSERT_EQ(this->irecv(receiver, 3, bytes, &received), nccl::kSuccess);
    EXPECT_EQ(this->fake.hint, reinterpret_cast<void*>(nccl::kOptionalCompletion));
  }
  EXPECT_EQ(this->fake.bytes_sent, 64u);

  int done = -1, moved[64] = {};
  EXPECT_EQ(this->net.test(sent, &done, moved), nccl::kSuccess);
  EXPECT_EQ(done, 0);
  this->fake.finish(0, {3000});
  this->fake.finish(1, {7, 8, 9});
  EXPECT_EQ(this->net.test(sent, &done, moved), nccl::kSuccess);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(moved[0], 3000);
  EXPECT_EQ(this->net.test(received, &done, moved), nccl::kSuccess);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(moved[2], 9);
  EXPECT_EQ(this->net.close_send(sender), nccl::kSuccess);
  EXPECT_EQ(this->net.close_recv(receiver), nccl::kSuccess);
  EXPECT_EQ(this->net.close_listen(listener), nccl::kSuccess);
  EXPECT_EQ(this->fake.closed, 3);
}

TYPED_TEST(EveryVersion, HasNoDevicesWithoutATransportAndNeverFails) {
  engine::forget_transport();
  int count = -1;
  EXPECT_EQ(this->init(), nccl::kSuccess);
  EXPECT_EQ(this->net.devices(&count), nccl::kSuccess);
  EXPECT_EQ(count, 0);
  PropertiesOf<TypeParam> p{};
  EXPECT_EQ(this->net.get_properties(0, &p), nccl::kInternalError);
  char handle[nccl::kHandleBytes] = {};
  void* comm = &comm;
  EXPECT_EQ(this->listen(handle, &comm), nccl::kInternalError);
  EXPECT_EQ(this->connect(handle, &comm), nccl::kInternalError);
  EXPECT_EQ(comm, nullptr);
  if constexpr (has_context<TypeParam>) {
    EXPECT_NE(this->context, nullptr);
    EXPECT_EQ(this->net.finalize(this->context), nccl::kSuccess);
    EXPECT_EQ(this->net.finalize(nullptr), nccl::kSuccess);
    EXPECT_EQ(this->net.set_net_attr(this->context, nullptr), nccl::kSuccess);
  }
}

TYPED_TEST(EveryVersion, HasItsNameAndEveryFunctionButThatForVirtualDevices) {
  EXPECT_STREQ(this->net.name, "railwitness");
  this->fake.has_virtual = true;
  ASSERT_EQ(this->init(), nccl::kSuccess);
  const auto* words = reinterpret_cast<void* const*>(&this->net);
  for (size_t i = 0; i < sizeof this->net / 8; i++) EXPECT_NE(words[i], nullptr) << i;
}

TYPED_TEST(EveryVersion, OffersVirtualDevicesOnlyIfTheTransportHasThem) {
  if constexpr (requires(TypeParam n) { n.make_v_device; }) {
    ASSERT_EQ(this->init(), nccl::kSuccess);
    EXPECT_EQ(this->net.make_v_device, nullptr);
    this->fake.has_virtual = true;
    ASSERT_EQ(this->init(), nccl::kSuccess);
    ASSERT_NE(this->net.make_v_device, nullptr);
    decltype(PropertiesOf<TypeParam>::vprops) members{};
    members.ndevs = 2;
    members.devs[0] = 4;
    members.devs[1] = 1;
    int made = -1;
    EXPECT_EQ(this->net.make_v_device(&made, &members), nccl::kSuccess);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(this->fake.members.count, 2);
    EXPECT_EQ(this->fake.members.devices[0], 4);
  }
}

TYPED_TEST(EveryVersion, GivesTheTransportAContextForEachCommunicatorOrOneForAll) {
  ASSERT_EQ(this->init(), nccl::kSuccess);
  ASSERT_EQ(this->init(), nccl::kSuccess);
  if constexpr (has_context<TypeParam>) {
    EXPECT_EQ(this->fake.inits, 2);
    EXPECT_EQ(this->fake.comm_id, 0xC0FFEEu);
    EXPECT_EQ(this->fake.traffic_class, 5);
    EXPECT_EQ(this->net.finalize(this->context), nccl::kSuccess);
    EXPECT_EQ(this->fake.finalized, 1);
    nccl::NetAttrV11 attributes{};
    EXPECT_EQ(this->net.set_net_attr(this->context, &attributes), nccl::kSuccess);
    EXPECT_EQ(this->fake.context_seen, this->context);
  } else {
    EXPECT_EQ(this->fake.inits, 1);
    EXPECT_EQ(this->fake.traffic_class, nccl::kUndefined);
    char handle[nccl::kHandleBytes] = {};
    void* comm = nullptr;
    ASSERT_EQ(this->connect(handle, &comm), nccl::kSuccess);
    EXPECT_EQ(this->fake.inits, has_config<TypeParam> ? 2 : 1) << "another traffic class is another context";
    EXPECT_EQ(this->fake.traffic_class, has_config<TypeParam> ? 5 : nccl::kUndefined);
    EXPECT_EQ(this->net.close_send(comm), nccl::kSuccess);
  }
}

}  // namespace
}  // namespace railwitness
