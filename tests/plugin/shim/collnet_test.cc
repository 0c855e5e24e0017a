// Every version of the CollNet slot over one CollNet.
#include "plugin/engine/collnet.h"
#include "railwitness/nccl/collnet_v10.h"
#include "railwitness/nccl/collnet_v11.h"
#include "railwitness/nccl/collnet_v6.h"
#include "railwitness/nccl/collnet_v7.h"
#include "railwitness/nccl/collnet_v8.h"
#include "tests/plugin/fake_transport.h"

#include <gtest/gtest.h>

extern "C" {
extern railwitness::nccl::CollNetV6 ncclCollNetPlugin_v6;
extern railwitness::nccl::CollNetV7 ncclCollNetPlugin_v7;
extern railwitness::nccl::CollNetV8 ncclCollNetPlugin_v8;
extern railwitness::nccl::CollNetV9 ncclCollNetPlugin_v9;
extern railwitness::nccl::CollNetV10 ncclCollNetPlugin_v10;
extern railwitness::nccl::CollNetV11 ncclCollNetPlugin_v11;
}

namespace railwitness {
namespace {

using engine::Result;

class FakeCollNet final : public engine::CollNet {
 public:
  int inits = 0, finalized = 0;
  size_t count = 0, registered = 0, part_bytes = 0;

