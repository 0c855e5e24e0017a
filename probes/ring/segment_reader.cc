#include "probes/ring/segment_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "railwitness/abi/segment.h"

namespace railwitness::ring {
namespace {

absl::Status read_at(int fd, uint64_t offset, std::byte* to, uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::InternalError(std::string("segment cannot be read: ") + std::strerror(errno));
    if (got == 0) return absl::DataLossError("segment is shorter than it was made");
    const auto done = static_cast<uint64_t>(got);
    to += done;
    offset += done;
    bytes -= done;
  }
  return absl::OkStatus();
}

uint64_t word_at(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// A line whose sequence differs between the copy before and the copy after its state was being rewritten meanwhile:
// mark it as such, in the private copy.
void mark_torn_lines(CopyBuffer& buffer, const Geometry& g, uint32_t flows) {
  constexpr uint64_t kLine = sizeof(railwitness_identity);
  static_assert(offsetof(railwitness_identity, sequence) == 0);
  for (uint64_t i = 0; i < flows; ++i) {
    std::byte* before = buffer.segment.data() + g.identities_offset + i * kLine;
    if (std::memcmp(before, buffer.identities_again.data() + i * kLine, sizeof(uint32_t)) == 0) continue;
    const uint32_t being_written = 1;
    std::memcpy(before, &being_written, sizeof(being_written));
  }
}

// A communicator's line that was another's a moment later: what was copied may be of both. Its opening tells them apart.
void mark_torn_comms(CopyBuffer& buffer, const Geometry& g, uint32_t comms) {
  for (uint64_t i = 0; i < comms; ++i) {
    std::byte* before = buffer.segment.data() + g.comms_offset + i * sizeof(railwitness_comm);
    railwitness_comm first, again;
    std::memcpy(&first, before, sizeof(first));
    std::memcpy(&again, buffer.comms_again.data() + i * sizeof(again), sizeof(again));
    if (first.opened_ticks == again.opened_ticks && first.comm_hash == again.comm_hash) continue;
    first.open = 0;  // not filled yet
    std::memcpy(before, &first, sizeof(first));
  }
}

uint32_t comms_in_use(const std::byte* writer_line_untrusted, const Geometry& g) {
  railwitness_writer writer_untrusted;
  std::memcpy(&writer_untrusted, writer_line_untrusted, sizeof(writer_untrusted));
  return std::min(writer_untrusted.comms, g.comm_capacity);
}

}  // namespace

// Returns how many flow lines were copied. The order is the protocol's: counts before lines (a count is stored after its
// line is filled), identities before and after the states they belong to, and communicators twice. Of a further segment the tables between writer
// and identities are empty.
absl::StatusOr<uint32_t> SegmentReader::copy(const Segment& segment, uint32_t most_flows, CopyBuffer& buffer) {
  const Geometry& g = segment.geometry;
  const int fd = segment.fd.get();
  if (buffer.segment.size() < g.histograms_offset) buffer.segment.resize(g.histograms_offset);
  std::byte* base = buffer.segment.data();
  absl::Status status = read_at(fd, g.writer_offset, base + g.writer_offset, sizeof(railwitness_writer));
  if (!status.ok()) return status;
  const uint32_t flows =
      std::min(most_flows, flows_in_use({base + g.writer_offset, static_cast<size_t>(sizeof(railwitness_writer))}, g));
  const uint64_t identity_bytes = uint64_t{flows} * sizeof(railwitness_identity);
  status = read_at(fd, g.threads_offset, base + g.threads_offset, g.identities_offset - g.threads_offset + identity_bytes);
  if (!status.ok()) return status;
  status = read_at(fd, g.states_offset, base + g.states_offset, uint64_t{flows} * sizeof(railwitness_state));
  if (!status.ok()) return status;
  if (buffer.identities_again.size() < identity_bytes) buffer.identities_again.resize(identity_bytes);
  status = read_at(fd, g.identities_offset, buffer.identities_again.data(), identity_bytes);
  if (!status.ok()) return status;
  mark_torn_lines(buffer, g, flows);
  const uint32_t comms = comms_in_use(base + g.writer_offset, g);
  buffer.comms_again.resize(uint64_t{comms} * sizeof(railwitness_comm));
  status = read_at(fd, g.comms_offset, buffer.comms_again.data(), buffer.comms_again.size());
  if (!status.ok()) return status;
  mark_torn_comms(buffer, g, comms);
  return flows;
}

TimeBounds SegmentReader::bounds(const Segment& segment, const ReadContext& context) const {
  TimeBounds bounds;
  bounds.rate = context.rate;
  bounds.segment_created_mono_ns = segment.created_mono_ns;
  bounds.process_start_mono_ns = context.process_start_mono_ns;
  bounds.now_mono_ns = context.now_mono_ns;
  return bounds;
}

void SegmentReader::note(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

void SegmentReader::judge_flow(const model::Flow& before, const model::Flow& now, FlowMemory& memory) {
  const auto back = [&](const char* what, uint64_t was, uint64_t is) {
    if (is < was) {
      note("flow " + std::to_string(now.index) + ": " + what + " went back from " + std::to_string(was) + " to " +
           std::to_string(is));
    }
  };
  back("posted", before.posted, now.posted);
  back("completed", before.completed, now.completed);
  back("posted_bytes", before.posted_bytes, now.posted_bytes);
  back("completed_bytes", before.completed_bytes, now.completed_bytes);
  back("receives_posted", before.receives_posted, now.receives_posted);
  back("receives_completed", before.receives_completed, now.receives_completed);
  back("received_bytes", before.received_bytes, now.received_bytes);
  const std::string contradiction = contradiction_of(now);
  // Once may be a copy that fell between two words; twice is not.
  if (memory.contradicted && !contradiction.empty()) note(contradiction);
  memory.contradicted = !contradiction.empty();
}

// Goes through both lists in the order of lines: `before` is taken over from `at` on where the queue pair is the same, so
// that its names need not be made again.
void SegmentReader::read_flows(const FlowDecoder& decoder, uint32_t first_flow, uint32_t lines,
                               std::vector<model::Flow>& before, size_t& at, std::vector<model::Flow>& after) {
  after.reserve(after.size() + lines);  // growing step by step leaves holes, for each process
  seen_.reserve(seen_.size() + lines);
  for (uint32_t i = 0; i < lines; ++i) {
    const std::optional<uint32_t> sequence = decoder.identity_sequence(i);
    if (!sequence) continue;
    const uint32_t index = first_flow + i;
    while (at < before.size() && before[at].index < index) ++at;
    const bool known =
        at < before.size() && before[at].index == index && seen_before_[at].identity_sequence == *sequence;
    FlowMemory memory{*sequence, known && seen_before_[at].contradicted};
    model::Flow& flow = known ? after.emplace_back(std::move(before[at])) : after.emplace_back();
    if (!known) decoder.read_identity(i, flow);
    model::Flow counts;  // before; without the names, which would be copied
    if (known) {
      counts.posted = flow.posted;
      counts.completed = flow.completed;
      counts.posted_bytes = flow.posted_bytes;
      counts.completed_bytes = flow.completed_bytes;
      counts.receives_posted = flow.receives_posted;
      counts.receives_completed = flow.receives_completed;
      counts.received_bytes = flow.received_bytes;
    }
    decoder.read_state(i, flow);
    judge_flow(counts, flow, memory);
    seen_.push_back(memory);
  }
}

void SegmentReader::remember_threads(bool copied_forward, int64_t now_mono_ns,
                                     std::vector<model::CallThread>& threads) {
  std::map<uint32_t, ThreadMemory> kept;
  for (model::CallThread& thread : threads) {
    ThreadMemory memory{thread.posts, thread.polls, thread.completions, std::nullopt};
    const auto known = threads_.find(thread.tid);
    if (known == threads_.end()) {
      // The segment began with zeros, so the thread has called since, unless the counters came from before it.
      const bool called = thread.posts + thread.polls + thread.completions != 0;
      if (called && !copied_forward) memory.last_change_mono_ns = now_mono_ns;
    } else {
      const ThreadMemory& was = known->second;
      const bool changed =
          was.posts != thread.posts || was.polls != thread.polls || was.completions != thread.completions;
      memory.last_change_mono_ns = changed ? std::optional<int64_t>(now_mono_ns) : was.last_change_mono_ns;
    }
    thread.last_change_mono_ns = memory.last_change_mono_ns;
    kept[thread.tid] = memory;
  }
  threads_ = std::move(kept);
}

absl::Status SegmentReader::read(const ReadContext& context, CopyBuffer& buffer, model::Process& process) {
  seen_before_.swap(seen_);
  seen_.clear();
  if (seen_before_.size() != process.flows.size()) process.flows.clear(), seen_before_.clear();  // another's list
  buffer.flows.clear();
  const absl::Status status = read_parts(context, buffer, process);
  if (!status.ok()) {
    note(std::string(status.message()));
    buffer.flows.clear(), seen_.clear();
  }
  process.flows.swap(buffer.flows);
  process.segment_problem = problem_;
  return status;
}

absl::Status SegmentReader::read_parts(const ReadContext& context, CopyBuffer& buffer, model::Process& process) {
  FlowContext flow_context;
  uint64_t lines_left = context.most_flows, lines_in_use = 0;
  size_t at = 0;
  for (const Segment& part : parts_) {
    const absl::StatusOr<uint32_t> lines =
        copy(part, static_cast<uint32_t>(std::min<uint64_t>(lines_left, UINT32_MAX)), buffer);
    if (!lines.ok()) return lines.status();
    const std::span<const std::byte> bytes(buffer.segment.data(), part.geometry.histograms_offset);
    if (part.part == 0) {
      DecodedSegment decoded = decode_head(bytes, part.geometry, bounds(part, context));
      if (!decoded.problem.empty()) note(decoded.problem);
      take_head(context, decoded, process);
      flow_context = std::move(decoded.flow_context);
    }
    const uint32_t first_flow = RAILWITNESS_PART_FIRST_FLOW(part.part);
    const FlowDecoder decoder(bytes, part.geometry, first_flow, flow_context, bounds(part, context));
    read_flows(decoder, first_flow, *lines, process.flows, at, buffer.flows);
    lines_left -= *lines;
    lines_in_use += flows_in_use(bytes.subspan(part.geometry.writer_offset), part.geometry);
  }
  lines_in_use_ = lines_in_use;
  return absl::OkStatus();
}

void SegmentReader::take_head(const ReadContext& context, DecodedSegment& decoded, model::Process& process) {
  remember_threads(decoded.copied_forward, context.now_mono_ns, decoded.threads);
  process.attach = decoded.attach;
  process.contexts = decoded.contexts;
  process.unwitnessed_flows = decoded.unwitnessed_flows;
  process.unwitnessed_events = decoded.unwitnessed_events;
  process.alone_begin_mono_ns = decoded.alone_begin_mono_ns;
  process.alone_end_mono_ns = decoded.alone_end_mono_ns;
  process.witness_cost = decoded.witness_cost;
  process.comms = std::move(decoded.comms);
  process.threads = std::move(decoded.threads);
}

absl::StatusOr<std::vector<Record>> SegmentReader::read_records(uint32_t flow, const ReadContext& context) const {
  const auto found = std::find_if(parts_.rbegin(), parts_.rend(), [flow](const Segment& part) {
    return flow >= RAILWITNESS_PART_FIRST_FLOW(part.part);
  });
  const Segment& part = *found;
  const Geometry& g = part.geometry;
  const uint64_t line = flow - RAILWITNESS_PART_FIRST_FLOW(part.part);
  if (line >= g.flow_capacity) return absl::OutOfRangeError("no flow " + std::to_string(flow));
  constexpr uint64_t kRing = uint64_t{RAILWITNESS_RECORDS_PER_FLOW} * sizeof(railwitness_record);
  std::array<std::byte, kRing> ring;
  std::byte clock[sizeof(uint64_t)], written_before[sizeof(uint64_t)], written_after[sizeof(uint64_t)];
  const uint64_t count_at =
      g.states_offset + line * sizeof(railwitness_state) + offsetof(railwitness_state, records);
  const int fd = part.fd.get();
  absl::Status status = read_at(parts_[0].fd.get(), parts_[0].geometry.writer_offset, clock, sizeof(clock));
  if (status.ok()) status = read_at(fd, count_at, written_before, sizeof(written_before));
  if (status.ok()) status = read_at(fd, g.records_offset + line * kRing, ring.data(), kRing);
  if (status.ok()) status = read_at(fd, count_at, written_after, sizeof(written_after));
  if (!status.ok()) return status;
  static_assert(offsetof(railwitness_writer, clock) == 4);
  return decode_records(ring, word_at(written_before), word_at(written_after),
                        static_cast<uint32_t>(word_at(clock) >> 32), bounds(part, context));
}

absl::StatusOr<std::vector<ControlEvent>> SegmentReader::read_control(const ReadContext& context) const {
  const Geometry& g = parts_[0].geometry;
  std::vector<std::byte> ring(uint64_t{g.control_capacity} * sizeof(railwitness_control));
  std::byte clock[sizeof(uint64_t)], reserved[sizeof(uint64_t)];
  const int fd = parts_[0].fd.get();
  absl::Status status = read_at(fd, g.writer_offset, clock, sizeof(clock));
  if (status.ok()) status = read_at(fd, g.control_offset, ring.data(), ring.size());
  if (status.ok()) {
    status = read_at(fd, g.writer_offset + offsetof(railwitness_writer, control_reserved), reserved, sizeof(reserved));
  }
  if (!status.ok()) return status;
  return decode_control(ring, word_at(reserved), static_cast<uint32_t>(word_at(clock) >> 32), bounds(parts_[0], context));
}

}  // namespace railwitness::ring
