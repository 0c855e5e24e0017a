// isend, irecv, iflush, test: sizes, groups, tags, hints, order.
#include "tests/plugin/net_host/cases.h"

#include <algorithm>

namespace railwitness::net_host {
namespace {

// One communicator, one connection each way.
struct Session {
  Library library;
  Communicator c;
  std::vector<Link> links;

  explicit Session(Rank& rank, int connections = 1) : library(rank.options), c(library, 1), links(c.connect(rank, connections)) {}
  void end() {
    c.close(links);
    c.finalize();
  }
};

void messages_of_all_sizes(Rank& rank) {
  Session s(rank);
  s.c.transfer(s.links, {0, 1, 2, 3, 7, 8, 63, 64, 65, 0, 255, 4095, 4096, 4097, 0, 0, 65'535, 65'536, 131'072, 1'000'003, 0, 1});
  s.end();
}

void messages_of_no_bytes(Rank& rank) {
  Session s(rank);
  s.c.transfer(s.links, std::vector<size_t>(100, 0));
  s.end();
}

void large_messages(Rank& rank) {
  Session s(rank);
  s.c.transfer(s.links, {8 << 20, (8 << 20) + 1, 5, 4 << 20}, {.depth = 2});
  s.end();
}

void many_small_messages(Rank& rank) {
  Session s(rank);
  std::vector<size_t> sizes(500);
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = i * 37 % 600;
  s.c.transfer(s.links, sizes);
  s.end();
}

void receiver_is_slow(Rank& rank) {  // isend gives no request, or accepts and waits; NCCL tries again without end
  Session s(rank);
  s.c.transfer(s.links, std::vector<size_t>(12, 200'000), {.slow_us = 30'000});
  s.end();
}

// Several operations on one comm add up to NCCL's 32 requests.
void as_many_requests_as_nccl_makes(Rank& rank) {
  Session s(rank);
  std::vector<size_t> sizes(200);
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = i * 997 % 20'000;
  s.c.transfer(s.links, sizes, {.depth = abi::kMaxRequests});
  s.c.transfer(s.links, sizes, {.depth = abi::kMaxRequests, .slow_us = 500});
  s.end();
}

void tested_in_any_order(Rank& rank) {
  Session s(rank);
  std::vector<size_t> sizes(100);
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = i % 3 ? i * 13 : 100'000;
  s.c.transfer(s.links, sizes, {.depth = 16, .newest_first = true});
  s.end();
}

// Several senders' messages over one connection; the receiver posts them in groups, told apart by tag.
void receives_in_groups(Rank& rank) {
  Session s(rank);
  const int most = std::min(8, s.c.device_properties.max_recvs);
  if (most < 2) skip("maxRecvs is 1");
  for (const int n : {2, most}) {
    std::vector<Sub> subs;
    for (int i = 0; i < n; i++) {
      Sub sub{1000 + 17 * i, 30u + static_cast<unsigned>(i), {}};
      for (int step = 0; step < 6 + 5 * i % 7; step++) sub.sizes.push_back(static_cast<size_t>((step * 7919 + i * 1543) % 9000));
      subs.push_back(sub);
    }
    const TransferKind kind{.depth = std::max(1, std::min(8, 16 / n))};
    Communicator& c = s.c;
    auto receive_memory_of_all = c.memory(s.links[0].recv, receive_memory(subs, kind));
    const auto receive = std::make_shared<ReceiveOperation>(c.net, s.links[0].recv, receive_memory_of_all, subs, kind);
    std::vector<std::shared_ptr<Memory>> memories;
    std::vector<std::shared_ptr<Operation>> sends;
    for (size_t i = subs.size(); i--;) {  // the last sub's sender comes first
      TransferKind of_sub = kind;
      of_sub.tag = subs[i].tag, of_sub.seed = subs[i].seed;
      memories.push_back(c.memory(s.links[0].send, largest(subs[i].sizes) * static_cast<size_t>(kind.depth)));
      sends.push_back(std::make_shared<SendOperation>(c.net, s.links[0].send, memories.back(), subs[i].sizes, of_sub));
    }
    c.progress.add(receive);
    for (const auto& send : sends) c.progress.add(send);
    for (const auto& send : sends) REQUIRE(c.progress.wait(send, kPatience_s), "a send of %d in a group is not done", n);
    REQUIRE(c.progress.wait(receive, kPatience_s), "a group of %d is not done", n);
    c.service.call([&] {
      c.net.deregister(receive_memory_of_all->comm, receive_memory_of_all->mr);
      for (const auto& m : memories) c.net.deregister(m->comm, m->mr);
    });
  }
  s.end();
}

void tags_tell_operations_apart(Rank& rank) {  // two operations on one comm, with the tags of different senders
  Session s(rank);
  Communicator& c = s.c;
  const std::vector<size_t> sizes[2] = {{100, 0, 5000, 7, 70'000, 1}, {3, 40'000, 0, 9, 1000, 12'345}};
  std::vector<std::shared_ptr<Operation>> operations;
  std::vector<std::shared_ptr<Memory>> memories;
  for (unsigned i = 0; i < 2; i++) {
    const TransferKind kind{.tag = static_cast<int>(1 - i) * 7, .seed = 5 + i};
    const std::vector<Sub> subs{{kind.tag, kind.seed, sizes[i]}};
    memories.push_back(c.memory(s.links[0].recv, receive_memory(subs, kind)));
    operations.push_back(std::make_shared<ReceiveOperation>(c.net, s.links[0].recv, memories.back(), subs, kind));
  }
  for (const unsigned i : {1u, 0u}) {  // sent in the other order than received
    const TransferKind kind{.tag = static_cast<int>(1 - i) * 7, .seed = 5 + i};
    memories.push_back(c.memory(s.links[0].send, largest(sizes[i]) * 8));
    operations.push_back(std::make_shared<SendOperation>(c.net, s.links[0].send, memories.back(), sizes[i], kind));
  }
  for (const auto& o : operations) c.progress.add(o);
  for (const auto& o : operations) REQUIRE(c.progress.wait(o, kPatience_s), "not done");
  c.service.call([&] {
    for (const auto& m : memories) c.net.deregister(m->comm, m->mr);
  });
  s.end();
}

void completion_that_need_not_be_known(Rank& rank) {
  Session s(rank);
  std::vector<size_t> sizes(60);
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = i * 31 % 2000;
  s.c.transfer(s.links, sizes, {.optional = true});
  s.c.transfer(s.links, sizes, {.seed = 9});  // and without, on the same comm
  s.c.transfer(s.links, sizes, {.optional = true, .seed = 4});
  s.end();
}

void receives_are_flushed(Rank& rank) {
  Session s(rank);
  s.c.transfer(s.links, {1, 100, 70'000, 5, 0, 20, 1000}, {.flush = true});
  s.end();
}

// NCCL_OOB_NET_ENABLE=1: one thread does it all, without phandles and sizes; listen comms are closed at the end.
void bootstrap_over_the_net(Rank& rank) {
  Library library(rank.options);
  Net& net = library.net();
  void *context = nullptr, *listener = nullptr, *send = nullptr, *recv = nullptr;
  REQUIRE(net.init(&context, 1, abi::kUndefined) == abi::kSuccess);
  if (net.devices() == 0) skip("the plugin has no devices");
  Handle mine, theirs;
  REQUIRE(net.listen(context, 0, &mine, &listener) == abi::kSuccess);
  rank.exchange(&mine, &theirs, sizeof mine);
  for (const double end = now_s() + kPatience_s; !send || !recv; nap_us(50)) {
    REQUIRE(now_s() < end, "no connection");
    if (!send) REQUIRE(!net.connect(context, 0, &theirs, &send));
    if (!recv) REQUIRE(!net.accept(listener, &recv));
  }
  const TransferKind kind{.depth = 1, .bootstrap = true};
  const std::vector<size_t> sizes{4, 128, 4096, 0, 8};
  const std::vector<Sub> subs{{0, 1, sizes}};
  auto out = std::make_shared<Memory>(), in = std::make_shared<Memory>();
  out->bytes.resize(4096), in->bytes.resize(receive_memory(subs, kind));
  out->mr = net.register_memory(send, out->bytes.data(), out->bytes.size());
  in->mr = net.register_memory(recv, in->bytes.data(), in->bytes.size());
  SendOperation sends(net, send, out, sizes, kind);
  ReceiveOperation receives(net, recv, in, subs, kind);
  bool moved;
  for (const double end = now_s() + kPatience_s; !sends.is_done() || !receives.is_done();) {
    REQUIRE(now_s() < end, "not done");
    if (!sends.is_done()) REQUIRE(!sends.step(&moved));
    if (!receives.is_done()) REQUIRE(!receives.step(&moved));
  }
  net.deregister(send, out->mr);
  net.deregister(recv, in->mr);
  net.close_send(send);
  net.close_recv(recv);
  net.close_listen(listener);
  REQUIRE(net.finalize(context) == abi::kSuccess);
}

}  // namespace

std::vector<Case> data_cases() {
  return {{"messages_of_all_sizes", "", messages_of_all_sizes, loud},
          {"messages_of_no_bytes", "", messages_of_no_bytes, loud},
          {"large_messages", "", large_messages, loud},
          {"many_small_messages", "", many_small_messages, loud},
          {"receiver_is_slow", "5", receiver_is_slow, loud},
          {"as_many_requests_as_nccl_makes", "", as_many_requests_as_nccl_makes, loud},
          {"tested_in_any_order", "", tested_in_any_order, loud},
          {"receives_in_groups", "6", receives_in_groups, loud},
          {"tags_tell_operations_apart", "", tags_tell_operations_apart, loud},
          {"completion_that_need_not_be_known", "6", completion_that_need_not_be_known, loud},
          {"receives_are_flushed", "", receives_are_flushed, loud},
          {"bootstrap_over_the_net", "OOB", bootstrap_over_the_net, loud}};
}

}  // namespace railwitness::net_host
