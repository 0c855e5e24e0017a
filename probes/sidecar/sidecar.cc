#include "probes/sidecar/sidecar.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "probes/bus/bus.h"
#include "probes/counter/netdev_reader.h"
#include "probes/host/proc_stat.h"
#include "probes/model/facts_json.h"
#include "probes/sidecar/line_budget.h"
#include "probes/sidecar/clock.h"
#include "probes/sidecar/control_server.h"
#include "probes/sidecar/handover_server.h"
#include "probes/sidecar/lateness.h"
#include "probes/sidecar/lldp_watch.h"
#include "probes/sidecar/node_facts.h"
#include "probes/sidecar/note.h"
#include "probes/sidecar/outlet.h"
#include "probes/sidecar/process_table.h"
#include "probes/sidecar/rail_watch.h"
#include "probes/sidecar/seats.h"
#include "probes/sidecar/self_watch.h"
#include "probes/sidecar/service_manager.h"
#include "probes/sidecar/speaker.h"
#include "railwitness/abi/handover.h"

namespace railwitness::sidecar {
namespace {

constexpr int64_t kThinkEveryNs = 200 * kNsPerMs;
constexpr int64_t kPublishBusyNs = 500 * kNsPerMs;
constexpr int64_t kPublishIdleNs = 2 * kNsPerSecond;
constexpr int64_t kAskStopEveryMs = 100;
constexpr int64_t kTellRefusalsNs = 300 * kNsPerSecond;
constexpr const char* kDefaultControlSocket = "/run/railwitness/control.sock";

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// A process costs two descriptors, its socket and its segment; the others are for further segments, of which two blocks
// make the smallest, and for everything else.
uint32_t seats_within_limits(uint32_t wanted, spdlog::logger& log) {
  constexpr rlim_t kOthers = 512 + Seats::kBlocks / 2;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  const rlim_t needed = rlim_t{wanted} * 2 + kOthers;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= needed) return wanted;
  const rlim_t left = files.rlim_cur > kOthers ? (files.rlim_cur - kOthers) / 2 : 1;
  log.warn("limit of open files {} is enough for {} processes, not for {} (raise LimitNOFILE=)", files.rlim_cur, left,
           wanted);
  return static_cast<uint32_t>(std::max<rlim_t>(left, 1));
}

Options with_defaults(Options options) {
  if (options.node.empty()) options.node = host_name();
  if (options.socket.empty()) options.socket = RAILWITNESS_DEFAULT_SOCKET;
  if (options.control_socket.empty()) options.control_socket = kDefaultControlSocket;
  options.read_interval_ms = std::clamp<int64_t>(options.read_interval_ms, 1, 10'000);
  std::vector<std::string> rails;  // each once: its place is its number
  for (const std::string& name : options.rails) {
    if (!name.empty() && std::find(rails.begin(), rails.end(), name) == rails.end()) rails.push_back(name);
  }
  options.rails = std::move(rails);
  return options;
}

// What cannot be meant, whatever this node is like.
absl::Status check(const Options& options) {
  for (const std::string& name : options.rails) {
    if (counter::is_interface_name(name)) continue;
    return absl::InvalidArgumentError("--rail '" + name +
                                      "': no interface can have that name; `ip link` lists those of this node");
  }
  const auto place = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
    return error ? std::filesystem::path(path) : whole;
  };
  if (place(options.socket) != place(options.control_socket)) return absl::OkStatus();
  return absl::InvalidArgumentError("--socket and --control-socket are both " + options.socket +
                                    ": give each a path of its own");
}

// Where the log goes, which may be read by nobody.
class OutletSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit OutletSink(Outlet& outlet) : outlet_(outlet) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    outlet_.say(std::string(text.data(), text.size()));
  }
  void flush_() override {}
  Outlet& outlet_;
};

class Loop {
 public:
  Loop(Options options, std::shared_ptr<spdlog::logger> log, Outlet& out, Outlet& log_out)
      : options_(std::move(options)),
        log_(std::move(log)),
        out_(out),
        log_out_(log_out),
        seats_(seats_within_limits(std::max(options_.max_processes, 1u), *log_)),
        processes_(options_.proc_root, seats_, manager_),
        rails_({options_.node, options_.sysfs_root, options_.answer_pings, options_.rails}),
        lldp_(options_.lldp_command, std::max<int64_t>(options_.lldp_interval_ms, 100) * kNsPerMs),
        speaker_(options_.node, options_.json, out_),
        read_(options_.read_interval_ms * kNsPerMs),
        heard_(1) {}

