// After a thousand connections a process holds what it held after a hundred.
#include "tests/plugin/net_host/cases.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace railwitness::net_host {
namespace {

struct Held {
  long descriptors, threads, resident_kib, heap_bytes;
  loop::Counts inner;
};

long count_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

Held look(const Options& options) {
  Held held{};
  held.descriptors = count_entries("/proc/self/fd");
  held.threads = count_entries("/proc/self/task");
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  held.resident_kib = pages * (getpagesize() / 1024);
  held.heap_bytes = static_cast<long>(mallinfo2().uordblks);
  if (options.inner.find("loop") != std::string::npos) held.inner = counts(options);
  return held;
}

constexpr long kHeapSlack = 48 * 1024, kResidentSlack_kib = 4 * 1024;

// What libfabric 1.17 keeps to itself with each connection, of which a cycle has two ends here: docs/cost.md.
long lost_by_libfabric(const Options& options) {
  if (!options.is_ofi()) return 0;
  const char* provider = getenv("RAILWITNESS_OFI_PROVIDER");
  if (!provider || !strcmp(provider, "net")) return 96;
  return strcmp(provider, "shm") ? 0 : 640;
}

void compare(const Held& early, const Held& late, int cycles, const Options& options) {
  const long heap_slack = kHeapSlack + lost_by_libfabric(options) * cycles;
  const long resident_slack_kib = kResidentSlack_kib;
  REQUIRE(early.descriptors == late.descriptors, "%ld descriptors became %ld in %d cycles", early.descriptors,
          late.descriptors, cycles);
  REQUIRE(early.threads == late.threads, "%ld threads became %ld in %d cycles", early.threads, late.threads, cycles);
  REQUIRE(late.inner.keys == 0 && late.inner.requests == 0, "%d keys, %d requests are left", static_cast<int>(late.inner.keys),
          static_cast<int>(late.inner.requests));
  REQUIRE(late.inner.sends == 0 && late.inner.receives == 0 && late.inner.listens == 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static_cast<void>(heap_slack + resident_slack_kib);  // a sanitizer's own allocator
#else
  REQUIRE(late.heap_bytes - early.heap_bytes < heap_slack, "the heap grew by %ld bytes in %d cycles",
          late.heap_bytes - early.heap_bytes, cycles);
  REQUIRE(late.resident_kib - early.resident_kib < resident_slack_kib, "resident memory grew by %ld KiB in %d cycles",
          late.resident_kib - early.resident_kib, cycles);
#endif
}

void one_cycle(Rank& rank, Communicator& c) {
  auto links = connect_links(rank, c.net, c.context, c.device, 1);
  unsigned char out[64] = {1}, in[64] = {};
  void* const out_mr = c.net.register_memory(links[0].send, out, sizeof out);
  void* const in_mr = c.net.register_memory(links[0].recv, in, sizeof in);
  void *send = nullptr, *recv = nullptr;
  bool sent = false, received = false;
  for (const double end = now_s() + kPatience_s; !sent || !received;) {
    REQUIRE(now_s() < end, "nothing arrives");
    if (!recv) REQUIRE(!c.net.irecv(links[0].recv, {{in, sizeof in, 0, in_mr, nullptr}}, false, &recv));
    if (!send) REQUIRE(!c.net.isend(links[0].send, out, sizeof out, 0, out_mr, nullptr, &send));
    if (send && !sent) REQUIRE(!c.net.test(send, nullptr, &sent));
    if (recv && !received) REQUIRE(!c.net.test(recv, nullptr, &received));
  }
  REQUIRE(in[0] == 1);
  c.net.deregister(links[0].send, out_mr);
  c.net.deregister(links[0].recv, in_mr);
  c.net.close_send(links[0].send);
  c.net.close_recv(links[0].recv);
}

void connect_and_close_cycles(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Held early{};
  for (int i = 1; i <= rank.options.cycles; i++) {
    c.service.call([&] { one_cycle(rank, c); });
    if (i == std::max(1, rank.options.cycles / 10)) early = look(rank.options);
  }
  rank.barrier();
  const Held late = look(rank.options);
  compare(early, late, rank.options.cycles, rank.options);
  c.finalize();
  if (rank.options.verbose)
    fprintf(stderr, "  rank %d: descriptors %ld -> %ld, threads %ld -> %ld, heap %ld -> %ld bytes, resident %ld -> %ld KiB\n",
            rank.id, early.descriptors, late.descriptors, early.threads, late.threads, early.heap_bytes, late.heap_bytes,
            early.resident_kib, late.resident_kib);
}

void communicator_cycles(Rank& rank) {  // generations of communicators in one process
  Library library(rank.options);
  const int cycles = std::max(4, rank.options.cycles / 10);
  Held early{}, late{};
  for (int i = 1; i <= cycles; i++) {
    {
      Communicator c(library, static_cast<uint64_t>(i));
      c.service.call([&] { one_cycle(rank, c); });
      c.finalize();
    }
    rank.barrier();
    if (i == std::max(2, cycles / 10)) early = look(rank.options);
  }
  late = look(rank.options);
  compare(early, late, cycles, rank.options);
}

}  // namespace

std::vector<Case> cycle_cases() {
  return {{"connect_and_close_cycles", "", connect_and_close_cycles, loud, 300},
          {"communicator_cycles", "", communicator_cycles, loud, 300}};
}

}  // namespace railwitness::net_host
