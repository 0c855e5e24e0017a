// What NCCL never does, or only when something else is broken: closing twice, in the wrong order, after finalize; knobs full
// of junk; libfabric that cannot be had. An error or nothing at all, never a crash, and others go on.
#include "tests/plugin/net_host/cases.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::net_host {
namespace {

using Close = Result (*)(void*);
enum Slot { kCloseSend = 14, kCloseRecv, kCloseListen };  // the same in every version
Close raw(const Net& net, Slot slot) { return reinterpret_cast<Close>(static_cast<void* const*>(net.table())[slot]); }

void closed_twice(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto others = c.connect(rank), links = c.connect(rank);
  c.transfer(links, {100, 70'000});
  rank.barrier();
  c.service.call([&] {
    Handle handle;
    void* listener = nullptr;
    REQUIRE(c.net.listen(c.context, c.device, &handle, &listener) == abi::kSuccess);
    char never_given[256] = {};
    struct {
      Slot slot;
      void* comm;
    } const all[] = {{kCloseSend, links[0].send}, {kCloseRecv, links[0].recv}, {kCloseListen, listener}};
    for (const auto& it : all) {
      const Close close = raw(c.net, it.slot);
      REQUIRE(close(it.comm) == abi::kSuccess);
      REQUIRE(close(it.comm) != abi::kSuccess, "closed twice in slot %d, and nobody was told", it.slot);
      REQUIRE(close(never_given) != abi::kSuccess, "something that was never given was closed in slot %d", it.slot);
      REQUIRE(close(nullptr) == abi::kSuccess);
    }
    REQUIRE(raw(c.net, kCloseRecv)(others[0].send) != abi::kSuccess, "a sender was closed as a receiver");
  });
  c.transfer(others, {100, 70'000});
  c.close(others);
  c.finalize();
}

void closed_after_finalize(Rank& rank) {
  Library library(rank.options);
  if (library.net().version < 11) skip("no finalize before v11");
  Communicator other(library, 2);
  auto others = other.connect(rank);
  auto c = std::make_unique<Communicator>(library, 1);
  auto links = c->connect(rank);
  c->transfer(links, {100, 70'000});
  rank.barrier();
  Net& net = c->net;
  c->finalize();
  (void)raw(net, kCloseSend)(links[0].send);
  (void)raw(net, kCloseRecv)(links[0].recv);
  REQUIRE(raw(net, kCloseSend)(links[0].send) != abi::kSuccess);
  c.reset();
  other.transfer(others, {100, 70'000});
  other.close(others);
  other.finalize();
}

void closed_before_it_is_connected(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  for (int order = 0; order < 4; order++) {
    c.service.call([&] {
      Handle mine, theirs;
      void *listener = nullptr, *send = nullptr, *recv = nullptr;
      REQUIRE(c.net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
      rank.exchange(&mine, &theirs, sizeof mine);
      Result connected = c.net.connect(c.context, c.device, &theirs, &send);
      if (order % 2) REQUIRE(c.net.accept(listener, &recv) == abi::kSuccess);
      if (order / 2 == rank.id) rank.barrier();
      c.net.close_listen(listener);
      if (order / 2 != rank.id) rank.barrier();
      for (int i = 0; i < 50 && !connected && !send; i++, nap_us(200))  // an error, or "not yet"
        connected = c.net.connect(c.context, c.device, &theirs, &send);
      if (send) c.net.close_send(send);
      if (recv) c.net.close_recv(recv);
    });
    rank.barrier();
  }
  auto links = c.connect(rank);
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

void initialised_twice(Rank& rank) {
  Library library(rank.options);
  Communicator first(library, 7), second(library, 7);  // of one id
  auto links = first.connect(rank), others = second.connect(rank);
  first.transfer(links, {100});
  first.close(links);
  first.finalize();
  second.transfer(others, {100, 70'000});
  second.close(others);
  second.finalize();
}

void finalized_while_another_moves_data(Rank& rank) {
  Library library(rank.options);
  Communicator stays(library, 1);
  auto links = stays.connect(rank, 2);
  for (uint64_t i = 0; i < 3; i++) {
    Communicator goes(library, 2 + i);
    auto others = goes.connect(rank, 2);
    goes.transfer(others, {100});
    std::thread moving([&] { stays.transfer(links, std::vector<size_t>(300, 9000)); });
    goes.close(others);
    goes.finalize();
    moving.join();
    rank.barrier();
  }
  stays.close(links);
  stays.finalize();
}

// A receive that nobody serves any more: an error or "not yet", and it can be closed.
void tested_after_the_peer_has_closed(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, {100});
  rank.barrier();
  if (rank.id == 1) {
    rank.barrier();  // the receive is posted
    c.close(links);
    rank.barrier();
  } else {
    auto in = c.memory(links[0].recv, 1000);
    void* request = nullptr;
    REQUIRE(c.net.irecv(links[0].recv, {{in->bytes.data(), 1000, 0, in->mr, nullptr}}, false, &request) == abi::kSuccess);
    rank.barrier();
    rank.barrier();
    bool done = false;
    int sizes[abi::kMaxChannels] = {};
    Result result = abi::kSuccess;
    for (const double end = now_s() + 4; request && !done && !result && now_s() < end; nap_us(100))
      result = c.net.test(request, sizes, &done);
    REQUIRE(!done, "a receive is done that nobody served");
    REQUIRE(!rank.options.is_ofi() || result, "mode ofi says nothing of a peer that has closed");
    c.service.call([&] { c.net.deregister(links[0].recv, in->mr); });
    c.close(links);
  }
  c.finalize();
}

// --- knobs and libraries ---------------------------------------------------------------------------------------------

// In a process of its own each: what is wrong is told, and the job goes on with or without devices.
void expect_survival(const Rank& rank, const char* folder, const std::vector<const char*>& names, const std::string& value) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    REQUIRE(chdir(folder) == 0);  // a segment file may be called anything
    for (const char* name : names) setenv(name, value.c_str(), 1);
    Library library(rank.options);
    Net& net = library.net();
    void* context = nullptr;
    if (net.init(&context, 1, abi::kUndefined) != abi::kSuccess) _exit(2);
    (void)net.has_no_devices();
    if (net.finalize(context) != abi::kSuccess) _exit(3);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%zu knobs from %s on: '%.60s' (%zu bytes): status %d",
          names.size(), names[0], value.c_str(), value.size(), status);
}

void knobs_full_of_junk(Rank& rank) {
  if (rank.id == 1) return;
  const std::string junk[] = {"", " ", "%s%n%s%n", std::string(100'000, 'A'), "\x01\xff\xfe;|&`$(x)", ",,,^==,^", "-1",
                              "99999999999999999999999", "1e9", "0x10", "nan", "tcp;ofi_rxm;shm;;", "chain:", "chain:chain:ofi",
                              "chain:" + std::string(100'000, 'x'), "chain:%s%n", "chain:/", "chain:/dev/zero", "OFI", "ofi "};
  const std::vector<const char*> knobs = {
      "RAILWITNESS_OFI_PROVIDER", "RAILWITNESS_OFI_IFNAME", "RAILWITNESS_OFI_CONNECT_TIMEOUT", "RAILWITNESS_OFI_WAIT",
      "RAILWITNESS_SOCKET", "RAILWITNESS_JOB", "RAILWITNESS_SEGMENT_FILE", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY",
      "RAILWITNESS_NOT_A_KNOB"};
  char folder[] = "/tmp/net-host-XXXXXX";
  REQUIRE(mkdtemp(folder));
  for (const std::string& value : junk) {
    expect_survival(rank, folder, {"RAILWITNESS_MODE"}, value);
    expect_survival(rank, folder, knobs, value);
  }
  for (const char* name : knobs)  // that one stops before it looks at the others
    for (const size_t i : {2u, 3u, 4u}) expect_survival(rank, folder, {name}, junk[i]);
  std::filesystem::remove_all(folder);
}

void expect_no_devices(Rank& rank, const char* named) {
  Library library(rank.options);
  Net& net = library.net();
  void* context = nullptr;
  REQUIRE(net.init(&context, 1, abi::kUndefined) == abi::kSuccess);
  REQUIRE(net.has_no_devices());
  REQUIRE(logged().find(named) != std::string::npos, "the log does not name '%s': %s", named, logged().c_str());
  REQUIRE(net.finalize(context) == abi::kSuccess);
}

void ofi_without_such_a_provider(Rank& rank) {  // fi_getinfo fails
  setenv("RAILWITNESS_OFI_PROVIDER", "no_such_provider", 1);
  expect_no_devices(rank, "RAILWITNESS_OFI_PROVIDER");
}
void ofi_without_interfaces(Rank& rank) {
  setenv("RAILWITNESS_OFI_IFNAME", "=no_such_interface", 1);
  expect_no_devices(rank, "RAILWITNESS_OFI_IFNAME");
}
// Only where the test gives it one: see CMakeLists.txt.
void ofi_over_a_broken_libfabric(Rank& rank) {
  const char* named = getenv("NET_HOST_BROKEN_LIBFABRIC");
  if (!named) skip("this host's libfabric is not broken");
  expect_no_devices(rank, named);
}

bool is_ofi(const Options& o) { return o.is_ofi(); }
bool is_ours(const Options& o) { return o.is_ours(); }

}  // namespace

std::vector<Case> misuse_cases() {
  return {{"closed_twice", "", closed_twice, ours_and_loud},
          {"closed_after_finalize", "", closed_after_finalize, is_ofi},
          {"closed_before_it_is_connected", "7", closed_before_it_is_connected, loud},
          {"initialised_twice", "", initialised_twice, loud},
          {"finalized_while_another_moves_data", "8", finalized_while_another_moves_data, loud},
          {"tested_after_the_peer_has_closed", "5", tested_after_the_peer_has_closed, loud},
          {"knobs_full_of_junk", "", knobs_full_of_junk, is_ours},
          {"ofi_without_such_a_provider", "1, 4", ofi_without_such_a_provider, is_ofi},
          {"ofi_without_interfaces", "1, 4", ofi_without_interfaces, is_ofi},
          {"ofi_over_a_broken_libfabric", "1, 4", ofi_over_a_broken_libfabric, is_ofi}};
}

}  // namespace railwitness::net_host
