#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "probes/doctor/checks.h"
#include "probes/doctor/child.h"
#include "probes/doctor/nccl_variables.h"
#include "probes/doctor/nccl_version.h"
#include "railwitness/abi/handover.h"

namespace railwitness::doctor {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/railwitness-doctor-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name) << text;
  }

 private:
  std::string path_;
};

// --- variables

State state_of(const std::vector<std::string>& entries, const std::string& name) {
  const Environment environment = make_environment(entries, "/nowhere");
  const auto remark = remark_on(*environment.find(name), environment);
  return remark ? remark->state : State::kUnknown;
}

TEST(Environment, NcclsFilesAddWhatIsNotSet) {
  const Folder root;
  root.write("/etc/nccl.conf", "NCCL_NET=Socket\nNCCL_DEBUG=WARN\n# a remark\nNCCL_IB_HCA=mlx5_0\n");
  root.write("/home/a/.nccl.conf", "NCCL_IB_HCA=mlx5_1\n");
  Environment environment = make_environment({"HOME=/home/a", "NCCL_DEBUG=INFO"}, root.path());
  EXPECT_EQ(environment.value("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(environment.value("NCCL_IB_HCA"), "mlx5_1");
  EXPECT_EQ(environment.find("NCCL_NET")->origin, "/etc/nccl.conf");
  root.write("/x.conf", "NCCL_IB_HCA=mlx5_7\n");
  environment = make_environment({"HOME=/home/a", "NCCL_CONF_FILE=/x.conf"}, root.path());
  EXPECT_EQ(environment.value("NCCL_IB_HCA"), "mlx5_7") << "instead of the one at home";
}

TEST(NcclVariables, WhatKeepsNcclFromUsIsBad) {
  EXPECT_EQ(state_of({"NCCL_NET_PLUGIN=railwitness"}, "NCCL_NET_PLUGIN"), State::kOk);
  EXPECT_EQ(state_of({"NCCL_NET_PLUGIN=/x/libnccl-net-railwitness.so"}, "NCCL_NET_PLUGIN"), State::kOk);
  EXPECT_EQ(state_of({"NCCL_NET_PLUGIN=railwitness,spcx"}, "NCCL_NET_PLUGIN"), State::kWarn);
  for (const std::string value : {"", "none", "NONE", "spcx"})
    EXPECT_EQ(state_of({"NCCL_NET_PLUGIN=" + value}, "NCCL_NET_PLUGIN"), State::kBad) << value;
  EXPECT_EQ(state_of({"NCCL_IBVERBS_LIB=/x"}, "NCCL_IBVERBS_LIB"), State::kWarn);
  EXPECT_EQ(state_of({"NCCL_PROFILER_PLUGIN=inspector"}, "NCCL_PROFILER_PLUGIN"), State::kWarn);
  EXPECT_EQ(state_of({"NCCL_IB_DISABLE=1"}, "NCCL_IB_DISABLE"), State::kBad);
  EXPECT_EQ(state_of({"NCCL_IB_DISABLE=0"}, "NCCL_IB_DISABLE"), State::kOk);
  EXPECT_EQ(state_of({"NCCL_ALGO=Ring"}, "NCCL_ALGO"), State::kUnknown);
}

TEST(NcclVariables, ForcingOurNetIsWrongInModeTapAndRightInTheOthers) {
  EXPECT_EQ(state_of({"NCCL_NET=railwitness"}, "NCCL_NET"), State::kBad);
  EXPECT_EQ(state_of({"NCCL_NET=railwitness", "RAILWITNESS_MODE=nonsense"}, "NCCL_NET"), State::kBad);
  EXPECT_EQ(state_of({"NCCL_NET=railwitness", "RAILWITNESS_MODE=OFI"}, "NCCL_NET"), State::kOk);
  EXPECT_EQ(state_of({"NCCL_NET=railwitness", "RAILWITNESS_MODE=chain:spcx"}, "NCCL_NET"), State::kOk);
  EXPECT_EQ(state_of({"NCCL_NET=IB"}, "NCCL_NET"), State::kWarn) << "the tap still sees it through the profiler's slot";
  EXPECT_EQ(state_of({"NCCL_NET=IB", "RAILWITNESS_MODE=ofi"}, "NCCL_NET"), State::kBad);
  EXPECT_EQ(state_of({"NCCL_NET=Socket"}, "NCCL_NET"), State::kBad);
}

TEST(NcclVariables, ASlipIsTakenForRailwitnessAndNotForAPluginToWrap) {
  const auto remark = [](const std::string& entry, const std::string& name) {
    const Environment environment = make_environment({entry}, "/nowhere");
    const Check check = *remark_on(*environment.find(name), environment);
    EXPECT_NE(check.state, State::kOk) << entry;
    EXPECT_NE(check.evidence.find("railwitness is meant?"), std::string::npos) << check.evidence;
    return check.way_out;
  };
  for (const std::string value : {"railwitnes", "rail-witness", "Railwitness", "RAILWITNESS", "railwitness2", "railwitnes,spcx",
                                  "/opt/libnccl-net-railwitnes.so", "libnccl-net-railwitnss.so"}) {
    EXPECT_EQ(remark("NCCL_NET_PLUGIN=" + value, "NCCL_NET_PLUGIN"), "NCCL_NET_PLUGIN=railwitness") << value;
  }
  EXPECT_EQ(remark("NCCL_NET=railwitnes", "NCCL_NET").find("unset NCCL_NET"), 0u);
  EXPECT_EQ(remark("NCCL_PROFILER_PLUGIN=railwitnes", "NCCL_PROFILER_PLUGIN"),
            "NCCL_PROFILER_PLUGIN=libnccl-profiler-railwitness.so");
  const Environment wrapped = make_environment({"NCCL_NET_PLUGIN=spcx"}, "/nowhere");
  EXPECT_NE(remark_on(wrapped.settings[0], wrapped)->way_out.find("chain:spcx"), std::string::npos);
}

// --- versions of NCCL

TEST(NcclVersion, TakesTheNewestTableThatBothKnow) {
  const std::vector<int> ours{6, 7, 8, 9, 10, 11, 12};
  const struct {
    int code;
    const char* part;
  } cases[] = {{21803, "takes our v6"},  {21903, "takes our v7"},  {22005, "takes our v8"},  {22304, "takes our v8"},
               {22403, "takes our v9"},  {22605, "takes our v10"}, {22707, "takes our v10"}, {22809, "takes our v11"},
               {22907, "takes our v11"}, {23007, "takes our v12"}, {23203, "takes our v12"}};
  for (const auto& c : cases)
    EXPECT_NE(explain_nccl(c.code, ours).evidence.find(c.part), std::string::npos)
        << explain_nccl(c.code, ours).evidence;
  EXPECT_EQ(explain_nccl(22707, {11}).state, State::kBad);
  EXPECT_EQ(explain_nccl(2708, ours).state, State::kBad);
  EXPECT_EQ(explain_nccl(23007, ours).state, State::kOk);
  EXPECT_EQ(explain_nccl(22809, {}).state, State::kUnknown);
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(NcclVersion, TrapsAreToldWhereTheyAre) {
  const auto says = [](int code, const char* part) {
    return explain_nccl(code, {6, 7, 8, 9, 10, 11, 12}).evidence.find(part) != std::string::npos;
  };
  for (const int code : {22803, 22809, 22907}) EXPECT_TRUE(says(code, "NCCL_NET_PLUGIN_REF_COUNT=1")) << code;
  for (const int code : {22707, 23003}) EXPECT_FALSE(says(code, "NCCL_NET_PLUGIN_REF_COUNT=1")) << code;
  for (const int code : {22803, 22907}) EXPECT_TRUE(says(code, "a link libnccl-net.so")) << code;
  EXPECT_TRUE(says(22803, "not named"));
  EXPECT_FALSE(says(22809, "not named"));
  EXPECT_TRUE(says(22304, "communicators")) << "they are not named";
  EXPECT_TRUE(says(22707, "NCCL_PROFILER_PLUGIN=libnccl-profiler-railwitness.so"));
  EXPECT_FALSE(says(22803, "NCCL_PROFILER_PLUGIN"));
  EXPECT_TRUE(says(22005, "no path"));
  EXPECT_FALSE(says(22105, "no path"));
}

// --- a child

TEST(Child, BringsItsAnswerAndItsEnd) {
  EXPECT_EQ(*ask_child([](const std::string& word) { return word + "!"; }, "hello"), "hello!");
  const auto crashed = ask_child([](const std::string&) -> std::string { abort(); }, "");
  EXPECT_NE(crashed.status().message().find("died of signal 6"), std::string::npos) << crashed.status();
  const auto hung = ask_child([](const std::string&) -> std::string { return pause(), ""; }, "", 100);
  EXPECT_EQ(hung.status().code(), absl::StatusCode::kDeadlineExceeded);
}

// --- libraries

TEST(Plugin, AFileThatIsMissingOrNoLibraryIsBadWithAWayOut) {
  const Folder folder;
  folder.write("/libnccl-net-railwitness.so", "no library");
  for (const std::string& path :
       {std::string("/nowhere/libnccl-net-railwitness.so"), folder.path() + "/libnccl-net-railwitness.so"}) {
    const Plugin plugin = check_plugin(path, Environment{});
    EXPECT_EQ(plugin.check.state, State::kBad);
    EXPECT_NE(plugin.check.way_out, "");
    EXPECT_EQ(plugin.path, "");
  }
}

TEST(Nccl, WithoutItTheDoctorDoesNotKnow) {
  const Check check = check_nccl("/nowhere/libnccl.so.2", Plugin{});
  EXPECT_EQ(check.state, State::kUnknown);
  EXPECT_NE(check.way_out.find("--nccl"), std::string::npos);
}

// --- the machine

TEST(Devices, NoneIsBadAndAPortThatIsDownIsNamed) {
  const Folder sysfs;
  EXPECT_EQ(check_rdma_devices(sysfs.path()).state, State::kBad);
  sysfs.write("/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  EXPECT_EQ(check_rdma_devices(sysfs.path()).state, State::kOk);
  sysfs.write("/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
  const Check check = check_rdma_devices(sysfs.path());
  EXPECT_EQ(check.state, State::kWarn);
  EXPECT_EQ(check.evidence, "mlx5_0/1 ACTIVE, mlx5_1/1 DOWN");
}

TEST(Memory, OnlyWhoRegistersItIsWarned) {
  rlimit before{};
  getrlimit(RLIMIT_MEMLOCK, &before);
  const rlimit little{size_t{1} << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
  const auto check = [](const std::vector<std::string>& entries) {
    return check_memlock(make_environment(entries, "/nowhere"));
  };
  EXPECT_EQ(check({}).state, State::kWarn);
  EXPECT_EQ(check({}).evidence, "limit 1 MiB; NCCL's InfiniBand transport registers more and fails");
  EXPECT_EQ(check({"RAILWITNESS_MODE=ofi"}).state, State::kOk);
  EXPECT_EQ(check({"RAILWITNESS_MODE=ofi"}).way_out, "");
  EXPECT_EQ(check({"RAILWITNESS_MODE=ofi", "RAILWITNESS_OFI_PROVIDER=tcp;ofi_rxm"}).state, State::kOk);
  EXPECT_EQ(check({"RAILWITNESS_MODE=ofi", "RAILWITNESS_OFI_PROVIDER=verbs;ofi_rxm"}).evidence,
            "limit 1 MiB; libfabric's provider verbs;ofi_rxm registers more and fails");
  setrlimit(RLIMIT_MEMLOCK, &before);
}

TEST(Ofi, WhatOnlyRdmaNeedsIsAllRightUnlessTheProviderIsOne) {
  for (const State state : {State::kBad, State::kWarn}) {
    const Check check{"tap-verbs.so", state, "missing", "install it"};
    EXPECT_EQ(unless_ofi(check, make_environment({}, "/nowhere")).state, state);
    const Check mended = unless_ofi(check, make_environment({"RAILWITNESS_MODE=ofi"}, "/nowhere"));
    EXPECT_EQ(mended.state, State::kOk);
    EXPECT_EQ(mended.way_out, "");
    EXPECT_EQ(unless_ofi(check, make_environment({"RAILWITNESS_MODE=ofi", "RAILWITNESS_OFI_PROVIDER=efa"}, "/nowhere")).state,
              state);
  }
}

TEST(Lldp, WhatTheCommandSaysOfItsFailureIsTold) {
  const Check check = check_lldp("sh -c 'echo first >&2; echo no such socket >&2; exit 3'");
  EXPECT_EQ(check.evidence, "it ended with status 3: no such socket");
  EXPECT_EQ(check_lldp("false").evidence, "it ended with status 1");
}

TEST(Lldp, ACommandThatFailsOrSaysNothingIsAWarningWithAWayOut) {
  for (const char* command : {"/nowhere/lldpctl", "echo nonsense", "echo '{\"lldp\":{}}'", "sleep 60"}) {
    const Check check = check_lldp(command);
    EXPECT_EQ(check.state, State::kWarn) << command;
    EXPECT_NE(check.way_out, "") << command;
  }
  EXPECT_EQ(check_lldp("").state, State::kWarn);
}

// --- the sidecar's socket

class Listener {  // takes one connection and answers its message with `answer`
 public:
  Listener(const std::string& path, const railwitness_welcome& answer) : fd_(socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    thread_ = std::thread([this, answer] {
      const int client = accept(fd_, nullptr, nullptr);
      EXPECT_EQ(recv(client, &heard_, sizeof heard_, 0), ssize_t{sizeof heard_});
      EXPECT_EQ(send(client, &answer, sizeof answer, 0), ssize_t{sizeof answer});
      close(client);
    });
  }
  ~Listener() {
    thread_.join();
    close(fd_);
  }
  railwitness_hello heard_{};

 private:
  int fd_;
  std::thread thread_;
};

TEST(Handover, ASidecarThatAnswersIsOkAndOneOfAnotherLayoutIsBad) {
  for (const uint16_t major : {uint16_t{RAILWITNESS_ABI_MAJOR}, uint16_t{RAILWITNESS_ABI_MAJOR + 1}}) {
    const Folder folder;
    railwitness_welcome welcome{};
    welcome.magic = RAILWITNESS_HANDOVER_MAGIC;
    welcome.abi_major = major;
    Listener listener(folder.path() + "/s", welcome);
    const Check check = check_handover(folder.path() + "/s");
    EXPECT_EQ(check.state, major == RAILWITNESS_ABI_MAJOR ? State::kOk : State::kBad) << check.evidence;
    EXPECT_EQ(listener.heard_.abi_major, RAILWITNESS_HANDOVER_ASKS);
  }
}

TEST(Handover, NoSocketAndSomethingElseAreBadWithAWayOut) {
  const Folder folder;
  EXPECT_EQ(check_handover(folder.path() + "/s").state, State::kBad);
  EXPECT_EQ(check_handover(std::string(200, 'x')).state, State::kBad);
  railwitness_welcome nonsense{};
  Listener listener(folder.path() + "/t", nonsense);
  const Check check = check_handover(folder.path() + "/t");
  EXPECT_EQ(check.state, State::kBad);
  EXPECT_NE(check.way_out, "");
}

}  // namespace
}  // namespace railwitness::doctor
