// Aborts with requests outstanding, errors, peers that die, and communicators after that.
#include "tests/plugin/net_host/cases.h"

#include <cstdlib>

#include <unistd.h>

namespace railwitness::net_host {
namespace {

// The progress thread leaves; the service thread deregisters and closes with everything still posted. Then, as after
// ncclCommRevoke and ncclCommShrink, the next communicator of the same process must be as good as new.
void aborted_with_requests_outstanding(Rank& rank) {
  Library library(rank.options);
  for (uint64_t generation = 0; generation < 5; generation++) {
    Communicator c(library, 1 + generation);
    auto links = c.connect(rank, 2);
    c.transfer(links, {100, 5000});
    const std::vector<Sub> subs{{0, 1, std::vector<size_t>(1000, 100'000)}};
    std::vector<std::shared_ptr<Memory>> memories;
    for (const Link& link : links) {
      memories.push_back(c.memory(link.send, 100'000 * 8));
      c.progress.add(std::make_shared<SendOperation>(c.net, link.send, memories.back(), subs[0].sizes, TransferKind{}));
      if (generation % 2 && rank.id == 0) continue;  // sends that nobody will receive
      memories.push_back(c.memory(link.recv, receive_memory(subs, {})));
      c.progress.add(std::make_shared<ReceiveOperation>(c.net, link.recv, memories.back(), subs, TransferKind{}));
    }
    nap_us(10'000 * static_cast<int>(generation));
    rank.barrier();  // both are in the middle
    c.progress.stop();
    rank.barrier();  // neither makes progress any more
    c.service.call([&] {
      for (const auto& m : memories) c.net.deregister(m->comm, m->mr);
    });
    c.close(links);
    c.finalize();
  }
  Communicator c(library, 99);
  auto links = c.connect(rank, 2);
  c.transfer(links, {100, 70'000, 0, 3});
  c.close(links);
  c.finalize();
}

void closed_in_any_order(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  for (int order = 0; order < 4; order++) {
    auto links = c.connect(rank, 2);
    c.transfer(links, {100, 0, 70'000});
    if (order % 2 == rank.id) rank.barrier();  // the other rank has closed by then
    c.service.call([&] {
      for (const Link& link : links) {
        if (order / 2) c.net.close_recv(link.recv), c.net.close_send(link.send);
        else c.net.close_send(link.send), c.net.close_recv(link.recv);
      }
    });
    if (order % 2 != rank.id) rank.barrier();
  }
  c.finalize();
}

// Rank 1 ends without a word. Rank 0 must be told by an error within seconds, must be able to clean up, and can go on
// with a communicator to itself.
void peer_dies(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, {100, 5000});
  rank.barrier();
  if (rank.id == 1) _exit(0);
  while (!rank.peer_is_gone()) nap_us(1000);
  const std::vector<Sub> subs{{0, 1, std::vector<size_t>(1000, 10'000)}};
  auto out = c.memory(links[0].send, 10'000 * 8), in = c.memory(links[0].recv, receive_memory(subs, {}));
  const auto receive = std::make_shared<ReceiveOperation>(c.net, links[0].recv, in, subs, TransferKind{});
  Result error = abi::kSuccess;
  c.progress.add(receive);
  c.progress.add(std::make_shared<SendOperation>(c.net, links[0].send, out, subs[0].sizes, TransferKind{}));
  c.progress.wait(receive, 20, &error);
  REQUIRE(error != abi::kSuccess, "a dead peer is not reported within 20 s");
  c.progress.stop();
  c.service.call([&] { c.net.deregister(links[0].send, out->mr), c.net.deregister(links[0].recv, in->mr); });
  c.close(links);
  c.finalize();
  Communicator next(library, 2);
  next.finalize();
}

void peer_dies_before_accepting(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Handle mine, theirs;
  void *listener = nullptr, *send = nullptr, *recv = nullptr;
  REQUIRE(c.net.listen(c.context, c.device, &mine, &listener) == abi::kSuccess);
  rank.exchange(&mine, &theirs, sizeof mine);
  if (rank.id == 1) _exit(0);
  while (!rank.peer_is_gone()) nap_us(1000);
  c.service.call([&] {
    Result connected = abi::kSuccess, accepted = abi::kSuccess;  // an error, or "not yet" until NCCL gives up
    for (int i = 0; i < 300 && !connected && !accepted && !send; i++, nap_us(1000)) {
      connected = c.net.connect(c.context, c.device, &theirs, &send);
      accepted = c.net.accept(listener, &recv);
      REQUIRE(!recv, "accepted nobody");
    }
    if (send) c.net.close_send(send);
    c.net.close_listen(listener);
  });
  c.finalize();
  Communicator next(library, 2);
  next.finalize();
}

// --- errors of a plugin that is chained ------------------------------------------------------------------------------

void error_ends_the_progress_thread(Rank& rank) {
  setenv("LOOP_FAIL", "irecv", 1);
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  const std::vector<Sub> subs{{0, 1, {100}}};
  auto in = c.memory(links[0].recv, receive_memory(subs, {}));
  const auto receive = std::make_shared<ReceiveOperation>(c.net, links[0].recv, in, subs, TransferKind{});
  Result error = abi::kSuccess;
  c.progress.add(receive);
  c.progress.wait(receive, 10, &error);
  REQUIRE(error == abi::kSystemError, "the plugin said 2, NCCL was told %d", error);
  c.progress.stop();
  c.service.call([&] { c.net.deregister(links[0].recv, in->mr); });
  c.close(links);
  c.finalize();
}

void in_progress_never_reaches_nccl(Rank& rank) {
  setenv("LOOP_FAIL", "progress", 1);
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  auto out = c.memory(links[0].send, 1000);
  void* request = nullptr;
  // NCCL takes 7 for success and looks at the request, so it must be null, or the call an error. Net::isend fails on 7.
  const Result result = c.net.isend(links[0].send, out->bytes.data(), 100, 0, out->mr, nullptr, &request);
  REQUIRE(result || !request);
  c.service.call([&] { c.net.deregister(links[0].send, out->mr); });
  c.close(links);
  c.finalize();
}

bool chained_to_loop(const Options& o) { return o.is_chain() && o.inner.find("loop") != std::string::npos; }

}  // namespace

std::vector<Case> abort_cases() {
  return {{"aborted_with_requests_outstanding", "8", aborted_with_requests_outstanding, loud},
          {"closed_in_any_order", "8", closed_in_any_order, loud},
          {"peer_dies", "5", peer_dies, loud, 240, true},
          {"peer_dies_before_accepting", "7", peer_dies_before_accepting, loud, 240, true},
          {"error_ends_the_progress_thread", "5", error_ends_the_progress_thread, chained_to_loop},
          {"in_progress_never_reaches_nccl", "5", in_progress_never_reaches_nccl, chained_to_loop}};
}

}  // namespace railwitness::net_host
