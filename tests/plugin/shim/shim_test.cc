#include "plugin/shim/banner.h"
#include "plugin/shim/wiring.h"
#include "plugin/witness/recorder.h"
#include "railwitness/nccl/net_v11.h"
#include "railwitness/nccl/profiler_v1.h"
#include "railwitness/nccl/profiler_v2.h"
#include "railwitness/nccl/profiler_v3.h"
#include "railwitness/nccl/profiler_v4.h"
#include "railwitness/nccl/profiler_v5.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <string>

extern "C" railwitness::nccl::NetV11 ncclNetPlugin_v11;
extern "C" {
extern const railwitness::nccl::ProfilerV1 ncclProfiler_v1;
extern const railwitness::nccl::ProfilerV2 ncclProfiler_v2;
extern const railwitness::nccl::ProfilerV3 ncclProfiler_v3;
extern const railwitness::nccl::ProfilerV4 ncclProfiler_v4;
extern const railwitness::nccl::ProfilerV5 ncclProfiler_v5;
}

namespace railwitness {

namespace {
int starts = 0, lates = 0;
shim::Started answer{.is_off = false, .how = RAILWITNESS_ATTACH_STUB, .why_not = nullptr, .sidecar = "sidecar connected"};
}  // namespace

const shim::Wiring shim::wiring{[] { return starts++, answer; }, [] { return lates++, 0; }};

namespace {

std::string said;
int lines = 0;

void logger(nccl::LogLevel level, unsigned long flags, const char*, int, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  EXPECT_EQ(level, nccl::kLogInfo);
  EXPECT_TRUE(flags & nccl::kLogInit);
  said = text;
  lines++;
}

std::string banner(const shim::Started& started, int late = 0) {
  char text[512];
  shim::format_banner(text, sizeof text, started, late);
  return text;
}

TEST(Net, SucceedsWithoutDevicesAndSaysOneLineHoweverOftenItIsInitialised) {
  for (int i = 0; i < 3; i++) {
    void* context = nullptr;
    int devices = -1;
    EXPECT_EQ(ncclNetPlugin_v11.init(&context, 1, nullptr, logger, nullptr), nccl::kSuccess);
    EXPECT_NE(context, nullptr);
    EXPECT_EQ(ncclNetPlugin_v11.devices(&devices), nccl::kSuccess);
    EXPECT_EQ(devices, 0);
    EXPECT_EQ(ncclNetPlugin_v11.finalize(context), nccl::kSuccess);
  }
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(said, "railwitness 0.1.0: tap by stub, sidecar connected");
  EXPECT_EQ(ncclNetPlugin_v11.init(nullptr, 1, nullptr, nullptr, nullptr), nccl::kSuccess) << "no logger, no context";
}

TEST(Profiler, RecordsTheCommunicatorAndAsksForNoEvents) {
  witness::forget_everything();
  witness::start(witness::map_private());
  void* context = nullptr;
  int mask = -1;
  ASSERT_EQ(ncclProfiler_v5.init(&context, 0xFEED, &mask, "world", 2, 16, 5, logger), nccl::kSuccess);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(mask, 0);
  EXPECT_GE(lates, 1);
  const railwitness_comm& c = witness::current()->comms[0];
  EXPECT_EQ(c.comm_hash, 0xFEEDu);
  EXPECT_EQ(c.rank, 5);
  EXPECT_EQ(c.nranks, 16);
  EXPECT_EQ(c.nnodes, 2);
  EXPECT_STREQ(c.name, "world");
  void* handle = &mask;
  EXPECT_EQ(ncclProfiler_v5.start_event(context, &handle, nullptr), nccl::kSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(ncclProfiler_v5.stop_event(nullptr), nccl::kSuccess);
  EXPECT_EQ(ncclProfiler_v5.record_event_state(nullptr, 0, nullptr), nccl::kSuccess);
  EXPECT_EQ(ncclProfiler_v5.finalize(context), nccl::kSuccess);
  EXPECT_EQ(c.open, 2u);
}

TEST(Profiler, OfV4KnowsTheCommunicatorToo) {
  witness::forget_everything();
  witness::start(witness::map_private());
  void* context = nullptr;
  int mask = -1;
  const int lates_before = lates;
  ASSERT_EQ(ncclProfiler_v4.init(&context, &mask, "world", 0xFEED, 2, 16, 5, logger), nccl::kSuccess);
  EXPECT_EQ(mask, 0);
  EXPECT_EQ(lates, lates_before + 1);
  const railwitness_comm& c = witness::current()->comms[0];
  EXPECT_EQ(c.comm_hash, 0xFEEDu);
  EXPECT_EQ(c.rank, 5);
  EXPECT_EQ(c.nranks, 16);
  EXPECT_EQ(c.nnodes, 2);
  EXPECT_STREQ(c.name, "world");
  EXPECT_EQ(ncclProfiler_v4.finalize(context), nccl::kSuccess);
  EXPECT_EQ(c.open, 2u);
}

// v1 to v3: no communicator is named, but the moment is the same, and nothing is asked for.
template <typename Table>
void begin_nameless(const Table& table) {
  witness::forget_everything();
  witness::start(witness::map_private());
  void *context = nullptr, *handle = &context;
  int mask = -1;
  const int lates_before = lates;
  ASSERT_EQ(table.init(&context, &mask), nccl::kSuccess);
  EXPECT_STREQ(table.name, "railwitness");
  EXPECT_NE(context, nullptr) << "NCCL would not call finalize";
  EXPECT_EQ(mask, 0);
  EXPECT_EQ(lates, lates_before + 1);
  EXPECT_EQ(table.start_event(context, &handle, nullptr), nccl::kSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(table.stop_event(nullptr), nccl::kSuccess);
  EXPECT_EQ(table.record_event_state(nullptr, 0, nullptr), nccl::kSuccess);
  EXPECT_EQ(table.finalize(context), nccl::kSuccess);
  EXPECT_EQ(witness::current()->writer->comms, 0u);
}

TEST(Profiler, BeforeV4GivesTheMomentToAttachLate) {
  begin_nameless(ncclProfiler_v1);
  begin_nameless(ncclProfiler_v2);
  begin_nameless(ncclProfiler_v3);
}

TEST(Profiler, WhenOffStillHasAContext) {
  const auto before = answer;
  answer.is_off = true;
  void* context = nullptr;
  int mask = -1;
  EXPECT_EQ(ncclProfiler_v5.init(&context, 1, &mask, nullptr, 1, 1, 0, nullptr), nccl::kSuccess);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(mask, 0);
  EXPECT_EQ(ncclProfiler_v5.finalize(context), nccl::kSuccess);
  answer = before;
}

TEST(Banner, SaysHowOrWhyNotAndWhatToDo) {
  shim::Started s{.is_off = false, .how = RAILWITNESS_ATTACH_TABLE, .why_not = "the name is taken", .sidecar = "no sidecar"};
  EXPECT_EQ(banner(s), "railwitness 0.1.0: tap by provider table (the name is taken), no sidecar");
  s.how = RAILWITNESS_ATTACH_NONE;
  EXPECT_EQ(banner(s, 2), "railwitness 0.1.0: tap by late attach, contexts 2, no sidecar");
  EXPECT_EQ(banner(s), "railwitness 0.1.0: nothing tapped yet: the name is taken; no sidecar");
  s.is_off = true;
  EXPECT_EQ(banner(s), "railwitness 0.1.0: off by RAILWITNESS_MODE");
}

TEST(Problems, AMisspeltVariableAndAWrongValueAreOneLineAndNoWarningOfNccl) {
  const int before = lines;
  const char* environment[] = {"PATH=/bin", "RAILWITNESS_SOKET=/run/x", "RAILWITNESS_MODE=tapp", nullptr};
  shim::say_problems(logger, environment);
  EXPECT_EQ(lines, before + 1);
  EXPECT_EQ(said, "railwitness: warning: RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?; RAILWITNESS_MODE "
                  "is 'tapp'; one of tap|chain:<plugin>|ofi|off is meant, tap is taken");
}

TEST(Problems, NothingIsSaidOfAnEnvironmentThatIsRight) {
  const int before = lines;
  const char* environment[] = {"RAILWITNESS_MODE=off", "RAILWITNESS_JOB=x", "RAILWITNESS_READ_INTERVAL_MS=1", nullptr};
  shim::say_problems(logger, environment);  // the last one is the sidecar's
  EXPECT_EQ(lines, before);
}

}  // namespace
}  // namespace railwitness
