#include "probes/sidecar/process_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "probes/sidecar/node_facts.h"

namespace railwitness::sidecar {
namespace {

using model::ProcessState;

// Longer than a healthy transfer takes, shorter than any threshold of the diagnosis.
constexpr int64_t kMomentNs = 250'000'000;

bool older_than_a_moment(const std::optional<int64_t>& since_mono_ns, int64_t now_mono_ns) {
  return since_mono_ns && now_mono_ns - *since_mono_ns > kMomentNs;
}

}  // namespace

ProcessTable::Entry::Entry(HandOver hand_over, host::ProcessWatch watch_of_it)
    : watch(std::move(watch_of_it)), reader(std::move(hand_over.segment)), connection(hand_over.connection) {
  facts.pid = hand_over.pid;
  facts.uid = hand_over.uid;
  facts.job = std::move(hand_over.job);
  facts.start_time = watch.start_time();
  start_mono_ns = watch.start_mono_ns();
}

std::optional<uint64_t> ProcessTable::add(HandOver hand_over, int64_t now_mono_ns) {
  std::optional<uint64_t> replaced;
  host::ProcessWatch watch(proc_root_, hand_over.pid);
  if (watch.start_mono_ns() > hand_over.connected_mono_ns) {  // who connected has ended, and another has its number
    hand_over.pid = 0;
    watch = host::ProcessWatch(proc_root_, 0);
  }
  ring::Segment& segment = hand_over.segment;
  std::string name = manager_.keep({hand_over.pid, watch.start_time(), hand_over.uid, hand_over.job}, segment);
  Entry& entry = entries_.emplace_back(std::move(hand_over), std::move(watch));
  entry.number = ++entries_ever_;
  entry.kept.push_back(std::move(name));
  if (Entry* earlier = find_same(entry)) {
    if (earlier->connected) replaced = earlier->connection;
    entry.restored_mono_ns = earlier->restored_mono_ns;
    give_back(*earlier);
    entries_.remove_if([earlier](const Entry& other) { return &other == earlier; });
  }
  Shares lines(kMaxLines);
  update(entry, now_mono_ns, lines);
  changed_ = true;
  return replaced;
}

ProcessTable::Entry* ProcessTable::find_same(const Entry& entry) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&entry](const Entry& other) {
    return &other != &entry && other.reader && other.facts.start_time != 0 && other.facts.pid == entry.facts.pid &&
           other.facts.start_time == entry.facts.start_time;
  });
  return found == entries_.end() ? nullptr : &*found;
}

bool ProcessTable::restore(StoredSegment stored, int64_t now_mono_ns) {
  const SegmentOwner& owner = stored.owner;
  const uint32_t part = stored.segment.part;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&owner](const Entry& entry) {
    return entry.reader && entry.owner() == owner;
  });
  const bool fits = part == 0 ? seats_.try_take(owner.uid)
                              : found != entries_.end() && found->parts == part && seats_.try_take_part(owner.uid, part);
  if (!fits) return manager_.forget(stored.name), false;
  if (part != 0) {
    found->kept.push_back(std::move(stored.name));
    ++found->parts;
    found->reader->add_part(std::move(stored.segment));
    return true;
  }
  if (found != entries_.end()) {  // the sidecar before was killed between taking the new one and giving up the old one
    give_back(*found);
    entries_.erase(found);
  }
  host::ProcessWatch watch(proc_root_, owner.pid, owner.start_time);
  Entry& entry = entries_.emplace_back(HandOver{0, owner.pid, owner.uid, owner.job, std::move(stored.segment)}, std::move(watch));
  entry.number = ++entries_ever_;
  entry.kept.push_back(std::move(stored.name));
  entry.connected = false;
  entry.restored_mono_ns = now_mono_ns;
  changed_ = true;
  return true;
}

void ProcessTable::add_part(FurtherSegment further) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&further](const Entry& entry) {
    return entry.reader && entry.connection == further.connection;
  });
  // A child that a gone process left behind may hold its socket and ask.
  if (found == entries_.end()) return seats_.give_back_part(further.uid, further.segment.part);
  ++found->parts;
  found->kept.push_back(manager_.keep(found->owner(), further.segment));
  found->reader->add_part(std::move(further.segment));
}

