#include "tests/faults/autopsy.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "fmt/format.h"
#include "railwitness/base/clock.h"

namespace railwitness::faults {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& longest_ms) : longest_ms_(longest_ms), start_(now_mono_ns()) {}
  ~Stopwatch() { longest_ms_ = std::max(longest_ms_, static_cast<double>(now_mono_ns() - start_) / 1e6); }

 private:
  double& longest_ms_;
  int64_t start_;
};

bool is_connection(const model::Flow& f) { return f.qpn >= kFirstConnection && f.qpn < kFirstConnection + kConnections; }
bool is_long_lived(const model::Flow& f) { return f.qpn >= kFirstQueuePair && f.qpn < kFirstQueuePair + kQueuePairs; }

std::string gid_of(const uint8_t (&gid)[16]) { return ring::gid_text(gid); }

std::string local_gid(uint32_t q) {
  uint8_t gid[16];
  fill_local_gid(port_of(q), gid);
  return gid_of(gid);
}

std::string peer_gid(uint32_t q) {
  uint8_t gid[16];
  fill_peer_gid(q, gid);
  return gid_of(gid);
}

}  // namespace

Autopsy::Autopsy(ring::Segment first)
    : geometry_(first.geometry), fd_(first.fd.get()), reader_(std::move(first)) {}

void Autopsy::add_part(ring::Segment further) {
  further_geometry_ = further.geometry;
  further_fd_ = further.fd.get();
  reader_.add_part(std::move(further));
}

void Autopsy::expect(bool condition, Structure structure, const std::string& what) {
  if (condition) return;
  ++finding_.tally[structure].torn;
  if (finding_.wrong.size() < 5) finding_.wrong.push_back(fmt::format("{}: {}", kNames[structure], what));
}

template <typename Line>
Line Autopsy::line_at(uint64_t offset, uint64_t index, int fd) const {
  Line line{};
  if (pread(fd, &line, sizeof line, static_cast<off_t>(offset + index * sizeof line)) != ssize_t{sizeof line}) _exit(3);
  return line;
}

Finding Autopsy::open(const Journal& journal, ring::TickClock& clock, bool dead) {
  finding_ = {};
  clock.sample();
  const ring::ReadContext context{clock.rate(), 0, now_mono_ns()};
  {
    const Stopwatch watch(finding_.longest_read_ms);
    const absl::Status status = reader_.read(context, buffer_, process_);
    expect(status.ok(), kStates, std::string(status.message()));
  }
  // A reader that says "the counters contradict one another" of an honest writer has taken words of two lines for one.
  expect(process_.segment_problem.empty(), kStates, process_.segment_problem);
  for (const model::Flow& flow : process_.flows) look_at(flow, journal, context, dead);
  check_comms();
  check_threads(journal, dead);
  check_control(context, dead);
  if (dead) look_at_rails();
  if (dead) count_half_written();
  return finding_;
}

void Autopsy::look_at(const model::Flow& flow, const Journal& journal, const ring::ReadContext& context, bool dead) {
  check_identity(flow);
  check_counts(flow, dead);
  const uint64_t written = check_records(flow, context, dead);
  if (!dead) return;
  expect(flow.posted == written || flow.posted == written + 1, kStates,
         fmt::format("queue pair {}: {} posted, {} records", flow.qpn, flow.posted, written));
  check_journal(flow, journal);
  check_histogram(flow);
}

void Autopsy::check_identity(const model::Flow& f) {
  ++finding_.tally[kIdentities].accepted;
  const auto say = [&f](const char* what) { return fmt::format("queue pair {}: {}", f.qpn, what); };
  const bool known = is_connection(f) || is_long_lived(f) || f.qpn >= kFirstShortLived;
  expect(known, kIdentities, say("nobody's number"));
  expect(!f.peer_qpn || *f.peer_qpn == peer_of(f.qpn), kIdentities, say("another's peer"));
  expect(f.port == 0 || f.port == port_of(f.qpn), kIdentities, say("another's port"));
  expect(f.peer_gid.empty() || f.peer_gid == peer_gid(f.qpn), kIdentities, say("another's peer address"));
  expect(f.local_gid.empty() || f.local_gid == local_gid(f.qpn), kIdentities, say("another's address"));
  expect(f.device.empty() || f.device == kDevice, kRails, say("another's device"));
  expect(f.connection == is_connection(f) || !f.peer_qpn, kIdentities, say("another kind"));
}

