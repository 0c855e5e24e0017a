// Which library is taken, which version of it, and what is said of those that can't be.
#include "plugin/chain/library.h"
#include "railwitness/nccl/net_v11.h"
#include "railwitness/nccl/net_v8.h"
#include "tests/plugin/chain/chained.h"

#include <gmock/gmock.h>

#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

// A transport is opened once a process and never destroyed; the fixtures end without finalize (net_host counts contexts).
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:railwitness::chain::open\nleak:railwitness::chain::new_context";
}

namespace railwitness::chain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StrEq;

std::string said;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  said = text;
}

class Library : public testing::Test {
 protected:
  Library() : folder_(testing::TempDir() + "/chain_" + std::to_string(getpid())) { fs::create_directories(folder_); }
  ~Library() override { fs::remove_all(folder_); }

  std::string why_not(const std::string& plugin) {
    const Opened opened = open_for_good(plugin);
    EXPECT_EQ(opened.transport, nullptr);
    EXPECT_EQ(opened.collnet, nullptr);
    return opened.why_not ? opened.why_not : "no reason is given";
  }

  // The table of a fake of that version, which stays loaded; put back at the end of the test by restore().
  template <typename Table>
  Table* table_of(const std::string& name, const char* symbol) {
    void* library = dlopen(path_of_fake(name).c_str(), RTLD_NOW | RTLD_LOCAL);
    return static_cast<Table*>(dlsym(library, symbol));
  }

  fs::path folder_;
};

TEST_F(Library, IsTakenByItsPathWithTheNewestOfItsVersions) {
  EXPECT_THAT(open_for_good(path_of_fake("fake_several")).transport->description(),
              StrEq("chain of libnccl-net-fake_several.so (v11)"));
  EXPECT_THAT(open_for_good(path_of_fake("fake_several")).collnet->description(),
              StrEq("CollNet of libnccl-net-fake_several.so (v11)"));
  EXPECT_EQ(open_for_good(path_of_fake("fake_v5")).collnet, nullptr) << "v5 had none that we speak";
}

TEST_F(Library, IsFoundByTheNameThatNcclAndRcclTake) {
  // LD_LIBRARY_PATH is read when a process starts.
  for (const auto& [name, description] : {std::pair("fake_v8", "chain of libnccl-net-fake_v8.so (v8)"),
                                          std::pair("libnccl-net-fake_v9.so", "chain of libnccl-net-fake_v9.so (v9)"),
                                          std::pair("fake_rccl", "chain of librccl-net-fake_rccl.so (v8)")}) {
    const std::string command = std::string("LD_LIBRARY_PATH=" RAILWITNESS_FAKES " CHAIN_NAME=") + name +
                                " CHAIN_SAYS='" + description + "' " + fs::read_symlink("/proc/self/exe").string() +
                                " --gtest_filter=Inner.* --gtest_also_run_disabled_tests >&2";
    EXPECT_EQ(system(command.c_str()), 0) << name;
  }
}

TEST(Inner, DISABLED_OpensWhatTheTestAboveSays) {
  const Opened opened = open_for_good(getenv("CHAIN_NAME"));
  ASSERT_NE(opened.transport, nullptr) << opened.why_not;
  EXPECT_THAT(opened.transport->description(), StrEq(getenv("CHAIN_SAYS")));
}

TEST_F(Library, ThatIsNotThereIsToldWithAllNamesTried) {
  EXPECT_THAT(why_not("none_such"),
              StrEq("chain:none_such is not found (tried none_such, libnccl-net-none_such.so, "
                    "librccl-net-none_such.so); give the plugin's path, or put its folder into LD_LIBRARY_PATH"));
  EXPECT_THAT(why_not("/none/such.so"), HasSubstr("(tried /none/such.so); give"));
  EXPECT_THAT(why_not("libnone_such.so"), HasSubstr("(tried libnone_such.so); give"));
  EXPECT_THAT(why_not(""), HasSubstr("(tried libnccl-net.so, librccl-net.so); give"));
  EXPECT_EQ(open(nullptr).transport, nullptr);
  EXPECT_EQ(open(std::string(9000, 'x').c_str()).transport, nullptr);
}

TEST_F(Library, ThatIsNoLibraryIsToldInTheLoadersWords) {
  std::ofstream(folder_ / "libnccl-net-text.so") << "this is a text\n";
  EXPECT_THAT(why_not(folder_ / "libnccl-net-text.so"), HasSubstr("can't be loaded: "));
  std::ofstream(folder_ / "empty.so");
  EXPECT_THAT(why_not(folder_ / "empty.so"), HasSubstr("can't be loaded: "));
  EXPECT_THAT(why_not(folder_), HasSubstr("can't be loaded: "));
}

TEST_F(Library, WithoutATableOfAKnownVersionIsNoPlugin) {
  EXPECT_THAT(why_not("libm.so.6"), HasSubstr("chain:libm.so.6: libm.so.6 is no net plugin, or an unknown one"));
  EXPECT_THAT(why_not(path_of_fake("fake_strange")), HasSubstr("none of ncclNetPlugin_v12 to ncclNetPlugin_v5"));
}

TEST_F(Library, ThatIsRailwitnessIsRefusedUnderEveryName) {
  const char kRefused[] = "is railwitness itself (";
  EXPECT_THAT(why_not(RAILWITNESS_PLUGIN), HasSubstr(kRefused));
  fs::create_symlink(RAILWITNESS_PLUGIN, folder_ / "libnccl-net-ofi.so");
  EXPECT_THAT(why_not(folder_ / "libnccl-net-ofi.so"), HasSubstr(kRefused));
  fs::copy(RAILWITNESS_PLUGIN, folder_ / "libnccl-net-spcx.so");
  EXPECT_THAT(why_not(folder_ / "libnccl-net-spcx.so"), HasSubstr(kRefused)) << "a copy has other addresses";
}

