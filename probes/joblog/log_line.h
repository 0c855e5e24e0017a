// One line of a job's log to what NCCL said in it. Pure; any bytes.
//
// NCCL writes "host:pid:tid [device] NCCL INFO text", before it perhaps a time or what torchrun, mpirun and srun put
// there. Ranks that write into one file cut each other's lines, so one line may hold the beginnings of several
// messages.
#ifndef RAILWITNESS_PROBES_JOBLOG_LOG_LINE_H_
#define RAILWITNESS_PROBES_JOBLOG_LOG_LINE_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace railwitness::joblog {

struct Message {
  std::string_view host;  // empty: the log has no host:pid:tid
  int64_t pid = 0;
  bool is_warning = false;
  std::string_view text;  // after INFO or WARN
};

std::vector<Message> split_line(std::string_view line);

}  // namespace railwitness::joblog

#endif  // RAILWITNESS_PROBES_JOBLOG_LOG_LINE_H_