// Bytes are stored next to their counts; a writer may die between the two, a reader may come between the two.
void Autopsy::check_counts(const model::Flow& f, bool dead) {
  ++finding_.tally[kStates].accepted;
  if (!dead) return;
  const uint64_t q = f.qpn;
  const auto fits = [q](uint64_t bytes, uint64_t n) {
    return bytes == bytes_through(q, n) || (n > 0 && bytes == bytes_through(q, n - 1)) || bytes == bytes_through(q, n + 1);
  };
  const auto say = [q](const char* what, uint64_t bytes, uint64_t n) {
    return fmt::format("queue pair {}: {} bytes {} in {} requests", q, bytes, what, n);
  };
  expect(fits(f.posted_bytes, f.posted), kStates, say("posted", f.posted_bytes, f.posted));
  expect(fits(f.completed_bytes, f.completed), kStates, say("completed", f.completed_bytes, f.completed));
  expect(f.completed <= f.posted, kStates, say("completed", f.completed_bytes, f.completed));
  const uint64_t each = received_bytes_of(q), n = f.receives_completed;
  expect(f.received_bytes == each * n || (n > 0 && f.received_bytes == each * (n - 1)), kStates,
         say("received", f.received_bytes, n));
  if (f.first_error) {
    expect(q == kFailing && f.first_error->status == kError && f.first_error->vendor == vendor_of(q), kStates,
           fmt::format("queue pair {}: error {} vendor {}", q, f.first_error->status, f.first_error->vendor));
  }
}

// Returns the number of records ever written.
uint64_t Autopsy::check_records(const model::Flow& f, const ring::ReadContext& context, bool dead) {
  std::vector<ring::Record> records;
  {
    const Stopwatch watch(finding_.longest_read_ms);
    auto read = reader_.read_records(f.index, context);
    expect(read.ok(), kRecords, "cannot be read");
    if (read.ok()) records = *std::move(read);
  }
  finding_.tally[kRecords].accepted += records.size();
  const bool net = is_connection(f);
  int64_t before_ns = 0;
  uint64_t next = records.empty() ? 0 : records.front().index;
  for (const ring::Record& r : records) {
    const bool content = r.bytes == bytes_of(f.qpn, r.index) && r.requests == 1 && r.signalled;
    const bool names = net ? r.wr_id == 0 && r.posted_through == 0 && r.bytes_through == 0
                           : r.wr_id == wr_id_of(f.qpn, r.index) && r.posted_through == r.index + 1 &&
                                 r.bytes_through == bytes_through(f.qpn, r.index + 1) &&
                                 r.immediate == is_immediate(r.index);
    const int64_t post_ns = r.post_mono_ns.value_or(0);
    const bool times = post_ns >= before_ns && post_ns > 0 && (!r.done_mono_ns || *r.done_mono_ns >= post_ns);
    const bool status = r.status == 0 || (f.qpn == kFailing && r.status == kError);
    // A short-lived queue pair's line may be another's by now, while its writer lives: the caller of read_records knows.
    const bool is_old = !dead && f.qpn >= kFirstShortLived;
    expect(is_old || (content && names && times && status), kRecords,
           fmt::format("queue pair {} record {}: {} bytes, wr_id {:#x}, through {}", f.qpn, r.index, r.bytes, r.wr_id,
                       r.posted_through));
    expect(!dead || r.index == next, kRecords, fmt::format("queue pair {}: record {} is missing", f.qpn, next));
    next = r.index + 1;
    before_ns = post_ns;
  }
  return next;
}

