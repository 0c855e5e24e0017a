#include "probes/cli/ls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <vector>

#include "fmt/format.h"
#include "probes/cli/arguments.h"
#include "probes/cli/table.h"
#include "probes/model/facts_json.h"
#include "probes/model/words.h"
#include "railwitness/base/clock.h"

namespace railwitness::cli {
namespace {

constexpr int64_t kTimeoutMs = 2000;
constexpr size_t kMaxBytes = size_t{4} << 20;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status no_sidecar(const std::string& path, const std::string& why) {
  return absl::UnavailableError(fmt::format(
      "no sidecar at {}: {}; start one with `railwitness sidecar`, or name its socket with --control-socket", path,
      why));
}

absl::StatusOr<std::string> read_all(int fd, const std::string& path) {
  const int64_t deadline = now_mono_ms() + kTimeoutMs;
  std::string out;
  std::vector<char> buffer(size_t{64} << 10);
  while (true) {
    pollfd ready{fd, POLLIN, 0};
    const int64_t left = deadline - now_mono_ms();
    const int polled = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return absl::DeadlineExceededError(fmt::format("the sidecar at {} does not answer for 2 s", path));
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0) return out;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return no_sidecar(path, strerror(errno));
    out.append(buffer.data(), static_cast<size_t>(got));
    if (out.size() > kMaxBytes) return absl::ResourceExhaustedError(fmt::format("more than 4 MiB from {}", path));
  }
}

// --- tables

class Printer {
 public:
  Printer(const model::NodeFacts& facts, bool all) : facts_(facts), all_(all) {}

  std::string print() const {
    std::string out = fmt::format("node {}  boot {}  sidecar up {}{}\n", facts_.node, facts_.boot_id,
                                  age(facts_.sidecar_start_mono_ns), self());
    out += "\n" + rails();
    out += "\n" + processes();
    out += "\n" + flows();
    for (const std::string& note : facts_.notes) out += "\nnote: " + note;
    if (!facts_.notes.empty()) out += "\n";
    return out;
  }

 private:
  std::string age(std::optional<int64_t> at) const {
    if (!at) return "-";
    int64_t ns = 0;
    if (__builtin_sub_overflow(facts_.taken_mono_ns, *at, &ns) || ns < 0) ns = 0;
    const double s = static_cast<double>(ns) / 1e9;
    return s < 120    ? fmt::format("{:.1f} s", s)
           : s < 7200 ? fmt::format("{:.0f} min", s / 60)
                      : fmt::format("{:.0f} h", s / 3600);
  }

  static std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

  std::string switch_port(const model::Rail& rail) const {
    for (const model::Edge& edge : facts_.edges) {
      const bool same = (edge.device == rail.device && edge.port == rail.port) ||
                        (!edge.netdev.empty() && edge.netdev == rail.netdev);
      if (!same) continue;
      return fmt::format("{}:{}{}", edge.switch_name, edge.switch_port,
                         edge.present ? "" : fmt::format(" ({} said it {} ago)", edge.source, age(edge.seen_mono_ns)));
    }
    return "-";
  }

  std::string rails() const {
    Table table({"RAIL", "PORT", "NETDEV", "STATE", "SINCE", "SWITCH PORT"});
    for (const model::Rail& rail : facts_.rails) {
      table.add({rail.index < 0 ? "-" : std::to_string(rail.index), fmt::format("{}/{}", rail.device, rail.port),
                 or_dash(rail.netdev), or_dash(rail.state), age(rail.state_since_mono_ns), switch_port(rail)});
    }
    return table.empty() ? "no rails: no RDMA device can be seen, and no job and no --rail names an interface\n" : table.text();
  }

  std::string self() const {
    if (!facts_.self) return "";
    const model::Self& self = *facts_.self;
    int64_t up_ns = 0;
    if (__builtin_sub_overflow(facts_.taken_mono_ns, facts_.sidecar_start_mono_ns, &up_ns) || up_ns <= 0) return "";
    return fmt::format("  {:.3f} of a core  {} MiB  {} descriptors  longest turn {:.0f} ms",
                       static_cast<double>(self.cpu_ns) / static_cast<double>(up_ns), self.rss_bytes >> 20,
                       self.descriptors, static_cast<double>(self.longest_turn_ns) / 1e6);
  }

  // A job may claim any number of communicators; the column stays narrow. Of a process that is gone, those it had: it may
  // have closed its communicators before.
  static std::string ranks(const model::Process& process) {
    constexpr size_t kMostShown = 4;
    std::string out;
    size_t shown = 0;
    for (const model::Comm& comm : process.comms) {
      if (!comm.open && process.state != model::ProcessState::kGone) continue;
      if (++shown > kMostShown) continue;
      out += fmt::format("{}{}/{}", out.empty() ? "" : " ", comm.rank, comm.nranks);
    }
    if (shown > kMostShown) out += fmt::format(" and {} more", shown - kMostShown);
    return or_dash(out);
  }

