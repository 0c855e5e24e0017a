// NCCL's threads on the same comms at once; several communicators; children that share; a fork.
#include "tests/plugin/net_host/cases.h"

#include <atomic>

#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::net_host {
namespace {

std::vector<size_t> some_sizes(size_t n, size_t most) {
  std::vector<size_t> sizes(n);
  for (size_t i = 0; i < n; i++) sizes[i] = i * 7919 % most;
  return sizes;
}

// What NCCL's service thread does with user buffers while the progress thread moves data on the same comm.
void register_until(Communicator& c, const Link& link, const std::atomic<bool>& over) {
  std::vector<unsigned char> user(300'000);
  for (unsigned i = 0; !over; i++) {
    void* const comm = i % 2 ? link.send : link.recv;
    void* const a = c.net.register_memory(comm, user.data(), user.size());
    void* const b = c.net.register_memory(comm, user.data() + 4096, 1 + i % 9000);
    REQUIRE(a != b, "two registrations that live have one handle");
    c.net.set_attributes(c.context, {{1, 1, 1, 1}, {1, 1, 1, 1}, 1u << i % 5, 2, 4});
    c.net.deregister(comm, a);
    c.net.deregister(comm, b);
    if (i % 16 == 0) nap_us(50);
  }
}

void registered_while_data_moves(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  for (const double end = now_s() + rank.options.seconds;;) {
    std::atomic<bool> over{false};
    const std::vector<Sub> subs{{0, 1, some_sizes(300, 9000)}};
    auto out = c.memory(links[0].send, 9000 * 8), in = c.memory(links[0].recv, receive_memory(subs, {}));
    const auto send = std::make_shared<SendOperation>(c.net, links[0].send, out, subs[0].sizes, TransferKind{});
    const auto receive = std::make_shared<ReceiveOperation>(c.net, links[0].recv, in, subs, TransferKind{});
    auto busy = c.service.start([&] { register_until(c, links[0], over); });
    c.progress.add(send);
    c.progress.add(receive);
    REQUIRE(c.progress.wait(send, kPatience_s) && c.progress.wait(receive, kPatience_s), "not done");
    over = true;
    busy.wait();
    c.service.call([&] { c.net.deregister(links[0].send, out->mr), c.net.deregister(links[0].recv, in->mr); });
    char mine = now_s() < end, theirs = 0;
    rank.exchange(&mine, &theirs, 1);
    if (!mine || !theirs) break;
  }
  c.close(links);
  c.finalize();
}

void communicators_side_by_side(Rank& rank) {  // their threads call the plugin at the same time, on the same device
  Library library(rank.options);
  constexpr unsigned kCommunicators = 3;
  std::vector<std::unique_ptr<Communicator>> all;
  std::vector<std::vector<Link>> links;
  for (unsigned i = 0; i < kCommunicators; i++) {
    all.push_back(std::make_unique<Communicator>(library, 50 + i));
    links.push_back(all.back()->connect(rank, 2));
  }
  for (const double end = now_s() + rank.options.seconds;;) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kCommunicators; i++)
      threads.emplace_back([&, i] {
        std::atomic<bool> over{false};
        auto& c = *all[i];
        const std::vector<Sub> subs{{0, 1 + i, some_sizes(200, 5000)}};
        const TransferKind kind{.seed = 1 + i};
        std::vector<std::shared_ptr<Operation>> operations;
        std::vector<std::shared_ptr<Memory>> memories;
        for (const Link& link : links[i]) {
          memories.push_back(c.memory(link.send, 5000 * 8));
          operations.push_back(std::make_shared<SendOperation>(c.net, link.send, memories.back(), subs[0].sizes, kind));
          memories.push_back(c.memory(link.recv, receive_memory(subs, kind)));
          operations.push_back(std::make_shared<ReceiveOperation>(c.net, link.recv, memories.back(), subs, kind));
        }
        auto busy = c.service.start([&] { register_until(c, links[i][0], over); });
        for (const auto& o : operations) c.progress.add(o);
        for (const auto& o : operations) REQUIRE(c.progress.wait(o, kPatience_s), "communicator %u is not done", i);
        over = true;
        busy.wait();
        c.service.call([&] {
          for (const auto& m : memories) c.net.deregister(m->comm, m->mr);
        });
      });
    for (auto& t : threads) t.join();
    char mine = now_s() < end, theirs = 0;
    rank.exchange(&mine, &theirs, 1);
    if (!mine || !theirs) break;
  }
  for (unsigned i = 0; i < kCommunicators; i++) all[i]->close(links[i]), all[i]->finalize();
}