void ProcessTable::give_back(Entry& entry) {
  seats_.give_back(entry.facts.uid);
  for (uint32_t part = 1; part < entry.parts; ++part) seats_.give_back_part(entry.facts.uid, part);
  for (const std::string& name : entry.kept) manager_.forget(name);
  entry.kept.clear();
}

void ProcessTable::lose_connection(uint64_t connection, int64_t now_mono_ns) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [connection](const Entry& entry) {
    return entry.connected && entry.connection == connection;
  });
  if (found == entries_.end()) return;
  found->connected = false;
  clock_.sample();
  Shares lines(kMaxLines);
  update(*found, now_mono_ns, lines);
}

uint64_t ProcessTable::read_segment(Entry& entry, int64_t now_mono_ns, Shares& lines) {
  const uint32_t most = lines.left_for(entry.facts.uid);
  const ring::ReadContext context{clock_.rate(), entry.start_mono_ns, now_mono_ns, most};
  // A segment that cannot be read is told in the facts, as segment_problem.
  (void)entry.reader->read(context, buffer_, entry.facts);
  tell_when_unwitnessed(entry);
  entry.lines = entry.reader->lines_in_use();
  const auto read = static_cast<uint32_t>(std::min<uint64_t>(entry.lines, most));
  lines.try_take(entry.facts.uid, read);
  return entry.lines - read;
}

// What the process takes for a span without a sidecar has ended for its segment when that was read again.
void ProcessTable::tell_when_unwitnessed(Entry& entry) const {
  std::optional<int64_t>&end = entry.facts.alone_end_mono_ns, &begin = entry.facts.alone_begin_mono_ns;
  if (entry.restored_mono_ns == 0 || !begin || *begin >= entry.restored_mono_ns) return;
  end = std::min(end.value_or(entry.restored_mono_ns), entry.restored_mono_ns);
}

uint64_t ProcessTable::update(Entry& entry, int64_t now_mono_ns, Shares& lines) {
  const ProcessState before = entry.facts.state;
  const host::Presence presence = entry.watch.update(now_mono_ns, entry.facts);
  // After /proc: what the process wrote until it was seen to be gone is all there is.
  const uint64_t not_read = read_segment(entry, now_mono_ns, lines);
  const bool socket_decides = entry.watch.start_time() == 0;
  const bool gone = presence == host::Presence::kGone || (socket_decides && !entry.connected);
  if (gone) retire(entry, now_mono_ns);
  // Running and sleeping change all the time and say little.
  const auto moves = [](ProcessState state) { return state == ProcessState::kRunning || state == ProcessState::kSleeping; };
  if (before != entry.facts.state && !(moves(before) && moves(entry.facts.state))) changed_ = true;
  return not_read;
}

void ProcessTable::retire(Entry& entry, int64_t now_mono_ns) {
  entry.facts.state = ProcessState::kGone;
  entry.facts.state_since_mono_ns = now_mono_ns;
  entry.gone_mono_ns = now_mono_ns;
  entry.connected = false;
  entry.reader.reset();  // its pages are charged to the job as long as we hold them
  give_back(entry);
  trim_gone();
}

// The facts of a gone process matter for minutes, its flows for what was outstanding when it went. No more of them are
// kept of one process than are ever told of a node.
void ProcessTable::trim_gone() {
  size_t room = kMaxGoneFlows;
  std::vector<Entry*> gone;
  for (Entry& entry : entries_) {
    if (!entry.reader) gone.push_back(&entry);
  }
  std::stable_sort(gone.begin(), gone.end(), [](const Entry* a, const Entry* b) { return a->gone_mono_ns > b->gone_mono_ns; });
  for (Entry* entry : gone) {
    std::vector<model::Flow>& flows = entry->facts.flows;
    const size_t most = std::min(room, kMaxFlows);
    if (flows.size() > most) {
      keep_flows({.without_destroyed = true, .most = most}, flows);
      flows.shrink_to_fit();
    }
    room -= flows.size();
  }
}