  absl::Status open();
  void run(const std::function<bool()>& should_stop);

 private:
  void wait(int64_t until_mono_ns) const;
  void turn(int64_t now_mono_ns);
  void take_over();
  void mend_sockets();
  void serve_jobs(int64_t now_mono_ns);
  void assemble(int64_t now_mono_ns);
  std::vector<Note> notes(size_t processes_left_out, size_t flows_left_out) const;
  void publish(int64_t now_mono_ns);
  void log_changes(int64_t now_mono_ns);

  Options options_;
  std::shared_ptr<spdlog::logger> log_;
  Outlet &out_, &log_out_;
  Seats seats_;
  ServiceManager manager_;
  ProcessTable processes_;
  RailWatch rails_;
  LldpWatch lldp_;
  Speaker speaker_;
  Every read_;
  Every think_{kThinkEveryNs};
  Every mend_{kNsPerSecond};
  std::unique_ptr<HandoverServer> handover_;
  std::unique_ptr<ControlServer> control_;
  std::unique_ptr<bus::NodeBus> bus_;  // none: this node alone
  std::vector<model::Heard> heard_;    // one: this node's facts as of the last turn that thought
  Lateness lateness_;
  SelfWatch self_;
  LineBudget arrivals_, job_notes_;
  std::string boot_id_;
  int64_t start_mono_ns_ = 0, start_wall_ns_ = 0;
  int64_t published_mono_ns_ = 0;
  bool changed_ = false;
  bool thinks_ = false, reading_ = false;  // it is time to; not all have been read yet
  std::vector<Note> notes_;         // of the last turn that thought
  std::vector<std::string> noted_;  // of them, those that the log has
  std::vector<std::string> socket_problems_;
};

absl::Status Loop::open() {
  boot_id_ = host::read_boot_id(options_.proc_root);
  start_mono_ns_ = now_mono_ns();
  start_wall_ns_ = now_wall_ns();
  auto handover = HandoverServer::open(options_.socket, boot_id_, seats_);
  if (!handover.ok()) return handover.status();
  auto control = ControlServer::open(options_.control_socket);
  if (!control.ok()) return control.status();
  handover_ = *std::move(handover);
  control_ = *std::move(control);
  take_over();
  if (options_.nats_url.empty()) return absl::OkStatus();
  auto bus = bus::open_node_bus(options_.nats_url, options_.node);
  if (!bus.ok()) return bus.status();
  bus_ = *std::move(bus);
  return absl::OkStatus();
}

// Segments of the sidecar before this one.
void Loop::take_over() {
  size_t useless = 0, taken = 0;
  std::vector<StoredSegment> stored = manager_.take_stored(useless);
  const size_t count = stored.size();
  for (StoredSegment& segment : stored) taken += processes_.restore(std::move(segment), start_mono_ns_) ? 1 : 0;
  if (taken > 0) log_->info("{} segments of the sidecar before are read on", taken);
  if (useless + count > taken) log_->warn("{} stored segments cannot be used and are given up", useless + count - taken);
}

void Loop::run(const std::function<bool()>& should_stop) {
  manager_.tell_ready();
  log_->info("node {} hands out segments on {} and serves facts on {}", options_.node, options_.socket,
             options_.control_socket);
  int64_t ask_mono_ns = 0;
  while (true) {
    const int64_t before_mono_ns = now_mono_ns();
    if (before_mono_ns >= ask_mono_ns) {
      if (should_stop()) break;
      ask_mono_ns = before_mono_ns + kAskStopEveryMs * kNsPerMs;
    }
    const int64_t due_mono_ns = std::min(ask_mono_ns, read_.next_mono_ns());
    wait(reading_ ? before_mono_ns : due_mono_ns);
    const int64_t now = now_mono_ns();
    // Behind its schedule, whether another program or its own last turn took the time; nothing is due before the first.
    if (read_.next_mono_ns() != 0 && now > due_mono_ns) lateness_.note(now - due_mono_ns, now);
    self_.begin_turn(now);
    turn(now);
    self_.end_turn(now_mono_ns());
  }
  log_->info("node {} stops", options_.node);
}

void Loop::wait(int64_t until_mono_ns) const {
  std::array<pollfd, 4> events{{{handover_->poll_fd(), POLLIN, 0},
                                {control_->poll_fd(), POLLIN, 0},
                                {rails_.poll_fd(), POLLIN, 0},
                                {lldp_.poll_fd(), POLLIN, 0}}};  // a negative one is skipped
  const int64_t wait_ms = (until_mono_ns - now_mono_ns() + kNsPerMs - 1) / kNsPerMs;
  poll(events.data(), events.size(), static_cast<int>(std::clamp<int64_t>(wait_ms, 0, kAskStopEveryMs)));
}