TEST_F(Library, OfThisVeryCodeIsRecognisedByItsAddresses) {
  static int here;
  EXPECT_TRUE(is_in_ourselves(&here));
  EXPECT_FALSE(is_in_ourselves(dlsym(RTLD_DEFAULT, "puts")));
  EXPECT_FALSE(is_in_ourselves(nullptr));
}

TEST_F(Library, WhoseTableHasNoInitIsBroken) {
  auto* table = table_of<nccl::NetV8>("fake_v8", "ncclNetPlugin_v8");
  const nccl::NetV8 whole = *table;
  table->init = nullptr;
  EXPECT_THAT(why_not(path_of_fake("fake_v8")),
              HasSubstr("libnccl-net-fake_v8.so is broken: its newest table has no init"));
  *table = whole;
}

TEST_F(Library, WhoseNameIsNullIsTakenAllTheSame) {
  auto* table = table_of<nccl::NetV8>("fake_v8", "ncclNetPlugin_v8");
  const nccl::NetV8 whole = *table;
  table->name = nullptr;
  EXPECT_NE(open_for_good(path_of_fake("fake_v8")).transport, nullptr);
  *table = whole;
}

// Each of the functions that NCCL calls without asking, absent: init fails with a word about it; the job goes on.
TEST_F(Library, WhoseTableLacksAFunctionThatNcclNeedsFailsInit) {
  auto* table = table_of<nccl::NetV11>("fake_v11", "ncclNetPlugin_v11");
  const nccl::NetV11 whole = *table;
  void** slots = reinterpret_cast<void**>(table);
  const std::pair<size_t, const char*> needed[] = {
      {2, "devices"}, {3, "getProperties"}, {4, "listen"}, {5, "connect"}, {6, "accept"}, {7, "regMr"}, {9, "deregMr"},
      {10, "isend"}, {11, "irecv"}, {13, "test"}, {14, "closeSend"}, {15, "closeRecv"}, {16, "closeListen"}};
  for (const auto& [slot, name] : needed) {
    *table = whole;
    slots[slot] = nullptr;
    engine::Transport* net = open_for_good(path_of_fake("fake_v11")).transport;
    void* context = nullptr;
    EXPECT_EQ(net->init(&context, 1, {}, logger, nullptr), nccl::kInternalError) << name;
    EXPECT_EQ(said, std::string("railwitness: chain of libnccl-net-fake_v11.so (v11): its table has no function ") +
                        name + ", it can't be used");
    EXPECT_EQ(net->init(&context, 1, {}, nullptr, nullptr), nccl::kInternalError) << "without a logger";
  }
  *table = whole;
}

TEST_F(Library, MayLackTheFunctionsThatNcclAsksFor) {
  auto* table = table_of<nccl::NetV11>("fake_v11", "ncclNetPlugin_v11");
  const nccl::NetV11 whole = *table;
  table->reg_mr_dma_buf = nullptr;
  table->iflush = nullptr;
  table->get_device_mr = nullptr;
  table->irecv_consumed = nullptr;
  table->make_v_device = nullptr;
  table->finalize = nullptr;
  table->set_net_attr = nullptr;
  engine::Transport* net = open_for_good(path_of_fake("fake_v11")).transport;
  void *context = nullptr, *out = nullptr;
  int device = 0;
  ASSERT_EQ(net->init(&context, 1, {}, logger, nullptr), nccl::kSuccess);
  *table = whole;
  engine::DeviceProperties p{};
  ASSERT_EQ(net->properties(0, &p), nccl::kSuccess);
  EXPECT_EQ(p.ptr_support, fake::kPtrSupport & ~nccl::kPtrDmabuf) << "so NCCL registers the other way";
  EXPECT_EQ(net->register_dmabuf(&out, nullptr, 1, 1, 0, 0, &out), nccl::kInternalError);
  EXPECT_EQ(net->iflush(&out, 0, nullptr, nullptr, nullptr, &out), nccl::kInternalError);
  EXPECT_EQ(net->get_device_mr(&out, nullptr, &out), nccl::kSuccess);
  EXPECT_EQ(net->irecv_consumed(&out, 1, nullptr), nccl::kSuccess);
  EXPECT_EQ(net->set_attributes(context, nullptr), nccl::kSuccess);
  EXPECT_FALSE(net->has_virtual_devices());
  EXPECT_EQ(net->make_virtual_device(&device, {1, {0}}), nccl::kInternalError);
  EXPECT_EQ(net->finalize(context), nccl::kSuccess);
  EXPECT_EQ(out, nullptr);
}

// As HPC-X's plugin does, which offers one of several transports.
TEST_F(Library, MaySetItsFunctionsAsLateAsInInit) {
  static auto* table = table_of<nccl::NetV8>("fake_v8", "ncclNetPlugin_v8");
  static const nccl::NetV8 whole = *table;
  *table = {};
  table->name = "late";
  table->init = [](nccl::Logger) {
    *table = whole;
    return nccl::kSuccess;
  };
  engine::Transport* net = open_for_good(path_of_fake("fake_v8")).transport;
  void *context = nullptr, *request = nullptr;
  ASSERT_EQ(net->init(&context, 1, {}, logger, nullptr), nccl::kSuccess);
  EXPECT_EQ(net->isend(&request, nullptr, 1, 0, nullptr, nullptr, &request), nccl::kSuccess);
  net->finalize(context);
}

}  // namespace
}  // namespace railwitness::chain
