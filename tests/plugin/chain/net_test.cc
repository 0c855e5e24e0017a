// Every call of every net version, through the chain to a plugin that remembers: its arguments, what it hands back, and
// its result.
#include "plugin/chain/properties.h"
#include "tests/plugin/chain/chained.h"

#include <cstring>
#include <functional>
#include <thread>
#include <utility>

namespace railwitness::chain {
namespace {

char place[64];  // addresses to hand around; nothing is read behind them
void* const comm = place + 1;
void* const data = place + 2;
void* const mr = place + 3;
void* const handle = place + 4;
void* const profiler_handle = place + 5;
void* const inner_context = place + 6;
void* const inner_request = place + 7;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char*, ...) {}
nccl::Result profiler(void**, int, void*, int64_t, void*) { return nccl::kSuccess; }

class ChainedNet : public Chained {
 protected:
  void SetUp() override {
    Chained::SetUp();
    if (HasFatalFailure()) return;
    net_ = opened_.transport;
    fake_->hook = [](const fake::Call& call) {  // a plugin of v11 sets its context
      if (call.function == fake::kInit && call.n == 5) *reinterpret_cast<void**>(call.words[0]) = inner_context;
    };
    ASSERT_EQ(net_->init(&context_, 77, {.traffic_class = 5}, logger, profiler), nccl::kSuccess);
    ASSERT_NE(context_, nullptr);
  }
  void* seen_context() const { return version() >= 11 ? inner_context : nullptr; }

