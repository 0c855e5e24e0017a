#include "probes/ring/decode.h"

#include <cstring>

#include "probes/ring/decode_time.h"
#include "probes/ring/untrusted.h"
#include "railwitness/abi/segment.h"

namespace railwitness::ring {
namespace {

using Bytes = std::span<const std::byte>;

// Line `index` of the table at `offset`, or nothing where the copy ends before.
template <typename Line>
std::optional<Line> copy_line(Bytes bytes_untrusted, uint64_t offset, uint64_t index) {
  if (offset > bytes_untrusted.size()) return std::nullopt;
  const uint64_t room = (bytes_untrusted.size() - offset) / sizeof(Line);
  if (index >= room) return std::nullopt;
  Line line;
  std::memcpy(&line, bytes_untrusted.data() + offset + index * sizeof(Line), sizeof(Line));
  return line;
}

void note(DecodedSegment& out, const std::string& problem) {
  if (out.problem.empty()) out.problem = problem;
}

// A count that a table cannot hold is a lie; what fits is still shown.
uint32_t bounded_count(DecodedSegment& out, const char* what, uint32_t count_untrusted, uint32_t capacity) {
  if (count_untrusted > capacity) {
    note(out, std::to_string(count_untrusted) + " " + what + " in a table of " + std::to_string(capacity));
  }
  return Untrusted(count_untrusted).at_most(capacity);
}

model::Attach decode_attach(uint32_t attach_untrusted) {
  switch (attach_untrusted) {
    case RAILWITNESS_ATTACH_STUB: return model::Attach::kStub;
    case RAILWITNESS_ATTACH_LATE: return model::Attach::kLate;
    case RAILWITNESS_ATTACH_TABLE: return model::Attach::kTable;
    case RAILWITNESS_ATTACH_CHAIN: return model::Attach::kChain;
    case RAILWITNESS_ATTACH_OFI: return model::Attach::kOfi;
    default: return model::Attach::kNone;
  }
}

model::Direction decode_direction(uint8_t direction_untrusted) {
  switch (direction_untrusted) {
    case RAILWITNESS_DIRECTION_SEND: return model::Direction::kSend;
    case RAILWITNESS_DIRECTION_RECV: return model::Direction::kRecv;
    default: return model::Direction::kUnknown;
  }
}

model::Role decode_role(uint8_t role_untrusted) {
  switch (role_untrusted) {
    case RAILWITNESS_ROLE_DATA: return model::Role::kData;
    case RAILWITNESS_ROLE_CTS: return model::Role::kCts;
    case RAILWITNESS_ROLE_FLUSH: return model::Role::kFlush;
    default: return model::Role::kUnknown;
  }
}

// Nothing: the plugin is of before minor 4, or has not measured yet.
std::optional<model::WitnessCost> decode_cost(const railwitness_writer& writer_untrusted, const StampReader& stamps,
                                              double ns_per_tick) {
  model::WitnessCost cost;
  cost.events = Untrusted(writer_untrusted.cost_events).any();
  cost.max_permille = Untrusted(writer_untrusted.cost_max_permille).at_most(1000);
  cost.counters_only = Untrusted(writer_untrusted.detail).is(RAILWITNESS_DETAIL_COUNTERS);
  if (cost.events == 0 && cost.max_permille == 0 && !cost.counters_only) return std::nullopt;
  cost.ppm = Untrusted(writer_untrusted.cost_ppm).any();
  if (writer_untrusted.clock == RAILWITNESS_CLOCK_MONO_NS) ns_per_tick = 1;
  const double event_ns = ns_per_tick * Untrusted(writer_untrusted.cost_event_ticks).any();
  cost.event_ns = static_cast<uint32_t>(std::clamp(event_ns, 0.0, 4e9));
  cost.since_mono_ns = stamps.read(writer_untrusted.detail_since_ticks);
  cost.since_ppm = Untrusted(writer_untrusted.detail_ppm).any();
  cost.reductions = Untrusted(writer_untrusted.detail_reductions).any();
  return cost;
}

void decode_writer(const railwitness_writer& writer_untrusted, const TimeBounds& bounds, DecodedSegment& out) {
  out.attach = decode_attach(writer_untrusted.attach);
  out.contexts = Untrusted(writer_untrusted.contexts).any();
  out.unwitnessed_flows = Untrusted(writer_untrusted.unwitnessed_flows).any();
  out.unwitnessed_events = Untrusted(writer_untrusted.unwitnessed_events).any();
  out.copied_forward = Untrusted(writer_untrusted.copied_forward).is(1);
  const StampReader stamps(writer_untrusted.clock, bounds, bounds.process_start_mono_ns);
  out.alone_begin_mono_ns = stamps.read(writer_untrusted.alone_begin_ticks);
  out.alone_end_mono_ns = stamps.read(writer_untrusted.alone_end_ticks);
  out.witness_cost = decode_cost(writer_untrusted, stamps, bounds.rate.ns_per_tick);
  if (out.alone_begin_mono_ns && out.alone_end_mono_ns && *out.alone_end_mono_ns < *out.alone_begin_mono_ns) {
    out.alone_end_mono_ns.reset();  // gone again since
  }
}

void decode_threads(Bytes bytes_untrusted, const Geometry& g, uint32_t count, DecodedSegment& out) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto line_untrusted = copy_line<railwitness_thread>(bytes_untrusted, g.threads_offset, i);
    if (!line_untrusted || line_untrusted->tid == 0) continue;
    model::CallThread& thread = out.threads.emplace_back();
    thread.tid = Untrusted(line_untrusted->tid).any();
    thread.posts = Untrusted(line_untrusted->posts).any();
    thread.polls = Untrusted(line_untrusted->polls).any();
    thread.completions = Untrusted(line_untrusted->completions).any();
  }
}

