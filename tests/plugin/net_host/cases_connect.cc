// listen, connect, accept: polled by one thread, on the same handle, and given up half-way.
#include "tests/plugin/net_host/cases.h"

#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace railwitness::net_host {
namespace {

void connected_while_the_other_rank_is_busy(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  std::vector<Link> links(1);
  c.service.call([&] {
    Handle mine, theirs;
    void* listener = nullptr;
    REQUIRE(net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
    rank.exchange(&mine, &theirs, sizeof mine);
    int calls = 0;
    if (rank.id == 1) nap_us(600'000);  // rank 0 polls meanwhile; each call must come back at once
    for (const double end = now_s() + kPatience_s; !links[0].send || !links[0].recv; calls++) {
      REQUIRE(now_s() < end, "no connection after %d calls", calls);
      const double start = now_s();
      if (!links[0].send) REQUIRE(net.connect(c.context, c.device, &theirs, &links[0].send) == abi::kSuccess);
      if (!links[0].recv) REQUIRE(net.accept(listener, &links[0].recv) == abi::kSuccess);
      if (rank.id == 0 && calls < 3) REQUIRE(now_s() - start < 0.5, "connect or accept waits for the other rank");
      nap_us(500);
    }
    net.close_listen(listener);
  });
  c.transfer(links, {100, 70'000});
  c.close(links);
  c.finalize();
}

// Older drivers: NCCL opens a loopback on the thread that makes the communicator and registers 2 MiB on both ends.
void connected_to_itself(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  Handle handle;
  void *listener = nullptr, *send = nullptr, *recv = nullptr, *request = nullptr, *received = nullptr;
  REQUIRE(net.listen(c.context, c.device, &handle, &listener) == abi::kSuccess);
  for (const double end = now_s() + kPatience_s; !send || !recv;) {
    REQUIRE(now_s() < end, "no connection to itself");
    if (!send) REQUIRE(net.connect(c.context, c.device, &handle, &send) == abi::kSuccess);
    if (!recv) REQUIRE(net.accept(listener, &recv) == abi::kSuccess);
    nap_us(50);
  }
  std::vector<unsigned char> data(2 << 20);
  void* const send_mr = net.register_memory(send, data.data(), data.size());
  void* const recv_mr = net.register_memory(recv, data.data(), data.size());
  write_pattern(data.data(), 1000, 5, 0);
  bool sent = false, got = false;
  for (const double end = now_s() + kPatience_s; !sent || !got;) {
    REQUIRE(now_s() < end, "nothing moves to itself");
    if (!received) REQUIRE(!net.irecv(recv, {{data.data() + 4096, 1000, 3, recv_mr, nullptr}}, false, &received));
    if (!request) REQUIRE(!net.isend(send, data.data(), 1000, 3, send_mr, nullptr, &request));
    if (request && !sent) REQUIRE(!net.test(request, nullptr, &sent));
    if (received && !got) REQUIRE(!net.test(received, nullptr, &got));
  }
  REQUIRE(has_pattern(data.data() + 4096, 1000, 5, 0));
  net.deregister(send, send_mr);
  net.deregister(recv, recv_mr);
  net.close_recv(recv);
  net.close_send(send);
  net.close_listen(listener);
  c.finalize();
}

void many_connections_by_one_thread(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank, 32);
  c.transfer(links, {8, 300});
  c.close(links);
  c.finalize();
}

void listened_and_never_connected(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  c.service.call([&] {
    for (int i = 0; i < 50; i++) {
      Handle handle;
      void *listener = nullptr, *comm = nullptr;
      REQUIRE(c.net.listen(c.context, c.device, &handle, &listener) == abi::kSuccess);
      if (i % 2) REQUIRE(c.net.accept(listener, &comm) == abi::kSuccess && !comm);
      c.net.close_listen(listener);
    }
  });
  auto links = c.connect(rank);
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

// The connection never becomes "connected": NCCL closes neither end, and makes another communicator.
void aborted_half_way_through_connect(Rank& rank) {
  Library library(rank.options);
  for (uint64_t round = 0; round < 6; round++) {
    Communicator c(library, 1 + round);
    Net& net = c.net;
    c.service.call([&] {
      Handle mine, theirs;
      void *listener = nullptr, *send = nullptr, *recv = nullptr;
      REQUIRE(net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
      rank.exchange(&mine, &theirs, sizeof mine);
      const bool connects = (rank.id == 0) == (round % 2 == 0);
      // The other rank may have ended its communicator by now, and a transport may tell so.
      const auto may_be = [](Result result) { return result == abi::kSuccess || result == abi::kRemoteError; };
      Result result = abi::kSuccess;
      for (uint64_t i = 0; i < 1 + round && connects && !send && !result; i++)
        REQUIRE(may_be(result = net.connect(c.context, c.device, &theirs, &send)), "connect gave %d", result);
      if (round >= 4) rank.barrier();
      for (uint64_t i = 0; i < 1 + round && !connects && !recv && !result; i++)
        REQUIRE(may_be(result = net.accept(listener, &recv)), "accept gave %d", result);
    });
    c.finalize();
  }
  rank.barrier();
  Communicator c(library, 99);
  auto links = c.connect(rank, 2);
  c.transfer(links, {100, 70'000});
  c.close(links);
  c.finalize();
}

void connected_to_a_closed_listener(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  c.service.call([&] {
    Handle mine, theirs;
    void *listener = nullptr, *send = nullptr;
    REQUIRE(net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
    rank.exchange(&mine, &theirs, sizeof mine);
    net.close_listen(listener);
    rank.barrier();
    Result result = abi::kSuccess;  // an error, or for ever "not yet", as NCCL's own net_ib
    for (int i = 0; i < 20 && !result && !send; i++, nap_us(1000)) result = net.connect(c.context, c.device, &theirs, &send);
    if (send) net.close_send(send);
  });
  rank.barrier();
  auto links = c.connect(rank);
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

// A rank without the plugin, or in another mode: NCCL notices nothing, so the handle must.
void handle_of_another_transport(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  c.service.call([&] {
    for (const int fill : {0x00, 0xFF, 0xA7}) {
      Handle handle;
      memset(handle.bytes, fill, sizeof handle.bytes);
      void* send = nullptr;
      Result result = abi::kSuccess;
      for (const double end = now_s() + 10; !result && !send && now_s() < end; nap_us(200))
        result = net.connect(c.context, c.device, &handle, &send);
      REQUIRE(!send, "a handle full of 0x%02X was connected to", static_cast<unsigned>(fill));
      REQUIRE(result, "a handle full of 0x%02X got no error in 10 s: the job would hang", static_cast<unsigned>(fill));
    }
  });
  auto links = c.connect(rank);
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

// RCCL gives {uint32 chId} where NCCL gives a pointer to a null ncclNetDeviceHandle*: four bytes, here the last ones of
// a page, so that writing a pointer there, or following it, is found.
void rccl_device_handle(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  if (net.version < 7) skip("no device handle before v7");
  const size_t page = static_cast<size_t>(getpagesize());
  auto* pages = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE));
  auto* channel = reinterpret_cast<uint32_t*>(pages + page - sizeof(uint32_t));
  *channel = 0xC4A11D;
  auto** const device_handle = reinterpret_cast<void**>(channel);
  std::vector<Link> links(1);
  c.service.call([&] {
    Handle mine, theirs;
    void* listener = nullptr;
    REQUIRE(net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
    rank.exchange(&mine, &theirs, sizeof mine);
    for (const double end = now_s() + kPatience_s; !links[0].send || !links[0].recv; nap_us(100)) {
      REQUIRE(now_s() < end, "no connection");
      if (!links[0].send) REQUIRE(!net.connect(c.context, c.device, &theirs, &links[0].send, device_handle));
      if (!links[0].recv) REQUIRE(!net.accept(listener, &links[0].recv, device_handle));
    }
    net.close_listen(listener);
  });
  REQUIRE(*channel == 0xC4A11D, "the channel's number was overwritten");
  c.transfer(links, {100, 70'000});
  c.close(links);
  c.finalize();
}

}  // namespace

std::vector<Case> connect_cases() {
  return {{"connected_while_the_other_rank_is_busy", "7", connected_while_the_other_rank_is_busy, loud},
          {"connected_to_itself", "", connected_to_itself, loud},
          {"many_connections_by_one_thread", "7", many_connections_by_one_thread, loud},
          {"listened_and_never_connected", "7", listened_and_never_connected, loud},
          {"aborted_half_way_through_connect", "7", aborted_half_way_through_connect, loud},
          {"connected_to_a_closed_listener", "7", connected_to_a_closed_listener, loud},
          {"handle_of_another_transport", "2", handle_of_another_transport, loud},
          {"rccl_device_handle", "RCCL", rccl_device_handle, loud}};
}

}  // namespace railwitness::net_host