  static std::string problem(const model::Process& process) {
    std::string out = process.segment_problem;
    if (process.unwitnessed_flows == 0 && process.unwitnessed_events == 0) return out;
    return out + fmt::format("{}{} flows not witnessed, at least {} posts and completions so far",
                             out.empty() ? "" : "; ", process.unwitnessed_flows, process.unwitnessed_events);
  }

  // What recording takes of the threads that call it; in brackets what it would take, where only counters are kept.
  static std::string cost(const model::Process& process) {
    if (!process.witness_cost) return "-";
    const model::WitnessCost& cost = *process.witness_cost;
    const bool is_measured = cost.event_ns > 0 || cost.ppm > 0;  // both are 0 if nobody called in the last second
    const std::string share = is_measured ? fmt::format("{:.2f} %", static_cast<double>(cost.ppm) / 1e4) : "-";
    return cost.counters_only ? fmt::format("({}) counters only", share) : share;
  }

  std::string processes() const {
    Table table({"PID", "STATE", "SINCE", "CPU", "JOB", "RANK", "TAP", "FLOWS", "COST", "PROBLEM"});
    for (const model::Process& process : facts_.processes) {
      table.add({std::to_string(process.pid), std::string(word(process.state)), age(process.state_since_mono_ns),
                 process.cpu_share ? fmt::format("{:.2f}", *process.cpu_share) : "-", or_dash(process.job),
                 ranks(process), std::string(word(process.attach)), std::to_string(process.flows.size()),
                 cost(process), or_dash(problem(process))});
    }
    return table.empty() ? "no processes: no job has asked for a segment\n" : table.text();
  }

  std::string flows() const {
    Table table(
        {"PID", "PORT", "QP", "PEER", "DATA", "CARRIES", "POSTED", "DONE", "OLDEST", "RECEIVED", "WAITS", "ERROR"});
    for (const model::Process& process : facts_.processes) {
      for (const model::Flow& flow : process.flows) {
        if (flow.destroyed && !all_) continue;
        const std::string peer = !flow.peer_gid.empty() ? model::ipv4_text(flow.peer_gid).value_or(flow.peer_gid)
                                 : flow.peer_lid        ? fmt::format("lid {}", flow.peer_lid)
                                                        : "-";
        table.add({std::to_string(process.pid), fmt::format("{}/{}", or_dash(flow.device), flow.port),
                   fmt::format("{:#x}", flow.qpn), flow.peer_qpn ? fmt::format("{} {:#x}", peer, *flow.peer_qpn) : peer,
                   std::string(word(flow.direction)), std::string(word(flow.role)), std::to_string(flow.posted),
                   std::to_string(flow.completed), age(flow.oldest_post_mono_ns),
                   std::to_string(flow.receives_completed), age(flow.receive_wait_mono_ns),
                   flow.first_error
                       ? fmt::format("status {} {} ago", flow.first_error->status, age(flow.first_error->mono_ns))
                       : "-"});
      }
    }
    return table.empty() ? "no flows\n" : table.text() + totals();
  }

  std::string totals() const {
    uint64_t flows = 0, unwitnessed = 0;
    for (const model::Process& process : facts_.processes) {
      flows += process.flows.size();
      unwitnessed += process.unwitnessed_flows;
    }
    std::string out = fmt::format("\n{} flows", flows);
    if (unwitnessed > 0) out += fmt::format(", {} more not witnessed", unwitnessed);
    return out + "\n";
  }

  const model::NodeFacts& facts_;
  const bool all_;
};

}  // namespace

absl::StatusOr<std::string> read_control_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no path of a socket: 1 to {} bytes", path, sizeof address.sun_path - 1));
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Socket fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return absl::UnavailableError(fmt::format("no socket: {}", strerror(errno)));
  const int64_t deadline = now_mono_ms() + kTimeoutMs;
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // EAGAIN: the queue of a unix socket is full; poll cannot wait for that.
    if ((errno != EAGAIN && errno != EINTR) || now_mono_ms() > deadline) return no_sidecar(path, strerror(errno));
    poll(nullptr, 0, 20);
  }
  return read_all(fd.get(), path);
}

std::string tables(const model::NodeFacts& facts, bool all) {
  return Printer(facts, all).print();
}

Answer run_ls(const LsOptions& options) {
  const absl::StatusOr<std::string> text = read_control_socket(options.control_socket);
  if (!text.ok()) return {kExitCannot, "", fmt::format("railwitness ls: {}\n", std::string(text.status().message()))};
  const absl::StatusOr<model::NodeFacts> facts = model::parse_node_facts(*text);
  if (!facts.ok()) {
    return {kExitCannot, "",
            fmt::format("railwitness ls: the sidecar at {} said something else than facts: {}\n",
                        options.control_socket, std::string(facts.status().message()))};
  }
  return {kExitOk, options.json ? model::to_json(*facts) + "\n" : tables(*facts, options.all), ""};
}

}  // namespace railwitness::cli