void Autopsy::check_journal(const model::Flow& f, const Journal& journal) {
  const bool net = is_connection(f);
  if (!net && !is_long_lived(f)) return;
  const uint32_t at = net ? f.qpn - kFirstConnection : f.qpn - kFirstQueuePair;
  const Span& posts = net ? journal.net_posts[at] : journal.posts[at];
  const Span& completions = net ? journal.net_completions[at] : journal.completions[at];
  const auto within = [](uint64_t n, const Span& span) { return n >= span.done && n <= span.begun; };
  expect(within(f.posted, posts), kStates,
         fmt::format("queue pair {}: {} posted, {} to {} in truth", f.qpn, f.posted, posts.done, posts.begun));
  expect(within(f.completed, completions), kStates,
         fmt::format("queue pair {}: {} completed, {} to {} in truth", f.qpn, f.completed, completions.done,
                     completions.begun));
}

// The reader has no use for them yet: read here as it would.
void Autopsy::check_histogram(const model::Flow& f) {
  const bool further = f.index >= RAILWITNESS_PART_FIRST_FLOW(1);
  const uint64_t line = further ? f.index - RAILWITNESS_PART_FIRST_FLOW(1) : f.index;
  const auto histogram = line_at<railwitness_histogram>(
      further ? further_geometry_.histograms_offset : geometry_.histograms_offset, line, further ? further_fd_ : fd_);
  uint64_t sum = 0;
  for (const uint32_t bucket : histogram.bucket) sum += bucket;
  ++finding_.tally[kHistograms].accepted;
  expect(sum == f.completed || sum == f.completed + 1 || sum + 1 == f.completed, kHistograms,
         fmt::format("queue pair {}: {} counted of {} completed", f.qpn, sum, f.completed));
}

void Autopsy::check_comms() {
  for (const model::Comm& comm : process_.comms) {
    ++finding_.tally[kComms].accepted;
    const uint64_t k = comm.hash - kCommBase;
    char name[64];
    comm_name(k, name);
    const bool whole = comm.rank == comm_rank(k) && comm.nranks == comm_ranks(k) && comm.nnodes == comm_nodes(k) &&
                       comm.name == name;
    expect(whole, kComms, fmt::format("hash {:#x}: rank {} of {}, name {}", comm.hash, comm.rank, comm.nranks, comm.name));
  }
}

void Autopsy::check_threads(const Journal& journal, bool dead) {
  for (const model::CallThread& thread : process_.threads) {
    ++finding_.tally[kThreads].accepted;
    expect(thread.tid == journal.tid, kThreads, fmt::format("thread {} has a line and never called", thread.tid));
    if (!dead || thread.tid != journal.tid) continue;
    expect(thread.posts >= journal.all_posts.done && thread.posts <= journal.all_posts.begun, kThreads,
           fmt::format("{} posts, {} to {} in truth", thread.posts, journal.all_posts.done, journal.all_posts.begun));
    expect(thread.completions <= thread.polls, kThreads,
           fmt::format("{} completions in {} polls", thread.completions, thread.polls));
  }
}

