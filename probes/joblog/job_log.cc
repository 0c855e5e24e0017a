#include "probes/joblog/job_log.h"

#include <algorithm>
#include <charconv>

#include "probes/joblog/log_line.h"
#include "probes/joblog/messages.h"
#include "probes/model/printable.h"

namespace railwitness::joblog {
namespace {

std::string kept(std::string_view text) {
  return model::printable(text, 256);
}

void keep_first(std::string& field, std::string_view text) {
  if (field.empty()) field = kept(text);
}

std::optional<int> number_after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == text.npos) return std::nullopt;
  int number = 0;
  const char* begin = text.data() + at + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin || number < 0) return std::nullopt;
  return number;
}

// "ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 ... - Init START" since 2.17, "comm 0x1 rank 0 nranks 2 ..."
// before.
void note_rank(Process& process, std::string_view text) {
  const auto rank = number_after(text, " rank "), ranks = number_after(text, " nranks ");
  if (!rank || !ranks || *rank >= *ranks || *ranks < process.ranks_in_comm) return;
  if (*ranks > process.ranks_in_comm) process.ranks.clear();
  process.ranks_in_comm = *ranks;
  const auto at = std::lower_bound(process.ranks.begin(), process.ranks.end(), *rank);
  if ((at == process.ranks.end() || *at != *rank) && process.ranks.size() < 64) process.ranks.insert(at, *rank);
}

std::string version_of(std::string_view value) {
  return kept(value.substr(0, value.find('+')));
}

void note(Process& process, const Match& match) {
  const std::string_view value = match.value;
  switch (match.event) {
    case Event::kNone:
      return;
    case Event::kVersion:
      process.nccl_version = version_of(value);
      return;
    case Event::kPluginSetting:
      process.plugin_setting = kept(value);
      return;
    case Event::kNetSetting:
      process.net_setting = kept(value);
      return;
    case Event::kProfilerSetting:
      process.profiler_setting = kept(value);
      return;
    case Event::kNotFound:
      return keep_first(process.not_found, value);
    case Event::kOpenError:
      return keep_first(process.open_error, value);
    case Event::kUnsupported:
      return keep_first(process.unsupported, value);
    case Event::kNoSymbol:
      process.lacks_symbol = true;
      return;
    case Event::kNetLoaded:
      if (process.nets_loaded.size() < 16) process.nets_loaded.push_back(kept(value));
      return;
    case Event::kNetInitFailed:
      return;  // said of every net without devices, of ours in mode tap as well
    case Event::kNoNetAtAll:
      process.no_net_at_all = true;
      if (!value.empty()) process.net_setting = kept(value);
      return;
    case Event::kNetwork:
      if (process.network == "railwitness") process.was_on_ours = true;
      process.network = kept(value);
      return;
    case Event::kUnloaded:
      process.is_unloaded |= value.find("railwitness") != value.npos;
      return;
    case Event::kNoIbDevice:
      process.no_ib_device = true;
      return;
    case Event::kIbDevices:
      process.ib_devices = kept(value);
      return;
    case Event::kProfilerLoaded:
      process.profiler = kept(value);
      return;
    case Event::kBanner:
      return keep_first(process.banner, value);
    case Event::kKnobProblem:
      return keep_first(process.knob_problem, value);
    case Event::kNoTransport:
      return keep_first(process.no_transport, value);
  }
}

}  // namespace

void Reader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (end != bytes.npos && rest_.empty() && !has_rest_) {
      line(piece.substr(0, kMaxLineBytes));
    } else {
      rest_.append(piece.substr(0, kMaxLineBytes - std::min(rest_.size(), kMaxLineBytes)));
      has_rest_ = true;
      if (end != bytes.npos) {
        line(rest_);
        rest_.clear();
        has_rest_ = false;
      }
    }
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void Reader::line(std::string_view text) {
  ++job_.lines;
  if (text.find("NCCL ") == text.npos) return;
  for (const Message& message : split_line(text)) {
    ++job_.nccl_lines;
    const Match found = match(message.text);
    if (message.host.empty() && found.event == Event::kVersion) {  // NCCL tells it once a job
      job_.nccl_version = version_of(found.value);
      continue;
    }
    Process* process = process_of(message.host, message.pid);
    if (process == nullptr) continue;
    if (message.is_warning) {
      keep_first(process->first_warning, message.text);
    } else {
      process->has_info = true;
      if (found.event == Event::kNone) note_rank(*process, message.text);
    }
    note(*process, found);
  }
}

Process* Reader::process_of(std::string_view host, int64_t pid) {
  // A line that was cut by another rank's begins with the rest of a word: "chanvm:12:12 [0]" is of host "vm", pid 12.
  const std::pair<std::string, int64_t> key(kept(host), pid);
  const auto known = processes_.find(key);
  if (known != processes_.end()) return &known->second;
  if (processes_.size() >= kMaxProcesses) {
    ++job_.processes_left_out;
    return nullptr;
  }
  Process& process = processes_[key];
  process.host = key.first;
  process.pid = pid;
  return &process;
}

JobLog Reader::finish() {
  if (!rest_.empty()) line(rest_);
  rest_.clear();
  for (auto& [key, process] : processes_) {
    if (process.nccl_version.empty()) process.nccl_version = job_.nccl_version;  // older ones tell it once a job
    job_.processes.push_back(std::move(process));
  }
  processes_.clear();
  return std::move(job_);
}

}  // namespace railwitness::joblog
