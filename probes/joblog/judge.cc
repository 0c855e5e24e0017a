#include "probes/joblog/judge.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "fmt/format.h"
#include "railwitness/base/edit_distance.h"

namespace railwitness::joblog {
namespace {

struct Word {
  Use use = Use::kUnknown;
  std::string how, way_out;
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// The banner without its version: "tap by stub, sidecar connected".
std::string said(const Process& process) {
  const size_t colon = process.banner.find(": ");
  return colon == std::string::npos ? process.banner : process.banner.substr(colon + 2);
}

bool is_ours_loaded(const Process& process) {
  return std::find(process.nets_loaded.begin(), process.nets_loaded.end(), "railwitness") != process.nets_loaded.end();
}

std::string net_forced(const Process& process) {
  return process.net_setting.empty() ? "" : fmt::format("NCCL_NET={} is set; unset it", process.net_setting);
}

// The tap is in, but NCCL goes by TCP: why?
Word judge_socket(const Process& process, const std::string& how) {
  const std::string blind = how + ", but NCCL goes by TCP sockets, where the tap sees nothing";
  if (const std::string forced = net_forced(process); !forced.empty()) return {Use::kBlind, blind, forced};
  if (process.no_ib_device) {
    return {Use::kBlind, blind,
            "NCCL found no InfiniBand or RoCE device: check /sys/class/infiniband and /dev/infiniband in the job's "
            "container, "
            "and NCCL_IB_HCA; for hosts that have none there is RAILWITNESS_MODE=ofi"};
  }
  if (process.ib_devices.empty()) {
    return {
        Use::kBlind, blind,
        "NCCL did not try its InfiniBand transport: NCCL_NET=Socket or NCCL_IB_DISABLE=1 is set most likely; unset it"};
  }
  return {Use::kBlind, blind, "NCCL has InfiniBand devices but did not take them: see its warnings"};
}

constexpr std::string_view kRestOfName = "libnccl-net-";

// What was NCCL_NET_PLUGIN? Up to 2.27 NCCL names the libraries that it tried instead, the setting first or
// "libnccl-net-" and it; "libnccl-net.so" if there was none.
std::optional<std::string> setting_of(const Process& process) {
  std::string name = process.plugin_setting.value_or("");
  if (!process.plugin_setting) {
    if (process.not_found.empty()) return std::nullopt;
    name = process.not_found.substr(0, process.not_found.find_first_of(" :"));
    if (name == "libnccl-net.so") return std::nullopt;
  }
  if (name.starts_with(kRestOfName) && name.ends_with(".so")) {
    name = name.substr(kRestOfName.size(), name.size() - kRestOfName.size() - 3);
  }
  return name;
}

// Up to 2.20, and 2.27.3, NCCL looks for "libnccl-net-/opt/lib/libnccl-net-railwitness.so.so" alone. 2.26 tries the
// path first and names only that too.
bool is_path_refused(const Process& process) {
  int minor = 0;
  if (!process.nccl_version.starts_with("2.")) return false;
  const char* begin = process.nccl_version.c_str() + 2;
  std::from_chars(begin, process.nccl_version.c_str() + process.nccl_version.size(), minor);
  return has(setting_of(process).value_or(""), "/") && (minor < 21 || process.nccl_version == "2.27.3");
}

// The plugin has spoken, and then NCCL had no net that it was allowed to take.
Word judge_failed(const Process& process, const std::string& how) {
  const std::string failed = fmt::format("NCCL had no net left and the job failed ({})", how);
  const std::string forced = process.net_setting.empty() ? "NCCL_NET" : "NCCL_NET=" + process.net_setting;
  if (!process.no_transport.empty()) {
    return {Use::kNotUsed,
            fmt::format("{}: what RAILWITNESS_MODE names can't be had: {}", failed, process.no_transport),
            fmt::format("mend that, or unset RAILWITNESS_MODE and {}", forced)};
  }
  if (has(how, "off by RAILWITNESS_MODE")) {
    return {Use::kNotUsed, failed,
            fmt::format("unset {}: in mode off the plugin has no devices, NCCL's transport must stay allowed", forced)};
  }
  if (how.starts_with("tap by") || has(how, "nothing tapped yet")) {
    return {
        Use::kNotUsed, failed,
        fmt::format("unset {}: in mode tap the plugin has no devices of its own, NCCL's transport must stay allowed",
                    forced)};
  }
  return {
      Use::kNotUsed, failed,
      fmt::format("{} or a config's netName names a net that is not there; NCCL_NET=railwitness, or unset it", forced)};
}

// 2.28.3 to 2.29.7: closed with the last communicator, its name forgotten.
Word judge_forgotten(const Process& process, const std::string& how) {
  return {
      Use::kNotUsed,
      fmt::format("{}; then NCCL closed the plugin with the process' last communicator and forgot its name, so that "
                  "later ones {}",
                  how, process.no_net_at_all ? "failed" : "use " + process.network),
      "NCCL_NET_PLUGIN_REF_COUNT=1; or a link libnccl-net.so to the plugin in its folder; or NCCL 2.30.3 and later"};
}

// The plugin has spoken, so it is in the process.
Word judge_banner(const Process& process) {
  const std::string how = said(process);
  const bool is_on_ours = is_same_word(process.network, "railwitness");
  const bool is_left = process.no_net_at_all ? is_on_ours || process.was_on_ours : !is_on_ours && process.was_on_ours;
  if (process.is_unloaded && is_left) return judge_forgotten(process, how);
  if (process.no_net_at_all) return judge_failed(process, how);
  if (has(how, "off by RAILWITNESS_MODE")) return {Use::kOff, how, "unset RAILWITNESS_MODE"};
  const std::string sidecar =
      has(how, "no sidecar") ? "start `railwitness sidecar` on that node, or mount the directory of its socket" : "";
  if (!process.no_transport.empty()) {
    return {
        Use::kNotUsed, "what RAILWITNESS_MODE names can't be had: " + process.no_transport,
        "mend that, or unset RAILWITNESS_MODE; NCCL_NET=railwitness makes it an error instead of another transport"};
  }
  if (is_on_ours) return {Use::kUsed, how, sidecar};
  if (has(how, "nothing tapped yet")) {
    return {Use::kNotUsed, how, "see the reason in it; NCCL's own transport runs unwitnessed"};
  }
  const bool is_tap = how.starts_with("tap by");
  if (!is_tap && !process.network.empty()) {
    return {Use::kNotUsed,
            fmt::format("{}, but NCCL {} {}", how, process.was_on_ours ? "later uses" : "uses", process.network),
            net_forced(process).empty() ? "NCCL_NET=railwitness makes that an error" : net_forced(process)};
  }
  if (process.network.empty() || is_same_word(process.network, "IB")) return {Use::kUsed, how, sidecar};
  if (is_same_word(process.network, "Socket")) return judge_socket(process, how);
  return {Use::kUnknown,
          fmt::format("{}; NCCL uses the plugin {}, and the log does not tell whether that goes by verbs", how,
                      process.network),
          "RAILWITNESS_MODE=chain:PLUGIN with NCCL_NET_PLUGIN=railwitness alone wraps it, whatever it goes by"};
}

Word judge_setting(const std::string& setting) {
  if (setting.empty()) {
    return {Use::kNotUsed, "NCCL_NET_PLUGIN is set but empty: NCCL loads no plugin", "NCCL_NET_PLUGIN=railwitness"};
  }
  if (is_same_word(setting, "none")) {
    return {Use::kNotUsed, "NCCL_NET_PLUGIN=none: NCCL loads no plugin", "NCCL_NET_PLUGIN=railwitness"};
  }
  const bool is_slip = edit_distance(setting, "railwitness") <= 2;
  if (is_slip && setting != "railwitness") {
    return {Use::kNotUsed, fmt::format("NCCL_NET_PLUGIN={} is no plugin; railwitness is meant?", setting),
            "NCCL_NET_PLUGIN=railwitness"};
  }
  if (!has(setting, "railwitness")) {
    return {Use::kNotUsed, fmt::format("NCCL_NET_PLUGIN={} is another plugin", setting),
            fmt::format("NCCL_NET_PLUGIN=railwitness and RAILWITNESS_MODE=chain:{} wrap it", setting)};
  }
  return {};
}

// Our library was looked for and did not come in.
Word judge_not_loaded(const Process& process) {
  const std::string failed = process.no_net_at_all ? ", so NCCL had no net left and the job failed" : "";
  if (is_path_refused(process)) {
    return {Use::kNotUsed, fmt::format("NCCL {} takes no path of a plugin{}", process.nccl_version, failed),
            "NCCL_NET_PLUGIN=railwitness, with the library's folder in the job's LD_LIBRARY_PATH"};
  }
  const std::string setting = setting_of(process).value_or("");
  std::string why = has(setting, "/") ? setting : process.not_found;
  if (!process.open_error.empty()) why += (why.empty() ? "" : ": ") + process.open_error;
  const bool is_there = has(why, ".so: ") && !has(why, "No such file");
  return {Use::kNotUsed, fmt::format("the library could not be loaded: {}{}", why, failed),
          is_there
              ? "the file is there, but the loader refuses it: install libnccl-net-railwitness.so again, one made "
                "for this machine"
              : "install libnccl-net-railwitness.so where the job's LD_LIBRARY_PATH looks, or name it with its full "
                "path (NCCL 2.21 and later, but 2.27.3), and let the job's user read it; in a container, mount it"};
}

// The plugin is silent, and the communicator failed: not for want of our library.
Word judge_failed_silence(const Process& process) {
  const std::string forced = process.net_setting.empty() ? "NCCL_NET" : "NCCL_NET=" + process.net_setting;
  if (!process.has_info) {
    return {
        Use::kNotUsed, "NCCL had no net left and the job failed",
        fmt::format("{} or a config's netName names a net that has no devices here, as railwitness in mode tap: unset "
                    "it; NCCL_DEBUG=INFO tells more",
                    forced)};
  }
  return {Use::kNotUsed, "NCCL had no net left and the job failed before railwitness could speak",
          fmt::format("{} or a config's netName names a net that has no devices here; unset it", forced)};
}

// The plugin is silent: why?
Word judge_silence(const Process& process) {
  const std::optional<std::string> setting = setting_of(process);
  const bool is_asked_for = has(setting.value_or(""), "railwitness") || has(process.open_error, "railwitness");
  const bool is_missed = !process.not_found.empty() || !process.open_error.empty();
  if (is_asked_for && is_missed && !is_ours_loaded(process)) return judge_not_loaded(process);
  if (!process.no_transport.empty()) {  // its warning is all that the log has of it
    return {Use::kNotUsed, "what RAILWITNESS_MODE names can't be had: " + process.no_transport,
            "mend that, or unset RAILWITNESS_MODE"};
  }
  if (process.no_net_at_all) return judge_failed_silence(process);
  if (!process.unsupported.empty() && has(process.unsupported, "railwitness")) {
    return {Use::kNotUsed,
            fmt::format("NCCL {} knows none of the tables of {}", process.nccl_version, process.unsupported),
            "take a railwitness that speaks this NCCL (`railwitness doctor` says which)"};
  }
  if (is_ours_loaded(process)) {
    const std::string forced = net_forced(process);
    return {Use::kNotUsed, "NCCL loaded the plugin but did not initialise it",
            forced.empty() ? "look for NCCL_NET or a config's netName that names another net" : forced};
  }
  if (setting) {
    Word word = judge_setting(*setting);
    if (word.use != Use::kUnknown) return word;
    if (process.lacks_symbol) {
      return {Use::kNotUsed, fmt::format("NCCL {} found none of its tables in {}", process.nccl_version, *setting),
              "take a railwitness that speaks this NCCL (`railwitness doctor` says which)"};
    }
    return {Use::kUnknown, "the plugin is asked for, but the log does not show what became of it",
            "run with NCCL_DEBUG=INFO"};
  }
  if (!process.network.empty() || !process.not_found.empty()) {
    return {
        Use::kNotUsed, "NCCL_NET_PLUGIN is not set in this process",
        "NCCL_NET_PLUGIN=railwitness in the environment of every rank (mpirun -x, srun --export, a container's env)"};
  }
  return {Use::kUnknown, "the log does not show NCCL's choice of a network", "run with NCCL_DEBUG=INFO"};
}

// How bad it is; the worst of the groups is the job's.
int badness(Use use) {
  switch (use) {
    case Use::kUsed:
      return 0;
    case Use::kOff:
      return 1;
    case Use::kUnknown:
      return 2;
    case Use::kBlind:
      return 3;
    case Use::kNotUsed:
      return 4;
  }
  return 4;
}

// "0-3,7"; ranks are sorted.
std::string ranges(const std::vector<int>& ranks) {
  std::string out;
  size_t written = 0;
  for (size_t i = 0; i < ranks.size(); ++written) {
    size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (written == 12) return out + ", …";
    out += out.empty() ? "" : ",";
    out += i == j ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]);
    i = j + 1;
  }
  return out;
}

// Also whether the log shows a part of the job only.
std::vector<std::string> notes_of(const JobLog& job, const std::vector<size_t>& judged, bool& is_partial) {
  std::vector<std::string> notes;
  std::map<std::string, std::vector<size_t>> networks, problems, profilers;
  std::vector<size_t> forgotten;
  int ranks = 0;
  std::set<int> seen;
  for (const size_t i : judged) {
    const Process& p = job.processes[i];
    if (!p.network.empty()) networks[p.network].push_back(i);
    if (!p.knob_problem.empty()) problems[p.knob_problem].push_back(i);
    if (!p.profiler.empty() && p.profiler != "railwitness" && !has(p.profiler, "ncclProfiler_v"))
      profilers[p.profiler].push_back(i);
    if (p.is_unloaded && has(p.not_found, "libnccl-net.so") && said(p).starts_with("tap by")) forgotten.push_back(i);
    ranks = std::max(ranks, p.ranks_in_comm);
    seen.insert(p.ranks.begin(), p.ranks.end());
  }
  if (networks.size() > 1) {
    std::string text =
        "ranks do not use the same network, which NCCL does not compare; such a job hangs or fails at connect:";
    for (const auto& [name, processes] : networks) text += fmt::format(" {} on {};", name, who(job, processes));
    text.pop_back();
    notes.push_back(text);
  }
  for (const auto& [text, processes] : problems) notes.push_back(fmt::format("{}: {}", who(job, processes), text));
  for (const auto& [name, processes] : profilers) {
    notes.push_back(
        fmt::format("profiler {} has NCCL's one profiler slot on {}; communicators are not named and late "
                    "attach is not possible there",
                    name, who(job, processes)));
  }
  if (!forgotten.empty()) {
    notes.push_back(
        fmt::format("NCCL closed the plugin with a process' last communicator and forgot its name: the tap stays, "
                    "but later communicators are not named on {}; NCCL_NET_PLUGIN_REF_COUNT=1 keeps it",
                    who(job, forgotten)));
  }
  const bool misses_ranks = !seen.empty() && static_cast<int>(seen.size()) < ranks;
  is_partial = misses_ranks || job.processes_left_out > 0;
  if (misses_ranks) {
    notes.push_back(fmt::format("the log shows {} of {} ranks; give all files (NCCL_DEBUG_FILE writes one a process)",
                                seen.size(), ranks));
  }
  if (job.processes_left_out > 0) notes.push_back("more processes than can be kept; some were left out");
  return notes;
}

// A line that another rank's cut into begins with the rest of a word: "chanvm:12:12 [0]" is host vm. Such a process has
// the pid of another whose host is the end of its own. Where other lines have a host, one without was cut before it.
bool is_rest_of_a_line(const JobLog& job, const Process& process) {
  return std::any_of(job.processes.begin(), job.processes.end(), [&](const Process& other) {
    return (process.host.empty() && !other.host.empty()) ||
           (other.pid == process.pid && other.host.size() < process.host.size() && !other.host.empty() &&
            process.host.ends_with(other.host));
  });
}

}  // namespace

