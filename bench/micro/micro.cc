// How long a call takes with the witness and without, and how long recording alone takes. google-benchmark's options apply:
//
//     micro [chain|ofi] --benchmark_repetitions=15 --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
//
// The transport of a process is chosen once, hence the argument. Provider and transport do nothing, so the difference between `plain` and `tap`, `chain` or `ofi` is the witness. The timer
// covers the calls of an event and nothing else; what they need is made before it runs. The clock is the thread's own
// processor time, so that neighbours on the machine disturb little.
#include "bench/micro/net_events.h"
#include "bench/micro/verbs_events.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/net_flows.h"
#include "plugin/witness/net_hot.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace {

using namespace railwitness;
using benchmark::State;
using bench::Net;
using bench::NetEvents;
using bench::Verbs;
using bench::VerbsEvents;

VerbsEvents* verbs;
NetEvents* net;

// Processor time of one reading of the clock itself, which every measured piece contains.
double clock_cost_seconds() {
  static const double cost = [] {
    constexpr int kReadings = 2000;
    const uint64_t start = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 1; i < kReadings; i++) read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / kReadings / 1e9;
  }();
  return cost;
}

template <typename Work>
double seconds_of(Work work) {
  const uint64_t start = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  work();
  const double spent = static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e9;
  return std::max(0.0, spent - clock_cost_seconds());
}

// `calls` at once, then what they left is ended; the time reported is of one call.
template <typename Prepare, typename Call, typename Finish>
void repeat(State& state, long calls, Prepare prepare, Call call, Finish finish) {
  while (state.KeepRunningBatch(calls)) {
    prepare(calls);
    state.SetIterationTime(seconds_of([&] {
      for (long i = 0; i < calls; i++) call(i);
    }));
    finish(calls);
  }
}

void run_verbs(State& state, Verbs what, bool is_tapped) {
  verbs->use(is_tapped);
  const long calls = bench::kCallsAtOnce / VerbsEvents::events_a_call(what);
  repeat(state, calls, [=](long n) { verbs->prepare(what, n); }, [=](long) { verbs->make(what); },
         [](long) { verbs->finish(); });
}

void run_net(State& state, Net what, bool is_witnessed) {
  net->use(is_witnessed);
  repeat(state, bench::kRequestsAtOnce, [=](long n) { net->prepare(what, n); }, [=](long i) { net->make(what, i); },
         [=](long n) { net->finish(what, n); });
}

// --- what the witness writes, without any wrapper -------------------------------------------------------------------

// A flow of its own, as the tap writes it: no wrapper, no queue pair.
class Recording {
 public:
  explicit Recording(uint32_t number) : flow_(*witness::open_flow(number, false)) {
    witness::enter_thread();
    witness::settle_role(flow_, RAILWITNESS_DIRECTION_SEND, RAILWITNESS_ROLE_DATA, witness::ticks());
  }
  [[gnu::always_inline]] void post() {
    send_.wr_id++;
    if (flow_.state->records >= flow_.limit) witness::make_room(flow_);
    witness::post_send(flow_, flow_.state->records, send_, read_tsc());
  }
  [[gnu::always_inline]] void complete() { witness::complete_send(flow_, ++done_, read_tsc()); }

 private:
  witness::Flow& flow_;
  witness::Send send_{1, 4096, 0, 1, RAILWITNESS_RECORD_SIGNALLED};
  uint64_t done_ = 0;
};

void record_post(State& state) {
  Recording recording(78);
  repeat(state, bench::kCallsAtOnce, [](long) {}, [&](long) { recording.post(); },
         [&](long n) {
           for (long i = 0; i < n; i++) recording.complete();
         });
}

void record_completion(State& state) {
  Recording recording(79);
  repeat(state, bench::kCallsAtOnce,
         [&](long n) {
           for (long i = 0; i < n; i++) recording.post();
         },
         [&](long) { recording.complete(); }, [](long) {});
}

// Two events an iteration, with nothing in between: no pieces, so no timer among them.
void record_both(State& state) {
  Recording recording(80);
  for (auto _ : state) {
    recording.post();
    recording.complete();
  }
}

void read_the_clock(State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_tsc());
}

void add(const std::string& name, auto function) {
  benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime()->Unit(benchmark::kNanosecond);
}

void add_all(const char* mode) {
  static constexpr const char* kVerbNames[] = {
      "poll_cq, empty", "post_send, signalled", "post_send, unsignalled", "post_send, 2 requests", "post_recv",
      "poll_cq, 1 send done", "poll_cq, 4 sends done", "poll_cq, 1 receive done", "post_send + poll_cq"};
  static constexpr const char* kNetNames[] = {"isend", "isend, not taken", "irecv", "irecv, not taken", "test, not done",
                                              "test, send done", "test, receive done", "isend + test"};
  static_assert(std::size(kVerbNames) == bench::kVerbs && std::size(kNetNames) == bench::kNets);
  benchmark::RegisterBenchmark("record/stamp alone", read_the_clock);
  benchmark::RegisterBenchmark("record/post and completion, two events", record_both);
  add("record/post, with its stamp", record_post);
  add("record/completion, with its stamp", record_completion);
  for (int i = 0; i < bench::kVerbs; i++)
    for (const bool is_tapped : {false, true})
      add(std::string(kVerbNames[i]) + (is_tapped ? "/tap" : "/plain"),
          [=](State& state) { run_verbs(state, static_cast<Verbs>(i), is_tapped); });
  for (int i = 0; i < bench::kNets; i++)
    for (const bool is_witnessed : {false, true})
      add(std::string(kNetNames[i]) + "/" + (is_witnessed ? mode : "plain"),
          [=](State& state) { run_net(state, static_cast<Net>(i), is_witnessed); });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const bool is_chained = argc < 2 || strcmp(argv[1], "ofi");
  witness::start(witness::map_private());
  bench::choose_fake_transport(is_chained);
  verbs = new VerbsEvents;
  net = new NetEvents;
  verbs->use(true);
  verbs->make(Verbs::kSendAndPoll);
  verbs->make(Verbs::kReceive);
  add_all(is_chained ? "chain" : "ofi");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
