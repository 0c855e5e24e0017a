#include "probes/cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "probes/cli/arguments.h"
#include "probes/cli/table.h"
#include "probes/doctor/host.h"
#include "probes/joblog/report.h"
#include "railwitness/base/version.h"
#include "probes/model/json_text.h"

namespace railwitness::cli {
namespace {

constexpr size_t kMaxLogBytes = size_t{4} << 30;  // of all files together; what is beyond is not looked at

constexpr char kWhatLogs[] =
    "name logs of a job, written with NCCL_DEBUG=INFO, or - for standard input; without a name this host is examined";

// Feeds a file to the reader; `left` is what may still be read.
absl::Status read_log(const std::string& path, joblog::Reader& reader, size_t& left) {
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::NotFoundError(fmt::format("cannot open {}: {}; {}", path, strerror(errno), kWhatLogs));
  std::vector<char> buffer(size_t{1} << 18);
  ssize_t got = 0;
  bool is_first = true, is_packed = false;
  while (left > 0 && (got = read(fd, buffer.data(), std::min(buffer.size(), left))) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    is_packed = is_first && (bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd"));
    is_first = false;
    if (is_packed) break;
    reader.feed(bytes);
    left -= bytes.size();
  }
  const int error = errno;
  if (!is_stdin) close(fd);
  if (is_packed)
    return absl::InvalidArgumentError(
        fmt::format("{} is compressed; zcat or zstdcat it into `railwitness doctor -`", path));
  if (got < 0) return absl::UnavailableError(fmt::format("cannot read {}: {}; {}", path, strerror(error), kWhatLogs));
  reader.feed("\n");  // the next file begins a line of its own
  return absl::OkStatus();
}

Answer read_logs(const DoctorOptions& options) {
  joblog::Reader reader;
  size_t left = kMaxLogBytes;
  for (const std::string& path : options.logs) {
    const absl::Status status = read_log(path, reader, left);
    if (!status.ok()) return {kExitCannot, "", fmt::format("railwitness doctor: {}\n", std::string(status.message()))};
  }
  const joblog::JobLog job = reader.finish();
  joblog::Judgement judgement = joblog::judge(job);
  if (left == 0) {
    judgement.is_partial = true;
    judgement.notes.push_back("only the first 4 GiB were read");
  }
  const bool is_fine = judgement.use == joblog::Use::kUsed;
  return {is_fine ? kExitOk : kExitFinding,
          options.json ? joblog::to_json(job, judgement) + "\n" : joblog::to_text(job, judgement), ""};
}

std::string checks_text(const std::vector<doctor::Check>& checks) {
  std::string out = fmt::format("railwitness {}\n\n", kVersionText);
  Table table({"", "WHAT", "SEEN"});
  for (const doctor::Check& check : checks) {
    table.add({std::string(doctor::word(check.state)), check.name, check.evidence});
    if (!check.way_out.empty()) table.add({"", "", "way out: " + check.way_out});
  }
  return out + table.text();
}

std::string checks_json(const std::vector<doctor::Check>& checks) {
  nlohmann::ordered_json out{{"type", "host"}, {"version", kVersionText}};
  out["checks"] = nlohmann::ordered_json::array();
  for (const doctor::Check& check : checks) {
    out["checks"].push_back({{"what", check.name},
                             {"state", doctor::word(check.state)},
                             {"seen", check.evidence},
                             {"way_out", check.way_out}});
  }
  return model::dump(out) + "\n";
}

}  // namespace

Answer run_doctor(const DoctorOptions& options) {
  if (!options.logs.empty()) return read_logs(options);
  doctor::HostQuestions questions;
  questions.nccl = options.nccl;
  questions.plugin = options.plugin;
  questions.socket = options.socket;
  questions.lldp_command = options.lldp_command;
  std::vector<doctor::Check> checks = doctor::examine_host(questions);
  const auto facts = read_control_socket(options.control_socket);
  checks.push_back({"sidecar's control socket", facts.ok() ? doctor::State::kOk : doctor::State::kWarn,
                    facts.ok() ? fmt::format("{} answers with {} bytes", options.control_socket, facts->size())
                               : std::string(facts.status().message()),
                    ""});
  const bool is_bad = std::any_of(checks.begin(), checks.end(),
                                  [](const doctor::Check& check) { return check.state == doctor::State::kBad; });
  return {is_bad ? kExitFinding : kExitOk, options.json ? checks_json(checks) : checks_text(checks), ""};
}

}  // namespace railwitness::cli