void Autopsy::check_control(const ring::ReadContext& context, bool dead) {
  std::vector<ring::ControlEvent> events;
  {
    const Stopwatch watch(finding_.longest_read_ms);
    auto read = reader_.read_control(context);
    expect(read.ok(), kControl, "cannot be read");
    if (read.ok()) events = *std::move(read);
  }
  finding_.tally[kControl].accepted += events.size();
  int64_t before_ns = 0;
  for (const ring::ControlEvent& e : events) {
    bool whole = e.mono_ns && *e.mono_ns >= before_ns;
    before_ns = e.mono_ns.value_or(0);
    const uint64_t k = e.value[0];
    if (e.kind == RAILWITNESS_CONTROL_ASYNC_EVENT) {
      whole &= e.value[1] == ~k && e.value[2] == k * kGolden && e.rail == k % 32 && e.qpn == (static_cast<uint32_t>(k) | 1);
    } else if (e.kind == RAILWITNESS_CONTROL_QP_MODIFIED) {
      whole &= e.qpn && (e.value[1] == 0 || e.value[1] == peer_of(*e.qpn)) && e.value[2] == 0;
    } else if (e.kind == RAILWITNESS_CONTROL_COMM_OPENED || e.kind == RAILWITNESS_CONTROL_COMM_CLOSED) {
      whole &= e.value[1] == static_cast<uint64_t>(comm_rank(k - kCommBase)) && !e.qpn;
    } else if (e.kind == RAILWITNESS_CONTROL_QP_CREATED || e.kind == RAILWITNESS_CONTROL_QP_DESTROYED) {
      whole &= e.qpn && k == 0 && e.value[1] == 0 && e.value[2] == 0;
    } else {
      whole &= e.kind == RAILWITNESS_CONTROL_ERROR_COMPLETION && e.qpn == kFailing && k == kError;
    }
    expect(whole, kControl, fmt::format("event {} of kind {}: {:#x} {:#x} {:#x}", e.index, e.kind, e.value[0], e.value[1], e.value[2]));
  }
  if (!dead) return;
  const auto writer = line_at<railwitness_writer>(geometry_.writer_offset, 0, fd_);
  const uint64_t there = std::min<uint64_t>(writer.control_reserved, RAILWITNESS_CONTROL_CAPACITY);
  expect(events.size() == there || events.size() + 1 == there, kControl,
         fmt::format("{} of {} events", events.size(), there));
}

void Autopsy::look_at_rails() {
  const auto writer = line_at<railwitness_writer>(geometry_.writer_offset, 0, fd_);
  for (uint32_t i = 0; i < std::min(writer.rails, geometry_.rail_capacity); ++i) {
    ++finding_.tally[kRails].accepted;
    const auto line = line_at<railwitness_rail>(geometry_.rails_offset, i, fd_);
    const railwitness_rail truth = rail_of(i);
    expect(std::memcmp(&line, &truth, sizeof line) == 0, kRails, fmt::format("rail {}", i));
  }
  if (writer.rails >= geometry_.rail_capacity) return;
  const auto beyond = line_at<railwitness_rail>(geometry_.rails_offset, writer.rails, fd_);
  if (beyond.device[0] != '\0') ++finding_.tally[kRails].refused;
}

// Shows that kills did hit: lines that are begun and not whole.
void Autopsy::count_half_written() {
  const auto writer = line_at<railwitness_writer>(geometry_.writer_offset, 0, fd_);
  for (uint32_t i = 0; i < std::min(writer.flows, geometry_.flow_capacity); ++i) {
    const auto identity = line_at<railwitness_identity>(geometry_.identities_offset, i, fd_);
    if (identity.sequence % 2 == 1) ++finding_.tally[kIdentities].refused;
    const auto state = line_at<railwitness_state>(geometry_.states_offset, i, fd_);
    const uint64_t slot = uint64_t{i} * RAILWITNESS_RECORDS_PER_FLOW + state.records % RAILWITNESS_RECORDS_PER_FLOW;
    const auto record = line_at<railwitness_record>(geometry_.records_offset, slot, fd_);
    const bool begun = record.post_ticks != 0 &&
                       (record.sequence == 0 || record.post_ticks > std::max(state.last_post_ticks, state.last_completion_ticks));
    if (begun && record.sequence != state.records + 1) ++finding_.tally[kRecords].refused;
    if (record.sequence == state.records + 1) ++finding_.tally[kStates].refused;  // counts lag behind the record
  }
  for (uint32_t i = 0; i < std::min(writer.comms, geometry_.comm_capacity); ++i) {
    if (line_at<railwitness_comm>(geometry_.comms_offset, i, fd_).open == 0) ++finding_.tally[kComms].refused;
  }
  if (writer.control_reserved == 0) return;
  const uint64_t last = writer.control_reserved - 1;
  const auto event =
      line_at<railwitness_control>(geometry_.control_offset, last % RAILWITNESS_CONTROL_CAPACITY, fd_);
  if (event.sequence != last + 1) ++finding_.tally[kControl].refused;
}

}  // namespace railwitness::faults
