// One event of mode tap, again and again, for callgrind: tests/plugin/instructions.py. micro.cc times the same.
//
//     tap_calls EVENT tap|plain CALLS        EVENT: a number, enum Verbs of verbs_events.h
#include "bench/micro/verbs_events.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace railwitness;
using bench::Verbs;
using bench::VerbsEvents;

namespace {

[[gnu::always_inline]] inline void repeat(VerbsEvents& events, Verbs what, long calls) {
  for (long i = 0; i < calls; i++) events.make(what);
}

}  // namespace

// Callgrind collects within this function only (--toggle-collect).
extern "C" [[gnu::noinline]] void measured(VerbsEvents& events, Verbs what, long calls) { repeat(events, what, calls); }

int main(int argc, char** argv) {
  if (argc != 4 || atoi(argv[1]) >= bench::kVerbs) {
    fprintf(stderr, "usage: tap_calls EVENT tap|plain CALLS\n");
    return 2;
  }
  const auto what = static_cast<Verbs>(atoi(argv[1]));
  const long calls = std::min<long>(atol(argv[3]), bench::kCallsAtOnce / VerbsEvents::events_a_call(what));
  witness::start(witness::map_private());
  static VerbsEvents events;
  events.use(!strcmp(argv[2], "tap"));
  events.make(Verbs::kSendAndPoll);  // the first post of a flow is a rare, slow one
  events.make(Verbs::kReceive);      // one stays outstanding, as in the middle of a transfer
  events.prepare(what, calls);
  measured(events, what, calls);
  return 0;
}