// One communicator's service thread connects and closes while another's moves data.
void connected_while_others_move_data(Rank& rank) {
  Library library(rank.options);
  Communicator steady(library, 1), other(library, 2);
  auto links = steady.connect(rank, 2);
  auto busy = other.service.start([&] {
    for (int i = 0; i < 8; i++) {
      auto more = connect_links(rank, other.net, other.context, other.device, 3);
      for (const Link& link : more) other.net.close_send(link.send), other.net.close_recv(link.recv);
    }
  });
  for (int i = 0; i < 5; i++) steady.transfer(links, some_sizes(200, 5000), {.seed = 3});
  busy.wait();
  steady.transfer(links, {1, 2, 3});
  steady.close(links);
  other.finalize();
  steady.finalize();
}

// ncclCommSplit with splitShare: no init, the parent's context and comms, tags of the parent's ranks; the context is
// finalized when both are gone. Then a child that does not share, which gets its own.
void children_that_share_have_no_init(Rank& rank) {
  Library library(rank.options);
  auto parent = std::make_unique<Communicator>(library, 1);
  auto links = parent->connect(rank);
  {
    Communicator child(*parent);
    auto own = child.connect(rank);  // connections of its own, in the parent's context
    child.transfer(own, some_sizes(50, 3000), {.tag = 9, .seed = 6});
    parent->transfer(links, some_sizes(50, 3000), {.tag = 10, .seed = 7});
    child.close(own);
    child.finalize();
  }
  Communicator unshared(library, 2);
  auto others = unshared.connect(rank);
  parent->transfer(links, some_sizes(50, 3000));
  parent->close(links);
  parent->finalize();
  parent.reset();
  unshared.transfer(others, some_sizes(50, 3000));
  unshared.close(others);
  unshared.finalize();
}

void attributes_from_both_threads(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  if (c.net.version < 11) skip("no setNetAttr before v11");
  auto links = c.connect(rank);
  std::atomic<bool> over{false};
  std::thread progress([&] {
    for (unsigned i = 0; !over; i++) c.net.set_attributes(c.context, {{-1, -1, -1, -1}, {1, 1, 2, 2}, 1u << i % 11, i % 7, i % 3});
  });
  auto service = c.service.start([&] {
    for (unsigned i = 0; !over; i++) c.net.set_attributes(c.context, {{8, 1, 2, 1}, {-1, -1, -1, -1}, ~0u, ~0u, ~0u});
  });
  nap_us(200'000);
  over = true;
  progress.join();
  service.wait();
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

void forked_while_connected(Rank& rank) {  // as data loaders do; the child touches nothing and ends
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, some_sizes(20, 3000));
  for (int i = 0; i < 3; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    c.transfer(links, some_sizes(20, 3000));
  }
  c.close(links);
  c.finalize();
}

}  // namespace

std::vector<Case> thread_cases() {
  return {{"registered_while_data_moves", "9", registered_while_data_moves, loud},
          {"communicators_side_by_side", "9", communicators_side_by_side, loud},
          {"connected_while_others_move_data", "9", connected_while_others_move_data, loud},
          {"children_that_share_have_no_init", "10", children_that_share_have_no_init, loud},
          {"attributes_from_both_threads", "9", attributes_from_both_threads, loud},
          {"forked_while_connected", "", forked_while_connected, loud}};
}

}  // namespace railwitness::net_host