void Loop::turn(int64_t now_mono_ns) {
  if (mend_.due(now_mono_ns)) mend_sockets();
  serve_jobs(now_mono_ns);
  rails_.turn(now_mono_ns);
  lldp_.turn(now_mono_ns);
  thinks_ |= think_.due(now_mono_ns);
  if (read_.due(now_mono_ns) || thinks_ || reading_) {  // ages are judged against the present
    reading_ = !processes_.read_some(now_mono_ns);
    if (!reading_) self_.note_reading(now_mono_ns);
  }
  changed_ |= processes_.take_changed();
  changed_ |= rails_.take_changed();
  if (thinks_ && !reading_) {
    thinks_ = false;
    assemble(now_mono_ns);
    speaker_.think(heard_, heard_[0].facts.taken_wall_ns);
    log_changes(now_mono_ns);
    if (bus_) publish(now_mono_ns);
  }
  if (bus_) rails_.ask(bus_->take_ping_requests(), now_mono_ns);
  control_->serve(now_mono_ns,
                  [this] { return std::make_shared<const std::string>(model::to_json(heard_[0].facts) + "\n"); });
}

// Whoever cleans /run takes the door away, not the daemon: jobs that start later would find nobody.
void Loop::mend_sockets() {
  socket_problems_.clear();
  const auto tell = [this](const absl::StatusOr<bool>& mended, const std::string& path) {
    if (!mended.ok()) socket_problems_.push_back(std::string(mended.status().message()));
    if (mended.ok() && *mended) log_->warn("the socket {} was removed by somebody; it is there again", path);
  };
  tell(handover_->mend(), options_.socket);
  tell(control_->mend(), options_.control_socket);
}

void Loop::serve_jobs(int64_t now_mono_ns) {
  HandoverServer::Served served = handover_->serve(now_mono_ns);
  for (HandOver& arrived : served.arrived) {
    if (arrivals_.take(now_mono_ns)) {
      log_->info("pid {} uid {}{}{} got a segment", arrived.pid, arrived.uid, arrived.job.empty() ? "" : " job ", arrived.job);
    }
    const std::optional<uint64_t> replaced = processes_.add(std::move(arrived), now_mono_ns);
    if (replaced) handover_->close(*replaced);
  }
  if (const uint64_t untold = arrivals_.take_untold(now_mono_ns)) log_->info("{} more processes got a segment", untold);
  for (FurtherSegment& further : served.further) processes_.add_part(std::move(further));
  for (const uint64_t connection : served.lost) processes_.lose_connection(connection, now_mono_ns);
}

void Loop::assemble(int64_t now_mono_ns) {
  model::NodeFacts& facts = heard_[0].facts;
  facts.node = options_.node;
  facts.boot_id = boot_id_;
  ++facts.sequence;
  facts.sidecar_start_mono_ns = start_mono_ns_;
  facts.taken_mono_ns = now_mono_ns;
  facts.taken_wall_ns = now_wall_ns();
  facts.late_ns = lateness_.longest(now_mono_ns);
  facts.self = self_.facts(now_mono_ns);
  size_t flows_left_out = 0;
  facts.processes = processes_.facts(kMaxFlows, flows_left_out);
  std::vector<std::string> totals = processes_.totals(facts.processes);
  rails_.notice(facts.processes, now_mono_ns);
  facts.rails = rails_.rails();
  facts.edges = lldp_.edges(facts.rails);
  settle_devices(facts.rails, facts.processes);
  const size_t processes_left_out = bound_processes(facts.processes);
  facts.ping_ports = rails_.ping_ports();
  facts.pings = rails_.results();
  notes_ = notes(processes_left_out, flows_left_out);
  for (std::string& total : totals) notes_.emplace_back(std::move(total), Note::Kind::kFigure);
  facts.notes = texts_of(notes_);
}