  engine::Transport* net_ = nullptr;
  void* context_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Versions, ChainedNet, testing::Range(5, 13),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST_P(ChainedNet, SaysWhichLibraryAndVersionItIs) {
  const std::string v = std::to_string(version());
  EXPECT_EQ(net_->description(), "chain of libnccl-net-fake_v" + v + ".so (v" + v + ")");
}

TEST_P(ChainedNet, GivesInitWhatTheVersionKnows) {
  EXPECT_EQ(last().function, fake::kInit);
  if (version() < 10) {
    EXPECT_EQ(last_words(), words(logger));
  }
  if (version() == 10) {
    EXPECT_EQ(last_words(), words(logger, profiler));
  }
  if (version() < 11) return;
  EXPECT_EQ(last().words[1], 77u);
  EXPECT_EQ(last().words[3], word(logger));
  EXPECT_EQ(last().words[4], word(profiler));
  EXPECT_EQ(*reinterpret_cast<int*>(last().words[2]), 5);  // the config lives as long as the context
}

TEST_P(ChainedNet, GivesAPluginThatExpectsAProfilerOneThatDoesNothing) {
  opened_ = open_for_good(path_of_fake("fake_v" + std::to_string(version())));
  void* context = nullptr;
  ASSERT_EQ(opened_.transport->init(&context, 1, {}, logger, nullptr), nccl::kSuccess);
  if (version() < 10) return;
  const auto given = reinterpret_cast<nccl::ProfilerCallback>(last().words[version() == 10 ? 1 : 4]);
  ASSERT_NE(given, nullptr);
  void* event = nullptr;
  EXPECT_EQ(given(&event, 0, nullptr, 1, nullptr), nccl::kSuccess);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(opened_.transport->finalize(context), nccl::kSuccess);
}

TEST_P(ChainedNet, InitialisesAnOldPluginOnceAndNeverFinalisesItButANewOnePerCommunicator) {
  const int before = fake_->calls;
  void* second = nullptr;
  EXPECT_EQ(net_->init(&second, 78, {.traffic_class = 6}, logger, profiler), nccl::kSuccess);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(fake_->calls - before, version() < 11 ? 0 : 1);
  EXPECT_EQ(net_->finalize(second), nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 11 ? 0 : 2);
  if (version() >= 11) {
    EXPECT_EQ(last_words(), words(inner_context));
  }
  fake_->result = nccl::kSystemError;
  EXPECT_EQ(net_->finalize(context_), version() < 11 ? nccl::kSuccess : nccl::kSystemError);
}

TEST_P(ChainedNet, KeepsAFailedInitsContextFromThePlugin) {
  opened_ = open_for_good(path_of_fake("fake_v" + std::to_string(version())));
  fake_->result = nccl::kSystemError;
  void* context = nullptr;
  EXPECT_EQ(opened_.transport->init(&context, 1, {}, logger, nullptr), nccl::kSystemError);
  ASSERT_NE(context, nullptr);
  int devices = -1;
  EXPECT_EQ(opened_.transport->devices(&devices), nccl::kSuccess) << "the plugin is not asked";
  EXPECT_EQ(devices, 0);
  const int before = fake_->calls;
  EXPECT_EQ(opened_.transport->finalize(context), nccl::kSuccess) << "as NCCL 2.28 calls it";
  EXPECT_EQ(fake_->calls, before);
  EXPECT_EQ(opened_.transport->init(&context, 2, {}, logger, nullptr), nccl::kSystemError);
  EXPECT_EQ(fake_->calls, before + (version() < 11 ? 0 : 1)) << "an old plugin is not asked twice";
  opened_.transport->finalize(context);
}

TEST_P(ChainedNet, HandsOnDevicesAndTheirErrors) {
  fake_->hook = [](const fake::Call& call) { *reinterpret_cast<int*>(call.words[0]) = 1000; };
  int devices = 0;
  EXPECT_EQ(net_->devices(&devices), nccl::kSuccess);
  EXPECT_EQ(devices, 1000);
  fake_->hook = [](const fake::Call& call) { *reinterpret_cast<int*>(call.words[0]) = 0; };
  EXPECT_EQ(net_->devices(&devices), nccl::kSuccess);
  EXPECT_EQ(devices, 0);
}

TEST_P(ChainedNet, FillsEveryPropertyFieldAsNcclsOwnShimsDo) {
  engine::DeviceProperties p;
  memset(&p, 0x5a, sizeof p);
  ASSERT_EQ(net_->properties(999, &p), nccl::kSuccess);
  EXPECT_EQ(last().words[0], 999u);
  const int v = version();
  EXPECT_STREQ(p.name, "fake0");
  EXPECT_STREQ(p.pci_path, "/sys/devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(p.guid, fake::kGuid);
  EXPECT_EQ(p.ptr_support, v == 5 ? fake::kPtrSupport & ~nccl::kPtrDmabuf : fake::kPtrSupport);
  EXPECT_EQ(p.speed_mbps, fake::kSpeed);
  EXPECT_EQ(p.port, fake::kPort);
  EXPECT_EQ(p.latency_us, fake::kLatency);
  EXPECT_EQ(p.max_comms, fake::kMaxComms);
  EXPECT_EQ(p.max_recvs, fake::kMaxRecvs);
  EXPECT_EQ(p.net_device_type, v >= 7 ? fake::kNetDeviceType : nccl::kNetDeviceHost);
  EXPECT_EQ(p.net_device_version, v >= 7 ? fake::kNetDeviceVersion : 0);
  EXPECT_EQ(p.reg_is_global, v >= 8 ? fake::kRegIsGlobal : 0);
  EXPECT_EQ(p.force_flush, v >= 9 ? fake::kForceFlush : 0);
  EXPECT_EQ(p.members.count, v >= 12 ? 8 : v >= 9 ? 4 : 1);
  for (int i = 0; i < p.members.count; i++) EXPECT_EQ(p.members.devices[i], v >= 9 ? 10 + i : 999);
  for (int i = p.members.count; i < engine::kMaxDevicesPerNic; i++) EXPECT_EQ(p.members.devices[i], 0);
  EXPECT_EQ(p.max_p2p_bytes, v >= 9 ? fake::kMaxP2p : size_t{1} << 30);
  EXPECT_EQ(p.max_coll_bytes, v >= 9 ? fake::kMaxColl : size_t{512} << 20);
  EXPECT_EQ(p.max_multi_request_size, v >= 11 ? fake::kMultiRequest : 1);
  EXPECT_EQ(p.rail_id, v >= 12 ? fake::kRail : nccl::kUndefined);
  EXPECT_EQ(p.plane_id, v >= 12 ? fake::kPlane : nccl::kUndefined);
}

TEST_P(ChainedNet, BelievesNoCountOfMembersBeyondTheirArray) {
  engine::DeviceProperties p{};
  ASSERT_EQ(net_->properties(-1, &p), nccl::kSuccess);
  EXPECT_LE(p.members.count, engine::kMaxDevicesPerNic);
}

TEST_P(ChainedNet, WritesNoPropertiesWhenThePluginGivesNone) {
  engine::DeviceProperties p{};
  p.name = "before";
  fake_->result = nccl::kInternalError;
  EXPECT_EQ(net_->properties(0, &p), nccl::kInternalError);
  EXPECT_STREQ(p.name, "before");
}

TEST_P(ChainedNet, PassesTheLifeOfAConnection) {
  void *listen_comm = nullptr, *send_comm = nullptr, *recv_comm = nullptr;
  uint32_t of_rccl = 4;  // RCCL passes a struct of its own where NCCL has null
  void* device_handle = &of_rccl;
  EXPECT_EQ(net_->listen(context_, 3, handle, &listen_comm), nccl::kSuccess);
  EXPECT_EQ(last_words(), version() < 11 ? words(3, handle, &listen_comm)
                                         : words(seen_context(), 3, handle, &listen_comm));
  EXPECT_EQ(net_->connect(context_, 3, handle, &send_comm, &device_handle), nccl::kSuccess);
  EXPECT_EQ(last().function, fake::kConnect);
  if (version() < 7) {
    EXPECT_EQ(last_words(), words(3, handle, &send_comm));
  }
  if (version() >= 7 && version() < 10) {
    EXPECT_EQ(last_words(), words(3, handle, &send_comm, &device_handle));
  }
  if (version() == 10) {
    EXPECT_EQ(last_words(), words(3, last().words[1], handle, &send_comm, &device_handle));
    EXPECT_EQ(*reinterpret_cast<int*>(last().words[1]), 5) << "the communicator's traffic class";
    void* second = nullptr;
    net_->init(&second, 78, {.traffic_class = 6}, logger, profiler);
    net_->connect(second, 3, handle, &send_comm, nullptr);
    EXPECT_EQ(*reinterpret_cast<int*>(last().words[1]), 6) << "and the other's";
    EXPECT_EQ(last().words[4], 0u) << "a null device handle stays null";
    net_->finalize(second);
  }
  if (version() > 10) {
    EXPECT_EQ(last_words(), words(seen_context(), 3, handle, &send_comm, &device_handle));
  }
  EXPECT_EQ(net_->accept(listen_comm, &recv_comm, &device_handle), nccl::kSuccess);
  EXPECT_EQ(last().function, fake::kAccept);
  EXPECT_EQ(last_words(),
            version() < 7 ? words(listen_comm, &recv_comm) : words(listen_comm, &recv_comm, &device_handle));
  EXPECT_EQ(device_handle, &of_rccl);
  EXPECT_EQ(send_comm, nullptr) << "not yet connected";
  EXPECT_EQ(recv_comm, nullptr) << "not yet accepted";
  engine::Ends ends;
  net_->describe(comm, true, &ends);
  EXPECT_EQ(ends.device, -1) << "unknown";

  EXPECT_EQ(net_->close_send(comm), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kCloseSend, words(comm)));
  EXPECT_EQ(net_->close_recv(comm), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kCloseRecv, words(comm)));
  EXPECT_EQ(net_->close_listen(comm), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kCloseListen, words(comm)));
}