void ProcessTable::begin_reading() {
  std::map<uint32_t, uint64_t> work;
  for (const Entry& entry : entries_) {
    if (entry.reader) work[entry.facts.uid] += entry.lines + 256;
  }
  heavy_users_.clear();
  for (const auto& [uid, lines] : work) {
    if (lines > kReadATurn) heavy_users_.insert(uid);
  }
  reading_ = Reading::kOfHeavyUsers;
  read_through_ = 0;
  lines_ = Shares(kMaxLines);
  not_read_yet_ = 0;
}

bool ProcessTable::read_on(int64_t now_mono_ns, uint64_t& work) {
  for (Entry& entry : entries_) {
    if (!entry.reader || entry.number <= read_through_) continue;
    if (heavy_users_.contains(entry.facts.uid) != (reading_ == Reading::kOfHeavyUsers)) continue;
    if (work >= kReadATurn) return false;
    read_through_ = entry.number;
    not_read_yet_ += update(entry, now_mono_ns, lines_);
    work += entry.facts.flows.size() + 256;
  }
  read_through_ = 0;
  return true;
}

bool ProcessTable::read_some(int64_t now_mono_ns) {
  clock_.sample();
  if (reading_ == Reading::kNone) begin_reading();
  uint64_t work = 0;
  if (reading_ == Reading::kOfHeavyUsers) {
    if (!read_on(now_mono_ns, work)) return false;
    reading_ = Reading::kOfOthers;
  }
  if (!read_on(now_mono_ns, work)) return false;
  reading_ = Reading::kNone;
  lines_not_read_ = not_read_yet_;
  forget_old(now_mono_ns);
  return true;
}

void ProcessTable::forget_old(int64_t now_mono_ns) {
  size_t gone = static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.reader; }));
  for (auto it = entries_.begin(); it != entries_.end();) {
    const bool drop = !it->reader && (gone > kMaxGone || now_mono_ns - it->gone_mono_ns >= kKeepGoneNs);
    if (drop) --gone;
    it = drop ? entries_.erase(it) : std::next(it);
  }
}

std::vector<model::Process> ProcessTable::facts() const {
  std::vector<model::Process> facts;
  for (const Entry& entry : entries_) facts.push_back(entry.facts);
  return facts;
}

// What is left out is not copied first.
std::vector<model::Process> ProcessTable::facts(size_t most_flows, size_t& left_out) {
  std::vector<FlowCount> counts;
  counts.reserve(entries_.size());
  for (const Entry& entry : entries_) counts.push_back(count_flows(entry.facts));
  left_out = 0;
  const std::vector<FlowChoice> choices = choose_flows(most_flows, counts);
  std::vector<model::Process> facts;
  facts.reserve(entries_.size());
  for (Entry& entry : entries_) {
    facts.push_back(copy_with(choices[facts.size()], entry.facts));
    left_out += entry.facts.flows.size() - facts.back().flows.size();
  }
  return facts;
}

std::vector<std::string> ProcessTable::totals(const std::vector<model::Process>& told) const {
  constexpr size_t kMaxNotes = 64;
  std::vector<std::string> notes;
  auto process = told.begin();
  for (const Entry& entry : entries_) {
    if (process == told.end() || notes.size() >= kMaxNotes) break;
    const size_t flows = (process++)->flows.size();
    if (!entry.reader || flows >= entry.lines) continue;
    notes.push_back("process " + std::to_string(entry.facts.pid) + " has " + std::to_string(entry.lines) +
                    " flows, of which " + std::to_string(flows) + " are told here");
  }
  return notes;
}

bool ProcessTable::restless(int64_t now_mono_ns) const {
  return std::any_of(entries_.begin(), entries_.end(), [now_mono_ns](const Entry& entry) {
    if (entry.facts.state == ProcessState::kStopped) return true;
    if (!entry.reader) return now_mono_ns - entry.gone_mono_ns < 10'000'000'000;
    return std::any_of(entry.facts.flows.begin(), entry.facts.flows.end(), [now_mono_ns](const model::Flow& flow) {
      return !flow.destroyed && (older_than_a_moment(flow.oldest_post_mono_ns, now_mono_ns) ||
                                 older_than_a_moment(flow.receive_wait_mono_ns, now_mono_ns));
    });
  });
}

}  // namespace railwitness::sidecar
