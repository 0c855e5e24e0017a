// Was the plugin used, how, by which ranks, and if not why and what is to be done. Pure.
#ifndef RAILWITNESS_PROBES_JOBLOG_JUDGE_H_
#define RAILWITNESS_PROBES_JOBLOG_JUDGE_H_

#include <string>
#include <vector>

#include "probes/joblog/job_log.h"

namespace railwitness::joblog {

enum class Use { kUsed, kBlind, kNotUsed, kOff, kUnknown };

std::string_view word(
    Use use);  // "used", "blind" (loaded, but this traffic does not pass it), "not used", "off", "unknown"

// Processes of which the same can be said.
struct Group {
  Use use = Use::kUnknown;
  std::string how;                // what the plugin does there, or why it is not used; may be empty
  std::string network;            // NCCL's
  std::string way_out;            // empty if there is nothing to do
  std::vector<size_t> processes;  // indices into JobLog::processes
};

struct Judgement {
  Use use = Use::kUnknown;         // of the whole job as far as the log shows it: the worst of its groups
  bool is_partial = false;         // ranks or processes are missing in the log; a note says which
  std::vector<Group> groups;       // the largest first
  std::string nccl_version;        // "2.28.9"; several: "2.27.7, 2.28.9"
  std::vector<std::string> notes;  // mixed networks, misspelt variables, what the log does not show
};

Judgement judge(const JobLog& job);

// "63 of 64 ranks (0-62)"; without ranks in the log "3 processes (host1:42 ...)".
std::string who(const JobLog& job, const std::vector<size_t>& processes);

}  // namespace railwitness::joblog

#endif  // RAILWITNESS_PROBES_JOBLOG_JUDGE_H_