void decode_comms(Bytes bytes_untrusted, const Geometry& g, uint32_t count, DecodedSegment& out) {
  constexpr int32_t kMaxRanks = 1 << 24;  // a hundred times the largest job known
  out.comms.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto line_untrusted = copy_line<railwitness_comm>(bytes_untrusted, g.comms_offset, i);
    if (!line_untrusted || line_untrusted->open == 0) continue;  // not filled yet
    const auto nranks = Untrusted(line_untrusted->nranks).within(1, kMaxRanks);
    const auto rank = Untrusted(line_untrusted->rank).within(0, nranks.value_or(1) - 1);
    if (!nranks || !rank || line_untrusted->open > 2) {
      note(out, "communicator " + std::to_string(i) + ": rank " + std::to_string(line_untrusted->rank) + " of " +
                    std::to_string(line_untrusted->nranks));
      continue;
    }
    model::Comm& comm = out.comms.emplace_back();
    comm.hash = Untrusted(line_untrusted->comm_hash).any();
    comm.rank = *rank;
    comm.nranks = *nranks;
    comm.nnodes = Untrusted(line_untrusted->nnodes).within(0, *nranks).value_or(0);
    comm.open = Untrusted(line_untrusted->open).is(1);
    comm.name = filtered_text(line_untrusted->name, sizeof(line_untrusted->name));
  }
}