std::string_view word(Use use) {
  switch (use) {
    case Use::kUsed:
      return "used";
    case Use::kBlind:
      return "blind";
    case Use::kNotUsed:
      return "not used";
    case Use::kOff:
      return "off";
    case Use::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string who(const JobLog& job, const std::vector<size_t>& processes) {
  std::vector<int> ranks;
  int of = 0;
  for (const size_t i : processes) {
    ranks.insert(ranks.end(), job.processes[i].ranks.begin(), job.processes[i].ranks.end());
    of = std::max(of, job.processes[i].ranks_in_comm);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (!ranks.empty()) return fmt::format("{} of {} ranks ({})", ranks.size(), of, ranges(ranks));
  const Process& first = job.processes[processes[0]];
  const std::string name =
      first.host.empty() ? "" : fmt::format(" ({}:{}{})", first.host, first.pid, processes.size() > 1 ? ", …" : "");
  return fmt::format("{} process{}{}", processes.size(), processes.size() == 1 ? "" : "es", name);
}

Judgement judge(const JobLog& job) {
  Judgement out;
  std::map<std::tuple<Use, std::string, std::string, std::string>, size_t> index;
  std::set<std::string> versions;
  std::vector<size_t> judged;
  if (!job.nccl_version.empty()) versions.insert(job.nccl_version);
  for (size_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    if (is_rest_of_a_line(job, process)) continue;
    judged.push_back(i);
    if (!process.nccl_version.empty()) versions.insert(process.nccl_version);
    const Word word = process.banner.empty() ? judge_silence(process) : judge_banner(process);
    const auto [at, is_new] =
        index.try_emplace(std::tuple(word.use, word.how, process.network, word.way_out), out.groups.size());
    if (is_new) out.groups.push_back({word.use, word.how, process.network, word.way_out, {}});
    out.groups[at->second].processes.push_back(i);
  }
  std::stable_sort(out.groups.begin(), out.groups.end(),
                   [](const Group& a, const Group& b) { return a.processes.size() > b.processes.size(); });
  if (!out.groups.empty()) {
    out.use = std::max_element(out.groups.begin(), out.groups.end(), [](const Group& a, const Group& b) {
                return badness(a.use) < badness(b.use);
              })->use;
  }
  for (const std::string& version : versions) out.nccl_version += (out.nccl_version.empty() ? "" : ", ") + version;
  out.notes = notes_of(job, judged, out.is_partial);
  if (out.groups.empty()) {
    out.notes.push_back(job.nccl_lines == 0 ? "no line of NCCL in it; run with NCCL_DEBUG=INFO"
                                            : "only NCCL's version is in it; run with NCCL_DEBUG=INFO");
  }
  return out;
}

}  // namespace railwitness::joblog