TEST_P(ChainedNet, PassesRegistrationsAndTheirLimits) {
  void *out = nullptr, *pointer = nullptr;
  const size_t small = (size_t{1} << 31) - 1, large = size_t{1} << 31;
  EXPECT_EQ(net_->register_memory(comm, data, small, nccl::kPtrCuda, &out), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(comm, data, small, nccl::kPtrCuda, &out));
  const int before = fake_->calls;
  EXPECT_EQ(net_->register_memory(comm, data, large, nccl::kPtrHost, &out),
            version() < 8 ? nccl::kInternalError : nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 8 ? 0 : 1);
  if (version() >= 8) {
    EXPECT_EQ(last_words(), words(comm, data, large, nccl::kPtrHost, &out));
  }
  EXPECT_EQ(net_->register_dmabuf(comm, data, large, nccl::kPtrCuda, 4096, 9, &out),
            version() < 6 ? nccl::kInternalError : nccl::kSuccess);
  if (version() >= 6) {
    EXPECT_EQ(last_words(), words(comm, data, large, nccl::kPtrCuda, 4096, 9, &out));
  }
  EXPECT_EQ(net_->deregister(comm, mr), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kDeregMr, words(comm, mr)));
  EXPECT_EQ(net_->get_device_mr(comm, mr, &pointer), nccl::kSuccess);
  if (version() >= 7) {
    EXPECT_EQ(last_words(), words(comm, mr, &pointer));
  }
  EXPECT_EQ(out, nullptr);
}

