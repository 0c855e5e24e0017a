// The log of a job, read line by line: what each process said about NCCL, its net and us. Pure; any bytes; bounded.
#ifndef RAILWITNESS_PROBES_JOBLOG_JOB_LOG_H_
#define RAILWITNESS_PROBES_JOBLOG_JOB_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railwitness::joblog {

// What the log shows of one process. Texts are cut to 256 bytes and printable.
struct Process {
  std::string host;  // empty if the log has no host:pid:tid
  int64_t pid = 0;
  std::vector<int> ranks;  // in the largest communicator; several if one process drives several GPUs
  int ranks_in_comm = 0;
  std::string nccl_version;                   // "2.28.9"
  std::optional<std::string> plugin_setting;  // NCCL_NET_PLUGIN, as far as NCCL tells it; may be empty
  std::string net_setting, profiler_setting;
  std::string not_found, open_error, unsupported;  // why a library was not loaded
  bool lacks_symbol = false;                       // no table of some version; NCCL may have taken an older one
  std::vector<std::string> nets_loaded;            // by name
  bool no_net_at_all = false;                      // the communicator failed
  std::string network;                             // the last one used
  bool was_on_ours = false;                        // an earlier communicator used railwitness
  bool is_unloaded = false;                        // and NCCL has closed it
  bool no_ib_device = false;
  std::string ib_devices;
  std::string profiler;
  std::string banner;        // ours, without "railwitness "
  std::string knob_problem;  // ours
  std::string no_transport;  // ours: why the mode that was asked for can't be had
  std::string first_warning;
  bool has_info = false;  // anything at level INFO
};

struct JobLog {
  std::vector<Process> processes;  // by host and pid
  std::string nccl_version;        // told without a process (NCCL_DEBUG=VERSION)
  uint64_t lines = 0, nccl_lines = 0;
  uint64_t processes_left_out = 0;  // messages of processes beyond kMaxProcesses
};

class Reader {
 public:
  static constexpr size_t kMaxProcesses = 65'536;
  static constexpr size_t kMaxLineBytes = 8192;  // the rest of a longer line is not looked at

  void feed(std::string_view bytes);  // any cut of the log, in order
  JobLog finish();

 private:
  void line(std::string_view text);
  Process* process_of(std::string_view host, int64_t pid);

  std::string rest_;  // of a line whose end has not come yet
  bool has_rest_ = false;
  std::map<std::pair<std::string, int64_t>, Process, std::less<>> processes_;
  JobLog job_;
};

}  // namespace railwitness::joblog

#endif  // RAILWITNESS_PROBES_JOBLOG_JOB_LOG_H_
