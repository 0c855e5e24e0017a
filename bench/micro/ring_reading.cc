// What reading witness segments costs the sidecar: records, flows, and facts as text. google-benchmark's options.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probes/model/facts_json.h"
#include "probes/ring/segment_reader.h"
#include "railwitness/base/clock.h"
#include "tests/probes/ring/mapped_segment.h"

namespace {

using namespace railwitness;

// 256 flows, each with a full ring of finished records stamped by the time stamp counter.
struct FullSegment {
  FullSegment() {
    ring::Segment made = *ring::make_segment(1, "");
    segment = ring::MappedSegment(made.fd.get(), made.geometry);
    if (!segment.is_mapped()) std::abort();
    segment.writer().clock = RAILWITNESS_CLOCK_TSC;
    segment.writer().flows = made.geometry.flow_capacity;
    for (uint32_t f = 0; f < made.geometry.flow_capacity; ++f) fill(f);
    reader.emplace(std::move(made));
    context = {clock.rate(), 0, now_mono_ns()};
  }
  void fill(uint32_t f) {
    railwitness_identity& identity = segment.identity(f);
    identity.qpn = f;
    memset(identity.local_gid, 1, 16);
    memset(identity.peer_gid, 2, 16);
    identity.sequence = 2;
    railwitness_state& state = segment.state(f);
    state.posted = state.completed = state.records = 12'800;
    state.last_post_ticks = state.last_completion_ticks = clock.rate().ticks;
    for (uint64_t i = 12'800 - RAILWITNESS_RECORDS_PER_FLOW; i < 12'800; ++i) {
      segment.record(f, i) = {.sequence = i + 1, .post_ticks = clock.rate().ticks, .done_ticks = clock.rate().ticks,
                              .bytes = 4096, .wr_id = i, .posted_through = i + 1, .bytes_through = (i + 1) * 4096,
                              .requests = 1, .opcode = 1, .flags = 1, .status = 0, .reserved = 0};
    }
  }

  ring::TickClock clock;
  ring::MappedSegment segment;
  std::optional<ring::SegmentReader> reader;
  ring::ReadContext context;
  ring::CopyBuffer buffer;
  model::Process process;
};

void read_records(benchmark::State& state) {
  FullSegment segment;
  int64_t records = 0;
  for (auto _ : state) {
    for (uint32_t f = 0; f < RAILWITNESS_FLOW_CAPACITY; ++f) {
      const auto read = segment.reader->read_records(f, segment.context);
      records += static_cast<int64_t>(read->size());
    }
  }
  state.SetItemsProcessed(records);
}
BENCHMARK(read_records);

void read_flows(benchmark::State& state) {
  FullSegment segment;
  int64_t flows = 0;
  for (auto _ : state) {
    if (!segment.reader->read(segment.context, segment.buffer, segment.process).ok()) std::abort();
    flows += static_cast<int64_t>(segment.process.flows.size());
  }
  state.SetItemsProcessed(flows);
}
BENCHMARK(read_flows);

// As many as a sidecar tells.
void facts_to_text(benchmark::State& state) {
  FullSegment segment;
  if (!segment.reader->read(segment.context, segment.buffer, segment.process).ok()) std::abort();
  model::NodeFacts facts;
  facts.node = "node";
  for (int i = 0; i < 3; ++i) facts.processes.push_back(segment.process);
  size_t bytes = 0;
  for (auto _ : state) bytes += model::to_json(facts).size();
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 3 * RAILWITNESS_FLOW_CAPACITY);
}
BENCHMARK(facts_to_text);

}  // namespace

BENCHMARK_MAIN();
