// Every call of every CollNet version, through the chain to a plugin that remembers.
#include "plugin/chain/properties.h"
#include "tests/plugin/chain/chained.h"

#include <cstring>
#include <functional>
#include <utility>

namespace railwitness::chain {
namespace {

char place[64];
void* const comm = place + 1;
void* const data = place + 2;
void* const other = place + 3;
void* const mr = place + 4;
void* const inner_context = place + 6;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char*, ...) {}

class ChainedCollNet : public Chained {
 protected:
  void SetUp() override {
    Chained::SetUp();
    if (HasFatalFailure()) return;
    coll_ = opened_.collnet;
    ASSERT_NE(coll_, nullptr);
    fake_->hook = [](const fake::Call& call) {
      if (call.function == fake::kInit && call.n == 3) *reinterpret_cast<void**>(call.words[0]) = inner_context;
    };
    ASSERT_EQ(coll_->init(&context_, 77, logger), nccl::kSuccess);
    ASSERT_NE(context_, nullptr);
  }

  engine::CollNet* coll_ = nullptr;
  void* context_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Versions, ChainedCollNet, testing::Range(6, 13),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST_P(ChainedCollNet, IsInitialisedOnceBeforeV11AndPerCommunicatorFromThereOn) {
  const std::string v = std::to_string(version());
  EXPECT_EQ(coll_->description(), "CollNet of libnccl-net-fake_v" + v + ".so (v" + v + ")");
  EXPECT_EQ(last().words[last().n - 1], word(logger));
  if (version() >= 11) {
    EXPECT_EQ(last().words[1], 77u);
  }
  const int before = fake_->calls;
  void* second = nullptr;
  EXPECT_EQ(coll_->init(&second, 78, logger), nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 11 ? 0 : 1);
  EXPECT_EQ(coll_->finalize(second), nccl::kSuccess);
  EXPECT_EQ(fake_->calls - before, version() < 11 ? 0 : 2);
  if (version() >= 11) {
    EXPECT_EQ(last_words(), words(inner_context));
  }
}

TEST_P(ChainedCollNet, KeepsAFailedInitsContextFromThePlugin) {
  opened_ = open_for_good(path_of_fake("fake_v" + std::to_string(version())));
  fake_->result = nccl::kSystemError;
  void* context = nullptr;
  EXPECT_EQ(opened_.collnet->init(&context, 1, logger), nccl::kSystemError);
  EXPECT_NE(context, nullptr);
  int devices = -1;
  EXPECT_EQ(opened_.collnet->devices(&devices), nccl::kSuccess);
  EXPECT_EQ(devices, 0);
  const int before = fake_->calls;
  EXPECT_EQ(opened_.collnet->finalize(context), nccl::kSuccess);
  EXPECT_EQ(fake_->calls, before);
}

TEST_P(ChainedCollNet, HasTheDevicesOfThePluginInItsOrder) {
  engine::DeviceProperties p;
  memset(&p, 0x5a, sizeof p);
  ASSERT_EQ(coll_->properties(999, &p), nccl::kSuccess);
  EXPECT_EQ(last().words[0], 999u);
  const int v = version();
  EXPECT_STREQ(p.name, "fake0");
  EXPECT_EQ(p.guid, fake::kGuid);
  EXPECT_EQ(p.ptr_support, fake::kPtrSupport);
  EXPECT_EQ(p.net_device_type, v >= 9 ? fake::kNetDeviceType : nccl::kNetDeviceHost);
  EXPECT_EQ(p.net_device_version, v >= 9 ? fake::kNetDeviceVersion : 0);
  EXPECT_EQ(p.reg_is_global, v >= 8 ? fake::kRegIsGlobal : 0);
  EXPECT_EQ(p.members.count, v >= 12 ? 8 : v >= 9 ? 4 : 1);
  EXPECT_EQ(p.max_coll_bytes, v >= 9 ? fake::kMaxColl : size_t{512} << 20);
  EXPECT_EQ(p.max_multi_request_size, v >= 11 ? fake::kMultiRequest : 1);
  EXPECT_EQ(p.rail_id, v >= 12 ? fake::kRail : nccl::kUndefined) << "NCCL 2.30 itself leaves it unset";
  ASSERT_EQ(coll_->has_virtual_devices(), v >= 9);
  int device = -1;
  EXPECT_EQ(coll_->make_virtual_device(&device, {2, {0, 1}}), v < 9 ? nccl::kInternalError : nccl::kSuccess);
}

TEST_P(ChainedCollNet, PassesTheLifeOfAConnectionAndItsRegistrations) {
  void *out = nullptr, *handles[2] = {data, other};
  EXPECT_EQ(coll_->listen(context_, 3, data, &out), nccl::kSuccess);
  EXPECT_EQ(last_words(), version() < 11 ? words(3, data, &out) : words(inner_context, 3, data, &out));
  EXPECT_EQ(coll_->connect(handles, 2, 1, comm, &out), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(static_cast<void**>(handles), 2, 1, comm, &out));
  const size_t small = (size_t{1} << 31) - 1, large = size_t{1} << 31;
  EXPECT_EQ(coll_->register_memory(comm, data, small, 2, &out), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(comm, data, small, 2, &out));
  EXPECT_EQ(coll_->register_memory(comm, data, large, 2, &out),
            version() < 8 ? nccl::kInternalError : nccl::kSuccess);
  EXPECT_EQ(coll_->register_dmabuf(comm, data, large, 2, 4096, 9, &out), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(comm, data, large, 2, 4096, 9, &out));
  EXPECT_EQ(coll_->deregister(comm, mr), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kDeregMr, words(comm, mr)));
  EXPECT_EQ(coll_->close_coll(comm), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kCloseColl, words(comm)));
  EXPECT_EQ(coll_->close_listen(comm), nccl::kSuccess);
  EXPECT_EQ(std::pair(last().function, last_words()), std::pair(fake::kCloseListen, words(comm)));
}