std::vector<Note> Loop::notes(size_t processes_left_out, size_t flows_left_out) const {
  std::vector<Note> notes;
  for (std::string& problem : rails_.problems()) notes.push_back(std::move(problem));
  if (!lldp_.problem().empty()) notes.push_back(lldp_.problem());
  if (bus_) {
    auto [connection, problem] = bus_->state();
    const bool begins = connection == bus::Connection::kBeginning;
    if (!problem.empty()) notes.emplace_back(std::move(problem), begins ? Note::Kind::kExpected : Note::Kind::kProblem);
  }
  const HandoverServer::Counters& asked = handover_->counters();
  const int64_t now = heard_[0].facts.taken_mono_ns;
  const auto is_recent = [now](int64_t when) { return when != 0 && now - when < kTellRefusalsNs; };
  if (is_recent(asked.other_version_mono_ns)) {
    notes.emplace_back("processes whose plugin has another segment version asked and are not witnessed", Note::Kind::kOfAJob);
  }
  if (is_recent(asked.refused_mono_ns)) {
    notes.emplace_back("processes were refused a segment: there are too many, or they ask too often", Note::Kind::kOfAJob);
  }
  if (is_recent(asked.further_refused_mono_ns)) {
    notes.emplace_back("processes were refused a further segment: flows beyond those they have are not witnessed",
                       Note::Kind::kOfAJob);
  }
  if (processes_.lines_not_read() > 0) {
    notes.emplace_back("flows are not read: the processes of this node have too many", Note::Kind::kOfAJob);
  }
  for (const std::string& problem : socket_problems_) notes.push_back(problem);
  // Without the numbers: a note that changes would be logged again each time.
  if (processes_left_out > 0) {
    notes.emplace_back("processes are left out of the facts: too many for one node", Note::Kind::kOfAJob);
  }
  if (flows_left_out > 0) notes.emplace_back("flows are left out of the facts: too many for one node", Note::Kind::kOfAJob);
  if (out_.is_losing()) notes.push_back("lines on standard output are lost: nobody reads it");
  if (log_out_.is_losing()) notes.push_back("lines of the log are lost: nobody reads standard error");
  for (Note& note : coverage_notes(heard_[0].facts, start_wall_ns_)) notes.push_back(std::move(note));
  for (std::string& note : cost_notes(heard_[0].facts)) notes.emplace_back(std::move(note), Note::Kind::kOfAJob);
  return notes;
}

void Loop::publish(int64_t now_mono_ns) {
  const bool busy = changed_ || speaker_.has_open_incidents() || processes_.restless(now_mono_ns);
  // A turn early rather than a turn late: thinking comes round every 200 ms.
  const int64_t interval_ns = (busy ? kPublishBusyNs : kPublishIdleNs) - kThinkEveryNs / 2;
  if (now_mono_ns - published_mono_ns_ < interval_ns) return;
  published_mono_ns_ = now_mono_ns;
  changed_ = false;
  // Not connected, or the queue is full: the bus counts it, and the note says why.
  bus_->publish(heard_[0].facts).IgnoreError();
}

// A cause is logged when it comes, not as long as it lasts.
void Loop::log_changes(int64_t now_mono_ns) {
  std::vector<std::string> now;
  for (const Note& note : notes_) {
    if (note.kind == Note::Kind::kFigure) continue;
    now.push_back(note.text);
    if (std::find(noted_.begin(), noted_.end(), note.text) != noted_.end()) continue;
    if (note.kind == Note::Kind::kOfAJob && !job_notes_.take(now_mono_ns)) continue;
    log_->log(note.kind == Note::Kind::kExpected ? spdlog::level::info : spdlog::level::warn, "{}", note.text);
  }
  noted_ = std::move(now);
  if (const uint64_t untold = job_notes_.take_untold(now_mono_ns)) {
    log_->info("{} more notes about processes came and went; `railwitness ls` shows those that hold", untold);
  }
}

}  // namespace

absl::Status run(const Options& options, const std::function<bool()>& should_stop) {
  // Not registered by name: two in one process (tests) would clash. Standard output is for verdicts alone.
  Outlet out(options.out_fd), log_out(options.log_fd);
  auto log = std::make_shared<spdlog::logger>("sidecar", std::make_shared<OutletSink>(log_out));
  signal(SIGPIPE, SIG_IGN);  // who read our lines may go; the bus and the sockets have other readers
  const Options whole = with_defaults(options);
  if (absl::Status status = check(whole); !status.ok()) return status;
  Loop loop(whole, log, out, log_out);
  const absl::Status status = loop.open();
  if (!status.ok()) return status;
  loop.run(should_stop);
  if (out.error() == 0 || out.error() == EPIPE) return absl::OkStatus();  // who read has read enough
  return absl::UnavailableError(std::string("standard output could not be written: ") + std::strerror(out.error()) +
                                "; verdicts are lost");
}

}  // namespace railwitness::sidecar
