// Load, init, properties, finalize, unload.
#include "tests/plugin/net_host/cases.h"

#include <filesystem>
#include <set>

#include <unistd.h>

namespace railwitness::net_host {
namespace {

void properties_are_all_set(Rank& rank) {
  Library library(rank.options);
  Net& net = library.net();
  void* context = nullptr;
  REQUIRE(net.init(&context, 1, abi::kUndefined) == abi::kSuccess);
  const int count = net.devices();
  if (count == 0) skip("the plugin has no devices");
  std::set<std::string> names;
  for (int i = 0; i < count; i++) {
    const Device d = net.properties(i), again = net.properties(i);
    REQUIRE(d.unset.empty(), "device %d: not set: %s", i, d.unset.c_str());
    REQUIRE(!d.name.empty() && names.insert(d.name).second, "device %d: the name '%s' is not unique", i, d.name.c_str());
    REQUIRE(d.name == again.name);
    REQUIRE(d.max_p2p_bytes > 0 && d.max_p2p_bytes <= abi::kMaxNetBytes, "device %d: maxP2pBytes %zu", i, d.max_p2p_bytes);
    REQUIRE(d.max_coll_bytes > 0 && d.max_coll_bytes <= abi::kMaxNetBytes, "device %d: maxCollBytes %zu", i, d.max_coll_bytes);
    REQUIRE(d.ptr_support & abi::kPtrHost, "device %d: ptrSupport %d has no host memory", i, d.ptr_support);
    REQUIRE(!(d.ptr_support & ~7), "device %d: ptrSupport %d", i, d.ptr_support);
    REQUIRE(d.net_device_type == 0, "device %d: netDeviceType %d: NCCL would not take the plugin", i, d.net_device_type);
    REQUIRE(d.max_recvs >= 1 && d.max_recvs <= abi::kMaxChannels, "device %d: maxRecvs %d", i, d.max_recvs);
    REQUIRE(d.max_comms >= 1, "device %d: maxComms %d", i, d.max_comms);
    REQUIRE(d.speed > 0, "device %d: speed %d", i, d.speed);
    REQUIRE(d.latency >= 0 && d.latency < 1e6f, "device %d: latency %f", i, static_cast<double>(d.latency));
    REQUIRE(d.reg_is_global == 0 || d.reg_is_global == 1, "device %d: regIsGlobal %d", i, d.reg_is_global);
    REQUIRE(d.force_flush == 0 || d.force_flush == 1, "device %d: forceFlush %d", i, d.force_flush);
    REQUIRE(d.members.size() == 1 && d.members[0] == i, "device %d: vProps names device %d of %zu", i, d.members[0],
            d.members.size());
    REQUIRE(d.max_multi_request_size >= 1 && d.max_multi_request_size <= abi::kMaxRequests, "device %d: maxMultiRequestSize %d",
            i, d.max_multi_request_size);
    REQUIRE(d.rail_id >= -1 && d.plane_id >= -1, "device %d: rail %d, plane %d", i, d.rail_id, d.plane_id);
  }
  REQUIRE(net.finalize(context) == abi::kSuccess);
}

void has_no_null_function(Rank& rank) {  // those NCCL may find null are regMrDmaBuf, getDeviceMr, irecvConsumed, makeVDevice
  Library library(rank.options);
  const Net& net = library.net();
  const size_t words = (net.version >= 11 ? 176u : net.version >= 9 ? 160u : net.version >= 7 ? 152u : 136u) / sizeof(void*);
  const std::set<size_t> may_be_null{8, 17, 18, 19};
  for (size_t i = 0; i < words; i++)
    REQUIRE(may_be_null.contains(i) || static_cast<void* const*>(net.table())[i], "word %zu of the table is null", i);
  REQUIRE(!net.name().empty() && net.name() != "IB" && net.name() != "Socket", "the name is '%s'", net.name().c_str());
}

void communicators_come_and_go(Rank& rank) {
  Library library(rank.options);
  std::vector<std::unique_ptr<Communicator>> all;
  for (uint64_t i = 0; i < 4; i++) all.push_back(std::make_unique<Communicator>(library, 100 + i));
  if (library.net().version >= 11)
    for (const auto& a : all)
      for (const auto& b : all) REQUIRE(a == b || a->context != b->context || !a->context, "two communicators share a context");
  for (const size_t i : {2u, 0u, 3u, 1u}) {
    auto links = all[i]->connect(rank);
    all[i]->transfer(links, {1000, 20});
    all[i]->close(links);
    all[i]->finalize();
    all[i].reset();
  }
  Communicator late(library, 200);
  auto links = late.connect(rank);
  late.transfer(links, {1000, 20});
  late.close(links);
  late.finalize();
}

void finalize_without_init(Rank& rank) {  // NCCL 2.28.3 and 2.28.9 after an init that failed
  Library library(rank.options);
  Net& net = library.net();
  if (net.version < 11) skip("no finalize before v11");
  REQUIRE(net.finalize(nullptr) == abi::kSuccess);
  Communicator communicator(library, 1);
  REQUIRE(net.finalize(nullptr) == abi::kSuccess);
  auto links = communicator.connect(rank);
  communicator.transfer(links, {100});
  communicator.close(links);
  communicator.finalize();
  REQUIRE(net.finalize(nullptr) == abi::kSuccess);
}

void unloaded_and_used_again(Rank& rank) {  // NCCL 2.28.3 and later unload with the last communicator
  for (uint64_t i = 0; i < 3; i++) {
    Library library(rank.options);
    {
      Communicator communicator(library, 10 + i);
      auto links = communicator.connect(rank, 2);
      communicator.transfer(links, {100, 70'000, 0, 1});
      communicator.close(links);
      communicator.finalize();
    }
    rank.barrier();
    library.unload();
  }
}

void two_copies_in_one_process(Rank& rank) {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/net-host-XXXXXX";
  REQUIRE(mkdtemp(folder));
  const fs::path original = rank.options.plugin, copy = fs::path(folder) / original.filename();
  fs::copy_file(original, copy);
  for (const auto& other : fs::directory_iterator(original.parent_path()))  // what the plugin looks for beside itself
    if (other.path().extension() == ".so" && other.path().filename() != original.filename())
      fs::create_symlink(other.path(), fs::path(folder) / other.path().filename());
  {
    Library first(rank.options), second(rank.options, copy.string());
    fs::remove_all(folder);
    REQUIRE(first.net().table() != second.net().table(), "it was not loaded twice");
    Communicator a(first, 1), b(second, 2);
    auto links_a = a.connect(rank), links_b = b.connect(rank);
    a.transfer(links_a, {100, 70'000});
    b.transfer(links_b, {100, 70'000});
    a.close(links_a);
    a.finalize();
    b.transfer(links_b, {5});
    b.close(links_b);
    b.finalize();
  }
}

void two_nccls_in_one_process(Rank& rank) {  // of different versions: a framework with one of its own, linked in
  Options other = rank.options;
  other.version = rank.options.version == 12 ? 8 : 12;
  Library first(rank.options), second(other);
  if (!first.has_net() || !second.has_net()) skip("the library does not speak both versions");
  Communicator a(first, 1), b(second, 2);
  auto links_a = a.connect(rank), links_b = b.connect(rank);
  a.transfer(links_a, {100, 70'000});
  b.transfer(links_b, {100, 70'000});
  b.close(links_b);
  b.finalize();
  a.transfer(links_a, {100});
  a.close(links_a);
  a.finalize();
}

// --- nothing to work with: init succeeds, no devices, and the log names what is wrong --------------------------------

void expect_silence(Rank& rank, const char* mode, const char* named) {
  setenv("RAILWITNESS_MODE", mode, 1);
  Library library(rank.options);
  Net& net = library.net();
  for (uint64_t i = 0; i < 2; i++) {
    void* context = nullptr;
    REQUIRE(net.init(&context, i, abi::kUndefined) == abi::kSuccess, "a failed init is not survived by NCCL 2.28");
    REQUIRE(net.has_no_devices(), "there is nothing to have devices");
    REQUIRE(net.finalize(context) == abi::kSuccess);
  }
  REQUIRE(logged().find(named) != std::string::npos, "the log does not name '%s': %s", named, logged().c_str());
}

void chain_of_a_missing_plugin(Rank& rank) { expect_silence(rank, "chain:/nowhere/libnccl-net-none.so", "/nowhere"); }
void chain_of_no_plugin(Rank& rank) { expect_silence(rank, "chain:/etc/hostname", "/etc/hostname"); }
void chain_of_another_library(Rank& rank) { expect_silence(rank, "chain:libm.so.6", "libm.so.6"); }
void chain_of_nothing(Rank& rank) { expect_silence(rank, "chain:", "chain"); }
void chain_of_itself(Rank& rank) {
  expect_silence(rank, ("chain:" + rank.options.plugin).c_str(), "railwitness");
}
void chain_of_a_plugin_whose_init_fails(Rank& rank) {
  setenv("LOOP_FAIL", "init", 1);
  expect_silence(rank, rank.options.mode.c_str(), "loop");
}
void chain_of_a_plugin_whose_devices_fail(Rank& rank) {
  setenv("LOOP_FAIL", "devices", 1);
  expect_silence(rank, rank.options.mode.c_str(), "");
}
void chain_of_a_plugin_without_devices(Rank& rank) {
  setenv("LOOP_DEVICES", "0", 1);
  expect_silence(rank, rank.options.mode.c_str(), "");
}
bool chained_to_loop(const Options& o) { return o.is_chain() && o.inner.find("loop") != std::string::npos; }

// --- modes without devices -------------------------------------------------------------------------------------------

void refuses_everything(Rank& rank) {
  Library library(rank.options);
  Net& net = library.net();
  void *context = nullptr, *comm = nullptr;
  for (uint64_t i = 0; i < 3; i++) {
    REQUIRE(net.init(&context, i, abi::kUndefined) == abi::kSuccess);
    REQUIRE(net.devices() == 0);
    REQUIRE(net.finalize(context) == abi::kSuccess);
  }
  REQUIRE(net.init(&context, 9, abi::kUndefined) == abi::kSuccess);
  // Without a device there is no comm, so nothing that takes one can be called.
  Handle handle;
  int device = -1;
  REQUIRE(net.listen(context, 0, &handle, &comm) != abi::kSuccess);
  REQUIRE(net.connect(context, 0, &handle, &comm) != abi::kSuccess);
  REQUIRE(net.set_attributes(context, {}) == abi::kSuccess);
  if (net.has_virtual_devices()) REQUIRE(net.make_virtual_device({0}, &device) != abi::kSuccess);
  REQUIRE(net.finalize(context) == abi::kSuccess);
  library.unload();
}

void finalize_without_init_is_refused_by_nobody(Rank& rank) {
  Library library(rank.options);
  REQUIRE(library.net().finalize(nullptr) == abi::kSuccess);
}

}  // namespace

std::vector<Case> life_cases() {
  return {{"properties_are_all_set", "15", properties_are_all_set, loud},
          {"has_no_null_function", "15", has_no_null_function, always},
          {"communicators_come_and_go", "", communicators_come_and_go, loud},
          {"finalize_without_init", "4", finalize_without_init, loud},
          {"unloaded_and_used_again", "3", unloaded_and_used_again, loud},
          {"two_copies_in_one_process", "3", two_copies_in_one_process, loud},
          {"two_nccls_in_one_process", "", two_nccls_in_one_process, loud},
          {"chain_of_a_missing_plugin", "1, 4", chain_of_a_missing_plugin, chained},
          {"chain_of_no_plugin", "1, 4", chain_of_no_plugin, chained},
          {"chain_of_another_library", "1, 4", chain_of_another_library, chained},
          {"chain_of_nothing", "1, 4", chain_of_nothing, chained},
          {"chain_of_itself", "1, 4", chain_of_itself, chained},
          {"chain_of_a_plugin_whose_init_fails", "1, 4", chain_of_a_plugin_whose_init_fails, chained_to_loop},
          {"chain_of_a_plugin_whose_devices_fail", "1, 4", chain_of_a_plugin_whose_devices_fail, chained_to_loop},
          {"chain_of_a_plugin_without_devices", "1, 4", chain_of_a_plugin_without_devices, chained_to_loop}};
}

std::vector<Case> silent_cases() {
  return {{"refuses_everything", "1, 4", refuses_everything, silent},
          {"finalize_without_init_in_silence", "4", finalize_without_init_is_refused_by_nobody, silent}};
}

}  // namespace railwitness::net_host
