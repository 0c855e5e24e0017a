// One event of modes chain and ofi, again and again, for callgrind: tests/plugin/instructions.py. micro.cc times the same.
//
//     net_calls EVENT chain|ofi|plain CALLS        EVENT: a number, enum Net of net_events.h
#include "bench/micro/net_events.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"

#include <algorithm>

using namespace railwitness;
using bench::Net;
using bench::NetEvents;

// Callgrind collects within this function only (--toggle-collect).
extern "C" [[gnu::noinline]] void measured(NetEvents& events, Net what, long calls) {
  for (long i = 0; i < calls; i++) events.make(what, i);
}

int main(int argc, char** argv) {
  if (argc != 4 || atoi(argv[1]) >= bench::kNets) {
    fprintf(stderr, "usage: net_calls EVENT chain|ofi|plain CALLS\n");
    return 2;
  }
  const auto what = static_cast<Net>(atoi(argv[1]));
  const long calls = std::min<long>(atol(argv[3]), bench::kRequestsAtOnce);
  witness::start(witness::map_private());
  bench::choose_fake_transport(!strcmp(argv[2], "chain"));
  static NetEvents events;
  events.use(strcmp(argv[2], "plain"));
  events.prepare(what, calls);
  measured(events, what, calls);
  return 0;
}