// `flow` may hold an earlier state of the same line: every member is set anew.
void decode_state(const railwitness_state& state_untrusted, const StampReader& stamps, model::Flow& flow) {
  flow.posted = Untrusted(state_untrusted.posted).any();
  flow.completed = Untrusted(state_untrusted.completed).any();
  flow.posted_bytes = Untrusted(state_untrusted.posted_bytes).any();
  flow.completed_bytes = Untrusted(state_untrusted.completed_bytes).any();
  flow.receives_posted = Untrusted(state_untrusted.receives_posted).any();
  flow.receives_completed = Untrusted(state_untrusted.receives_completed).any();
  flow.received_bytes = Untrusted(state_untrusted.received_bytes).any();
  flow.first_post_mono_ns = stamps.read(state_untrusted.first_post_ticks);
  flow.last_post_mono_ns = stamps.read(state_untrusted.last_post_ticks);
  flow.last_completion_mono_ns = stamps.read(state_untrusted.last_completion_ticks);
  flow.last_receive_mono_ns = stamps.read(state_untrusted.last_receive_ticks);
  // A send connection's wait ends with the next post, which does not touch the word. Compared as ticks: both are the
  // writer's, whatever it claims them to be.
  const bool waits_for_clear_to_send = flow.connection && flow.direction == model::Direction::kSend;
  const bool is_over = waits_for_clear_to_send && state_untrusted.receive_wait_ticks <= state_untrusted.last_post_ticks;
  flow.receive_wait_mono_ns = is_over ? std::nullopt : stamps.read(state_untrusted.receive_wait_ticks);
  // Words of one line are copied one after the other: a request that ended meanwhile is not outstanding.
  const bool is_outstanding = flow.posted != flow.completed;
  flow.oldest_post_mono_ns = is_outstanding ? stamps.read(state_untrusted.oldest_post_ticks) : std::nullopt;
  flow.errors = Untrusted(state_untrusted.errors).any();
  flow.first_error.reset();
  if (const auto mono_ns = stamps.read(state_untrusted.first_error_ticks)) {
    flow.first_error = model::FlowError{state_untrusted.first_error_status, state_untrusted.first_error_vendor, *mono_ns};
  }
}

void decode_identity(const railwitness_identity& line_untrusted, const std::vector<std::string>& devices,
                     model::Flow& flow) {
  if (const auto rail = Untrusted(line_untrusted.rail).below(static_cast<uint32_t>(devices.size()))) {
    flow.device = devices[*rail];
  }
  flow.port = line_untrusted.port;
  flow.qpn = Untrusted(line_untrusted.qpn).any();
  if (line_untrusted.peer_qpn != 0) flow.peer_qpn = line_untrusted.peer_qpn;
  flow.local_gid = gid_text(line_untrusted.local_gid);
  flow.peer_gid = gid_text(line_untrusted.peer_gid);
  flow.lid = line_untrusted.lid;
  flow.peer_lid = line_untrusted.peer_lid;
  flow.direction = decode_direction(line_untrusted.direction);
  flow.role = decode_role(line_untrusted.role);
  flow.connection = line_untrusted.kind == RAILWITNESS_FLOW_CONNECTION;
  flow.destroyed = line_untrusted.destroyed_ticks != 0;
}

std::vector<std::string> decode_devices(Bytes bytes_untrusted, const Geometry& g, uint32_t count) {
  std::vector<std::string> devices;
  for (uint32_t i = 0; i < count; ++i) {
    const auto line_untrusted = copy_line<railwitness_rail>(bytes_untrusted, g.rails_offset, i);
    if (!line_untrusted) break;
    devices.push_back(filtered_text(line_untrusted->device, sizeof(line_untrusted->device)));
  }
  return devices;
}

}  // namespace

std::string gid_text(const uint8_t (&gid)[16]) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(39);
  bool zero = true;
  for (size_t i = 0; i < 16; ++i) {
    if (i != 0 && i % 2 == 0) text.push_back(':');
    text.push_back(kDigits[gid[i] >> 4]);
    text.push_back(kDigits[gid[i] & 15]);
    zero = zero && gid[i] == 0;
  }
  return zero ? std::string() : text;
}

uint32_t flows_in_use(Bytes writer_line_untrusted, const Geometry& g) {
  const auto writer_untrusted = copy_line<railwitness_writer>(writer_line_untrusted, 0, 0);
  return writer_untrusted ? Untrusted(writer_untrusted->flows).at_most(g.flow_capacity) : 0;
}

DecodedSegment decode_head(Bytes bytes_untrusted, const Geometry& g, const TimeBounds& bounds) {
  DecodedSegment out;
  const auto writer_untrusted = copy_line<railwitness_writer>(bytes_untrusted, g.writer_offset, 0);
  if (!writer_untrusted) return out;
  decode_writer(*writer_untrusted, bounds, out);
  decode_threads(bytes_untrusted, g, bounded_count(out, "threads", writer_untrusted->threads, g.thread_capacity), out);
  decode_comms(bytes_untrusted, g, bounded_count(out, "communicators", writer_untrusted->comms, g.comm_capacity), out);
  out.flow_context.devices =
      decode_devices(bytes_untrusted, g, bounded_count(out, "rails", writer_untrusted->rails, g.rail_capacity));
  out.flow_context.clock_untrusted = writer_untrusted->clock;
  out.flow_context.copied_forward = out.copied_forward;
  bounded_count(out, "flows", writer_untrusted->flows, g.flow_capacity);
  return out;
}

