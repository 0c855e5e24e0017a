// `railwitness doctor`: what works on this host and what does not; with files, what a job's log says of the plugin.
#ifndef RAILWITNESS_PROBES_CLI_DOCTOR_H_
#define RAILWITNESS_PROBES_CLI_DOCTOR_H_

#include <string>
#include <vector>

#include "probes/cli/ls.h"

namespace railwitness::cli {

struct DoctorOptions {
  std::vector<std::string> logs;  // files of one job; "-" is standard input
  bool json = false;
  std::string nccl, plugin;  // paths of the libraries; empty: where the loader looks
  std::string socket, control_socket = kDefaultControlSocket, lldp_command;
};

struct Answer;
Answer run_doctor(const DoctorOptions& options);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_DOCTOR_H_
