// Any bytes as a segment, to decode. A segment of few lines, so that an input of some kilobytes reaches all of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "probes/ring/decode.h"

using railwitness::ring::DecodedSegment;
using railwitness::ring::Geometry;

namespace {

constexpr int64_t kStart = 1'000'000'000, kCreated = 2'000'000'000, kNow = 100'000'000'000;

void must(bool holds) {
  if (!holds) std::abort();
}

void must_lie_between(const std::optional<int64_t>& mono_ns) {
  must(!mono_ns || (*mono_ns >= kStart && *mono_ns <= kNow));
}

void check(const DecodedSegment& decoded, const Geometry& geometry) {
  must(decoded.flows.size() <= geometry.flow_capacity);
  must(decoded.threads.size() <= geometry.thread_capacity);
  must(decoded.comms.size() <= geometry.comm_capacity);
  must_lie_between(decoded.alone_begin_mono_ns);
  must_lie_between(decoded.alone_end_mono_ns);
  for (const auto& flow : decoded.flows) {
    must(flow.facts.device.size() <= 64);
    must_lie_between(flow.facts.oldest_post_mono_ns);
    must_lie_between(flow.facts.last_post_mono_ns);
    must_lie_between(flow.facts.receive_wait_mono_ns);
    if (flow.facts.first_error) must_lie_between(flow.facts.first_error->mono_ns);
  }
  for (const auto& comm : decoded.comms) must(comm.rank >= 0 && comm.rank < comm.nranks && comm.name.size() <= 64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace railwitness::ring;
  static const Geometry geometry = railwitness::ring::geometry({2, 2, 2, 3, 16});
  const TimeBounds bounds{{50'000'000'000, 51'000'000'000, 0.4}, kCreated, kStart, kNow};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  check(decode_segment(bytes, geometry, bounds), geometry);
  // The same bytes as a further segment, of flows only.
  static const Geometry flows_only = railwitness::ring::geometry({0, 0, 0, 3, 0});
  const FlowContext context = decode_head(bytes, geometry, bounds).flow_context;
  const FlowDecoder decoder(bytes, flows_only, 256, context, bounds);
  for (uint32_t line = 0; line < 4; ++line) {
    railwitness::model::Flow flow;
    if (!decoder.identity_sequence(line)) continue;
    must(line < 3);
    decoder.read_identity(line, flow);
    decoder.read_state(line, flow);
    must(flow.index == 256 + line && flow.device.size() <= 64);
    must_lie_between(flow.oldest_post_mono_ns);
    must_lie_between(flow.receive_wait_mono_ns);
  }
  // The same bytes as rings, with their own first words as counts.
  uint64_t counts[2] = {};
  for (size_t i = 0; i < sizeof(counts) && i < size; ++i) reinterpret_cast<uint8_t*>(counts)[i] = data[i];
  must(decode_records(bytes, counts[0], counts[1], 1, bounds).size() <= 128);
  must(decode_control(bytes, counts[1], 2, bounds).size() <= 1024);
  return 0;
}