TEST_P(ChainedNet, PassesSendsAndTheirLimits) {
  void* request = profiler_handle;  // whatever was there
  const auto expected = [&](size_t bytes) {
    return version() < 10 ? words(comm, data, bytes, -9, mr, &request)
                          : words(comm, data, bytes, -9, mr, profiler_handle, &request);
  };
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1} << 30}) {
    EXPECT_EQ(net_->isend(comm, data, bytes, -9, mr, profiler_handle, &request), nccl::kSuccess);
    EXPECT_EQ(last_words(), expected(bytes));
  }
  const size_t large = (size_t{1} << 30) + 1;
  const int before = fake_->calls;
  EXPECT_EQ(net_->isend(comm, data, large, -9, mr, profiler_handle, &request),
            version() < 9 ? nccl::kInternalError : nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 9 ? 0 : 1);
  if (version() >= 9) {
    EXPECT_EQ(last_words(), expected(large));
  }
  EXPECT_EQ(request, profiler_handle) << "only the plugin writes it";
}

size_t sizes_seen[engine::kMaxGroup];
template <typename Size>
void keep_sizes(const fake::Call& call) {
  if (call.function != fake::kIrecv) return;
  for (uint64_t i = 0; i < call.words[1] && i < uint64_t{engine::kMaxGroup}; i++)
    sizes_seen[i] = static_cast<size_t>(reinterpret_cast<Size*>(call.words[3])[i]);
  *reinterpret_cast<void**>(call.words[call.n - 1]) = inner_request;
}

TEST_P(ChainedNet, PassesGroupedReceivesAndTheirLimits) {
  fake_->hook = version() < 9 ? keep_sizes<int> : keep_sizes<size_t>;
  void *all[engine::kMaxGroup] = {}, *mrs[engine::kMaxGroup] = {}, *profilers[engine::kMaxGroup] = {};
  size_t bytes[engine::kMaxGroup];
  int tags[engine::kMaxGroup];
  for (size_t i = 0; i < engine::kMaxGroup; i++) bytes[i] = i << 20;
  for (const int n : {1, 8, engine::kMaxGroup}) {
    void* request = nullptr;
    ASSERT_EQ(net_->irecv(comm, n, all, bytes, tags, mrs, profilers, &request), nccl::kSuccess);
    const uint64_t sizes = version() < 9 ? last().words[3] : word(bytes);  // ints of our own, or the very array
    EXPECT_EQ(last_words(), version() < 10 ? words(comm, n, all, sizes, tags, mrs, &request)
                                           : words(comm, n, all, sizes, tags, mrs, profilers, &request));
    for (int i = 0; i < n; i++) EXPECT_EQ(sizes_seen[i], bytes[i]);
    EXPECT_EQ(request, inner_request);
  }
  void* request = nullptr;
  EXPECT_EQ(net_->irecv(comm, 1, all, bytes, tags, mrs, nullptr, &request), nccl::kSuccess) << "bootstrap over the net";
  if (version() >= 10) {
    EXPECT_EQ(last().words[6], 0u);
  }

  bytes[1] = (size_t{1} << 30) + 1;
  const int before = fake_->calls;
  EXPECT_EQ(net_->irecv(comm, 2, all, bytes, tags, mrs, profilers, &request),
            version() < 9 ? nccl::kInternalError : nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 9 ? 0 : 1);
  bytes[1] = 1;
  EXPECT_EQ(net_->irecv(comm, engine::kMaxGroup + 1, all, bytes, tags, mrs, profilers, &request),
            version() < 9 ? nccl::kInternalError : nccl::kSuccess);
}