struct PartOfV8 {
  void* mr;
  void* address;
  uint32_t bytes;
};
engine::Part part_seen;
template <typename Part, int at>
void keep_part(const fake::Call& call) {
  const Part* part = reinterpret_cast<const Part*>(call.words[at]);
  part_seen = {part->mr, part->address, part->bytes};
}

TEST_P(ChainedCollNet, PassesReductionsAndTheirLimits) {
  void* request = nullptr;
  int supported = 0;
  EXPECT_EQ(coll_->reduce_support(7, 0, &supported), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(7, 0, &supported));
  const size_t most = size_t{1} << 30;
  EXPECT_EQ(coll_->iallreduce(comm, data, other, most, 7, 2, mr, mr, &request), nccl::kSuccess);
  EXPECT_EQ(last_words(), words(comm, data, other, most, 7, 2, mr, mr, &request));
  EXPECT_EQ(coll_->iallreduce(comm, data, other, most + 1, 7, 2, mr, mr, &request),
            version() < 9 ? nccl::kInternalError : nccl::kSuccess);
}

TEST_P(ChainedCollNet, PassesGatherAndScatterWhereThePluginHasThem) {
  const int v = version();
  void* request = nullptr;
  engine::Part parts[2] = {{mr, data, 4096}, {mr, other, 1}};
  ASSERT_EQ(coll_->has_gather_and_scatter(), v >= 8);
  fake_->hook = v == 8 ? keep_part<PartOfV8, 3> : keep_part<engine::Part, 3>;
  EXPECT_EQ(coll_->iallgather(comm, data, 1, parts, 1, 2, 3, mr, &request),
            v < 8 ? nccl::kInternalError : nccl::kSuccess);
  if (v >= 8) {
    const uint64_t seen = v == 8 ? last().words[3] : word(static_cast<engine::Part*>(parts));
    EXPECT_EQ(last_words(), words(comm, data, 1, seen, 1, 2, 3, mr, &request));
    EXPECT_EQ(memcmp(&part_seen, parts, sizeof part_seen), 0);
  }
  fake_->hook = v == 8 ? keep_part<PartOfV8, 2> : keep_part<engine::Part, 2>;
  EXPECT_EQ(coll_->ireducescatter(comm, 1, parts, data, 1, 2, 3, 7, 0, mr, &request),
            v < 8 ? nccl::kInternalError : nccl::kSuccess);
  if (v >= 8) {
    const uint64_t seen = v == 8 ? last().words[2] : word(static_cast<engine::Part*>(parts));
    EXPECT_EQ(last_words(), words(comm, 1, seen, data, 1, 2, 3, 7, 0, mr, &request));
  }
  fake_->hook = nullptr;
  EXPECT_EQ(coll_->iallgather(comm, data, 2, parts, 1, 2, 3, mr, &request),
            v < 8 ? nccl::kInternalError : nccl::kSuccess);
  std::vector<engine::Part> many(65, parts[0]);
  EXPECT_EQ(coll_->iallgather(comm, data, 65, many.data(), 1, 2, 3, mr, &request),
            v < 9 ? nccl::kInternalError : nccl::kSuccess);
  parts[0].bytes = (size_t{512} << 20) + 1;
  EXPECT_EQ(coll_->ireducescatter(comm, 1, parts, data, 1, 2, 3, 7, 0, mr, &request),
            v < 9 ? nccl::kInternalError : nccl::kSuccess);
}

TEST_P(ChainedCollNet, HandsOnEveryResultOfEveryCall) {
  void *out = nullptr, *handles[1] = {data};
  int numbers[1] = {};
  engine::Part part{mr, data, 1};
  const std::vector<std::tuple<const char*, int, std::function<nccl::Result()>>> calls{
      {"devices", 6, [&] { return coll_->devices(numbers); }},
      {"listen", 6, [&] { return coll_->listen(context_, 0, data, &out); }},
      {"connect", 6, [&] { return coll_->connect(handles, 1, 0, comm, &out); }},
      {"reduce_support", 6, [&] { return coll_->reduce_support(0, 0, numbers); }},
      {"register_memory", 6, [&] { return coll_->register_memory(comm, data, 1, 1, &out); }},
      {"register_dmabuf", 6, [&] { return coll_->register_dmabuf(comm, data, 1, 1, 0, 3, &out); }},
      {"deregister", 6, [&] { return coll_->deregister(comm, mr); }},
      {"iallreduce", 6, [&] { return coll_->iallreduce(comm, data, other, 1, 0, 0, mr, mr, &out); }},
      {"iallgather", 8, [&] { return coll_->iallgather(comm, data, 1, &part, 1, 1, 1, mr, &out); }},
      {"ireducescatter", 8, [&] { return coll_->ireducescatter(comm, 1, &part, data, 1, 1, 1, 0, 0, mr, &out); }},
      {"iflush", 6, [&] { return coll_->iflush(comm, data, 1, mr, &out); }},
      {"test", 6, [&] { return coll_->test(data, numbers, numbers); }},
      {"close_coll", 6, [&] { return coll_->close_coll(comm); }},
      {"close_listen", 6, [&] { return coll_->close_listen(comm); }},
      {"make_virtual_device", 9, [&] { return coll_->make_virtual_device(numbers, {1, {0}}); }}};
  for (int result = nccl::kSuccess; result <= 8; result++) {
    fake_->result = static_cast<nccl::Result>(result);
    for (const auto& [name, since, call] : calls) {
      if (version() >= since) {
        EXPECT_EQ(call(), result) << name;
      }
    }
  }
}

}  // namespace
}  // namespace railwitness::chain
