// The judgement of a job's log as text for people and as JSON.
#ifndef RAILWITNESS_PROBES_JOBLOG_REPORT_H_
#define RAILWITNESS_PROBES_JOBLOG_REPORT_H_

#include <string>

#include "probes/joblog/judge.h"

namespace railwitness::joblog {

std::string to_text(const JobLog& job, const Judgement& judgement);
std::string to_json(const JobLog& job, const Judgement& judgement);  // one line, one object

}  // namespace railwitness::joblog

#endif  // RAILWITNESS_PROBES_JOBLOG_REPORT_H_