void* request_seen;

TEST_P(ChainedNet, ShowsTheHintOfOptionalCompletionToPluginsThatKnowIt) {
  void* const hint = reinterpret_cast<void*>(nccl::kOptionalCompletion);
  fake_->hook = [](const fake::Call& call) { request_seen = *reinterpret_cast<void**>(call.words[call.n - 1]); };
  void *all[1] = {}, *request = hint;
  size_t bytes[1] = {8};
  int tags[1] = {};
  ASSERT_EQ(net_->irecv(comm, 1, all, bytes, tags, all, all, &request), nccl::kSuccess);
  EXPECT_EQ(request_seen, version() < 9 ? nullptr : hint);
  EXPECT_EQ(request, version() < 9 ? nullptr : hint);
}

TEST_P(ChainedNet, PassesFlushTestAndConsumption) {
  void *all[2] = {}, *request = nullptr;
  int bytes[2] = {}, done = 7;
  EXPECT_EQ(net_->iflush(comm, 2, all, bytes, all, &request), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()),
            std::pair(fake::kIflush, words(comm, 2, all, bytes, all, &request)));
  EXPECT_EQ(net_->test(inner_request, &done, bytes), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kTest, words(inner_request, &done, bytes)));
  EXPECT_EQ(net_->test(inner_request, &done, nullptr), nccl::kSuccess);
  EXPECT_EQ(last().words[2], 0u);
  EXPECT_EQ(done, 7) << "only the plugin writes it";
  EXPECT_EQ(net_->irecv_consumed(comm, 2, inner_request), nccl::kSuccess);
  if (version() >= 7) {
    EXPECT_EQ(last_words(), words(comm, 2, inner_request));
  }
}

int members_seen[9];