DecodedSegment decode_segment(Bytes bytes_untrusted, const Geometry& g, const TimeBounds& bounds) {
  DecodedSegment out = decode_head(bytes_untrusted, g, bounds);
  if (bytes_untrusted.size() < g.writer_offset) return out;
  const uint32_t flows = flows_in_use(bytes_untrusted.subspan(g.writer_offset), g);
  const FlowDecoder decoder(bytes_untrusted, g, 0, out.flow_context, bounds);
  out.flows.reserve(flows);
  for (uint32_t i = 0; i < flows; ++i) {
    const auto sequence = decoder.identity_sequence(i);
    if (!sequence) continue;
    DecodedFlow& flow = out.flows.emplace_back();
    flow.identity_sequence = *sequence;
    decoder.read_identity(i, flow.facts);
    decoder.read_state(i, flow.facts);
    flow.contradiction = contradiction_of(flow.facts);
  }
  return out;
}

std::string contradiction_of(const model::Flow& flow) {
  const auto text = [&flow](const char* what, uint64_t completed, uint64_t posted) {
    return "flow " + std::to_string(flow.index) + ": " + std::to_string(completed) + " " + what + " completed of " +
           std::to_string(posted) + " posted";
  };
  if (flow.completed > flow.posted) return text("requests", flow.completed, flow.posted);
  if (flow.completed_bytes > flow.posted_bytes) return text("bytes", flow.completed_bytes, flow.posted_bytes);
  return "";  // receives posted before a late attach were not counted, so more may complete than were seen posted
}

FlowDecoder::FlowDecoder(Bytes bytes_untrusted, const Geometry& geometry, uint32_t first_flow,
                         const FlowContext& context, const TimeBounds& bounds)
    : bytes_untrusted_(bytes_untrusted),
      geometry_(geometry),
      first_flow_(first_flow),
      context_(context),
      bounds_(bounds),
      floor_mono_ns_(context.copied_forward ? bounds.process_start_mono_ns : bounds.segment_created_mono_ns) {}

std::optional<uint32_t> FlowDecoder::identity_sequence(uint32_t line) const {
  static_assert(offsetof(railwitness_identity, sequence) == 0);
  const uint64_t at = geometry_.identities_offset + uint64_t{line} * sizeof(railwitness_identity);
  const uint64_t state_at = geometry_.states_offset + uint64_t{line} * sizeof(railwitness_state);
  const uint64_t end = bytes_untrusted_.size();
  if (line >= geometry_.flow_capacity || at + sizeof(railwitness_identity) > end) return std::nullopt;
  if (state_at + sizeof(railwitness_state) > end) return std::nullopt;
  uint32_t sequence;
  std::memcpy(&sequence, bytes_untrusted_.data() + at, sizeof(sequence));
  if (sequence == 0 || sequence % 2 == 1) return std::nullopt;
  return sequence;
}

void FlowDecoder::read_identity(uint32_t line, model::Flow& flow) const {
  flow.index = first_flow_ + line;
  if (const auto identity_untrusted =
          copy_line<railwitness_identity>(bytes_untrusted_, geometry_.identities_offset, line)) {
    decode_identity(*identity_untrusted, context_.devices, flow);
  }
}

void FlowDecoder::read_state(uint32_t line, model::Flow& flow) const {
  if (const auto state_untrusted = copy_line<railwitness_state>(bytes_untrusted_, geometry_.states_offset, line)) {
    decode_state(*state_untrusted, StampReader(context_.clock_untrusted, bounds_, floor_mono_ns_), flow);
  }
}

}  // namespace railwitness::ring
