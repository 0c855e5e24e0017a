#include "probes/joblog/report.h"

#include <algorithm>

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "probes/model/json_text.h"

namespace railwitness::joblog {
namespace {

std::string_view whole_word(const Judgement& judgement) {
  switch (judgement.use) {
    case Use::kUsed:
      return judgement.is_partial ? "railwitness is used, as far as the log shows" : "railwitness is used";
    case Use::kBlind:
      return "railwitness is loaded, but does not see the traffic of every rank";
    case Use::kNotUsed:
      return "railwitness is NOT used by every rank";
    case Use::kOff:
      return "railwitness is switched off";
    case Use::kUnknown:
      return "the log does not say whether railwitness is used";
  }
  return "";
}

}  // namespace

std::string to_text(const JobLog& job, const Judgement& judgement) {
  const bool none_uses_it =
      judgement.use == Use::kNotUsed && std::all_of(judgement.groups.begin(), judgement.groups.end(),
                                                    [](const Group& group) { return group.use == Use::kNotUsed; });
  std::string out = fmt::format("{}{}\n", none_uses_it ? "railwitness is NOT used" : whole_word(judgement),
                                judgement.nccl_version.empty() ? "" : ", NCCL " + judgement.nccl_version);
  for (const Group& group : judgement.groups) {
    out += fmt::format("  {:<9} {}{}\n", word(group.use), who(job, group.processes),
                       group.network.empty() ? "" : ", network " + group.network);
    if (!group.how.empty()) out += fmt::format("            {}\n", group.how);
    if (!group.way_out.empty()) out += fmt::format("            way out: {}\n", group.way_out);
  }
  for (const std::string& note : judgement.notes) out += "  note: " + note + "\n";
  return out;
}

std::string to_json(const JobLog& job, const Judgement& judgement) {
  nlohmann::ordered_json out;
  out["type"] = "job_log";
  out["use"] = word(judgement.use);
  out["nccl_version"] = judgement.nccl_version;
  out["lines"] = job.lines;
  out["groups"] = nlohmann::ordered_json::array();
  for (const Group& group : judgement.groups) {
    nlohmann::ordered_json g;
    g["use"] = word(group.use);
    g["how"] = group.how;
    g["network"] = group.network;
    g["way_out"] = group.way_out;
    g["who"] = who(job, group.processes);
    g["processes"] = nlohmann::ordered_json::array();
    for (const size_t i : group.processes) {
      const Process& process = job.processes[i];
      g["processes"].push_back({{"host", process.host},
                                {"pid", process.pid},
                                {"ranks", process.ranks},
                                {"ranks_in_comm", process.ranks_in_comm},
                                {"first_warning", process.first_warning}});
    }
    out["groups"].push_back(std::move(g));
  }
  out["notes"] = judgement.notes;
  return model::dump(out);
}

}  // namespace railwitness::joblog