TEST_P(ChainedNet, OffersVirtualDevicesWhereThePluginHasThem) {
  ASSERT_EQ(net_->has_virtual_devices(), version() >= 9);
  fake_->hook = [](const fake::Call& call) {
    *reinterpret_cast<int*>(call.words[0]) = 12;
    const int* members = reinterpret_cast<int*>(call.words[1]);
    for (int i = 0; i <= members[0]; i++) members_seen[i] = members[i];
  };
  int device = -1;
  const engine::VirtualDevice two{2, {4, 7}}, eight{8, {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(net_->make_virtual_device(&device, two), version() < 9 ? nccl::kInternalError : nccl::kSuccess);
  if (version() < 9) return;
  EXPECT_EQ(device, 12);
  EXPECT_EQ(std::vector(members_seen, members_seen + 3), (std::vector{2, 4, 7}));
  EXPECT_EQ(net_->make_virtual_device(&device, eight), version() < 12 ? nccl::kInvalidArgument : nccl::kSuccess);
  if (version() >= 12) {
    EXPECT_EQ(members_seen[8], 7);
  }
}

TEST_P(ChainedNet, PassesAttributesToThePluginsContext) {
  const int attributes[11] = {};
  const int before = fake_->calls;
  EXPECT_EQ(net_->set_attributes(context_, attributes), nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 11 ? 0 : 1);
  if (version() >= 11) {
    EXPECT_EQ(last_words(), words(inner_context, attributes));
  }
}

TEST_P(ChainedNet, HandsOnEveryResultOfEveryCall) {
  void* out = nullptr;
  void* all[1] = {};
  size_t bytes[1] = {1};
  int numbers[1] = {};
  const int v = version();
  const std::vector<std::tuple<const char*, int, std::function<nccl::Result()>>> calls{
      {"devices", 5, [&] { return net_->devices(numbers); }},
      {"listen", 5, [&] { return net_->listen(context_, 0, handle, &out); }},
      {"connect", 5, [&] { return net_->connect(context_, 0, handle, &out, &out); }},
      {"accept", 5, [&] { return net_->accept(comm, &out, &out); }},
      {"register_memory", 5, [&] { return net_->register_memory(comm, data, 1, 1, &out); }},
      {"register_dmabuf", 6, [&] { return net_->register_dmabuf(comm, data, 1, 1, 0, 3, &out); }},
      {"deregister", 5, [&] { return net_->deregister(comm, mr); }},
      {"get_device_mr", 7, [&] { return net_->get_device_mr(comm, mr, &out); }},
      {"isend", 5, [&] { return net_->isend(comm, data, 1, 0, mr, nullptr, &out); }},
      {"irecv", 5, [&] { return net_->irecv(comm, 1, all, bytes, numbers, all, all, &out); }},
      {"iflush", 5, [&] { return net_->iflush(comm, 1, all, numbers, all, &out); }},
      {"test", 5, [&] { return net_->test(inner_request, numbers, numbers); }},
      {"irecv_consumed", 7, [&] { return net_->irecv_consumed(comm, 1, inner_request); }},
      {"close_send", 5, [&] { return net_->close_send(comm); }},
      {"close_recv", 5, [&] { return net_->close_recv(comm); }},
      {"close_listen", 5, [&] { return net_->close_listen(comm); }},
      {"make_virtual_device", 9, [&] { return net_->make_virtual_device(numbers, {1, {0}}); }},
      {"set_attributes", 11, [&] { return net_->set_attributes(context_, numbers); }}};
  for (int result = nccl::kSuccess; result <= 8; result++) {  // 8: ncclTimeout of 2.31
    fake_->result = static_cast<nccl::Result>(result);
    for (const auto& [name, since, call] : calls)
      if (v >= since) {
        EXPECT_EQ(call(), result) << name;
      }
  }
}

TEST_P(ChainedNet, IsCalledFromTheThreadsOfSeveralCommunicators) {
  fake_->hook = nullptr;
  fake_->is_quiet = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      void *out = nullptr, *all[1] = {};
      size_t bytes[1] = {8};
      int numbers[1] = {}, done = 0;
      for (int i = 0; i < 2000; i++) {
        if (t < 2) {  // progress
          EXPECT_EQ(net_->isend(comm, data, 8, 0, mr, nullptr, &out), nccl::kSuccess);
          EXPECT_EQ(net_->irecv(comm, 1, all, bytes, numbers, all, all, &out), nccl::kSuccess);
          EXPECT_EQ(net_->test(inner_request, &done, numbers), nccl::kSuccess);
          EXPECT_EQ(net_->set_attributes(context_, numbers), nccl::kSuccess);
        } else if (t == 2) {  // service
          EXPECT_EQ(net_->connect(context_, 0, handle, &out, nullptr), nccl::kSuccess);
          EXPECT_EQ(net_->register_memory(comm, data, 8, 1, &out), nccl::kSuccess);
          EXPECT_EQ(net_->deregister(comm, mr), nccl::kSuccess);
        } else {  // another communicator comes and goes
          void* context = nullptr;
          EXPECT_EQ(net_->init(&context, 1, {}, logger, profiler), nccl::kSuccess);
          EXPECT_EQ(net_->finalize(context), nccl::kSuccess);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  net_->finalize(context_);
}

}  // namespace
}  // namespace railwitness::chain