  const char* description() const override { return "fake"; }
  Result init(void** context, uint64_t, nccl::Logger) override { return inits++, *context = this, nccl::kSuccess; }
  Result finalize(void*) override { return finalized++, nccl::kSuccess; }
  Result devices(int* n) override { return *n = 2, nccl::kSuccess; }
  Result properties(int device, engine::DeviceProperties* p) override {
    *p = FakeTransport::plain_device();
    p->port = device;
    return nccl::kSuccess;
  }
  Result make_virtual_device(int*, const engine::VirtualDevice&) override { return nccl::kInternalError; }
  bool has_virtual_devices() const override { return false; }
  Result listen(void* context, int, void*, void** comm) override {
    return *comm = context, context == this ? nccl::kSuccess : nccl::kInternalError;
  }
  Result connect(void*[], int ranks, int, void*, void** comm) override {
    return *comm = this, ranks == 4 ? nccl::kSuccess : nccl::kInternalError;
  }
  Result close_coll(void*) override { return nccl::kSuccess; }
  Result close_listen(void*) override { return nccl::kSuccess; }
  Result reduce_support(int type, int op, int* yes) override { return *yes = type == 7 && op == 0, nccl::kSuccess; }
  Result register_memory(void*, void*, size_t bytes, int, void** mr) override {
    return registered = bytes, *mr = this, nccl::kSuccess;
  }
  Result register_dmabuf(void*, void*, size_t, int, uint64_t, int, void**) override { return nccl::kInternalError; }
  Result deregister(void*, void*) override { return nccl::kSuccess; }
  Result iallreduce(void*, void*, void*, size_t n, int, int, void*, void*, void** request) override {
    return count = n, *request = this, nccl::kSuccess;
  }
  bool has_gather_and_scatter() const override { return true; }
  Result iallgather(void*, void*, int n, engine::Part* parts, size_t, size_t, size_t, void*, void**) override {
    return part_bytes = parts[n - 1].bytes, nccl::kSuccess;
  }
  Result ireducescatter(void*, int n, engine::Part* parts, void*, size_t, size_t, size_t, int, int, void*,
                        void**) override {
    return part_bytes = parts[n - 1].bytes, nccl::kSuccess;
  }
  Result iflush(void*, void*, int, void*, void**) override { return nccl::kSuccess; }
  Result test(void*, int* done, int* bytes) override { return *done = 1, *bytes = 9, nccl::kSuccess; }
};

FakeCollNet fake;

template <typename Table>
Result init(Table& table, void** context) {
  if constexpr (requires { table.finalize; })
    return table.init(context, 5, nullptr);
  else
    return table.init(nullptr);
}

template <typename Table>
void expect_it_works(Table& table) {
  SCOPED_TRACE(sizeof table);
  void *context = nullptr, *listener = nullptr, *comm = nullptr, *mr = nullptr, *request = nullptr;
  ASSERT_EQ(init(table, &context), nccl::kSuccess);
  int count = 0, yes = 0, done = 0, bytes = 0;
  EXPECT_EQ(table.devices(&count), nccl::kSuccess);
  EXPECT_EQ(count, 2);
  char handle[nccl::kHandleBytes] = {};
  void* handles[4] = {handle, handle, handle, handle};
  if constexpr (requires { table.finalize; })
    EXPECT_EQ(table.listen(context, 1, handle, &listener), nccl::kSuccess);
  else
    EXPECT_EQ(table.listen(1, handle, &listener), nccl::kSuccess);
  EXPECT_EQ(table.connect(handles, 4, 0, listener, &comm), nccl::kSuccess);
  EXPECT_EQ(table.reduce_support(7, 0, &yes), nccl::kSuccess);
  EXPECT_EQ(yes, 1);
  EXPECT_EQ(table.reg_mr(comm, handle, 64, nccl::kPtrHost, &mr), nccl::kSuccess);
  EXPECT_EQ(fake.registered, 64u);
  EXPECT_EQ(table.iallreduce(comm, nullptr, nullptr, 1000, 7, 0, mr, mr, &request), nccl::kSuccess);
  EXPECT_EQ(fake.count, 1000u);
  if constexpr (requires { table.iallgather; }) {
    ASSERT_NE(table.iallgather, nullptr);
    auto gather = [&]<typename Sge>(Result (*call)(void*, void*, int, Sge*, size_t, size_t, size_t, void*, void**)) {
      Sge parts[2] = {{nullptr, nullptr, 1}, {nullptr, nullptr, 77}};
      return call(comm, nullptr, 2, parts, 1, 0, 1, nullptr, &request);
    };
    EXPECT_EQ(gather(table.iallgather), nccl::kSuccess);
    EXPECT_EQ(fake.part_bytes, 77u);
    EXPECT_NE(table.ireducescatter, nullptr);
  }
  if constexpr (requires { table.make_v_device; }) {
    EXPECT_EQ(table.make_v_device, nullptr);
  }
  EXPECT_EQ(table.test(request, &done, &bytes), nccl::kSuccess);
  EXPECT_EQ(bytes, 9);
  EXPECT_EQ(table.close_coll(comm), nccl::kSuccess);
  EXPECT_EQ(table.close_listen(listener), nccl::kSuccess);
}

TEST(CollNet, HasNoDevicesWithoutAPluginThatHasIt) {
  engine::choose_collnet(nullptr);
  void* context = &fake;
  int count = -1;
  EXPECT_EQ(init(ncclCollNetPlugin_v11, &context), nccl::kSuccess);
  EXPECT_EQ(context, nullptr) << "NCCL 2.28.3 crashes at the end of a communicator otherwise";
  EXPECT_EQ(ncclCollNetPlugin_v11.devices(&count), nccl::kSuccess);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(ncclCollNetPlugin_v11.finalize(context), nccl::kSuccess);
  EXPECT_EQ(ncclCollNetPlugin_v11.iallgather, nullptr);
}

TEST(CollNet, HandsEveryVersionsCallsOn) {
  engine::choose_collnet(&fake);
  expect_it_works(ncclCollNetPlugin_v6);
  expect_it_works(ncclCollNetPlugin_v7);
  expect_it_works(ncclCollNetPlugin_v8);
  expect_it_works(ncclCollNetPlugin_v9);
  expect_it_works(ncclCollNetPlugin_v10);
  EXPECT_EQ(fake.inits, 1) << "the versions without contexts start it once";
  expect_it_works(ncclCollNetPlugin_v11);
  EXPECT_EQ(fake.inits, 2);
  EXPECT_EQ(ncclCollNetPlugin_v11.finalize(&fake), nccl::kSuccess);
  EXPECT_EQ(fake.finalized, 1);
  nccl::NetPropertiesV11 p;
  EXPECT_EQ(ncclCollNetPlugin_v11.get_properties(1, &p), nccl::kSuccess);
  EXPECT_EQ(p.port, 1);
  EXPECT_EQ(p.max_multi_request_size, 1);
  engine::choose_collnet(nullptr);
}

}  // namespace
}  // namespace railwitness
