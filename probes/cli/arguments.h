// Words of the command line to options. The only file that sees CLI11; nothing is run here.
#ifndef RAILWITNESS_PROBES_CLI_ARGUMENTS_H_
#define RAILWITNESS_PROBES_CLI_ARGUMENTS_H_

#include <string>
#include <variant>
#include <vector>

#include "probes/cli/correlate.h"
#include "probes/cli/doctor.h"
#include "probes/cli/env.h"
#include "probes/cli/fabric.h"
#include "probes/cli/ls.h"
#include "probes/cli/probe.h"
#include "probes/sidecar/sidecar.h"

namespace railwitness::cli {

// 0 done, nothing found; 1 something was found; 2 the command line is; 3 cannot start or reach; 4 too little
// was heard to say that nothing is wrong.
enum ExitCode { kExitOk = 0, kExitFinding = 1, kExitUsage = 2, kExitCannot = 3, kExitBlind = 4 };

struct VersionOptions {
  bool json = false;
};

// Nothing to run: `out` and `err` are to be printed, and `exit_code` is the program's.
struct Answer {
  int exit_code = kExitOk;
  std::string out, err;
};

using Command = std::variant<Answer, sidecar::Options, CorrelateOptions, LsOptions, EnvOptions, DoctorOptions,
                             FabricOptions, PortsOptions, ProbeOptions, VersionOptions>;

// `arguments` without the program's name. Environment variables fill what the command line does not say.
Command parse_arguments(const std::vector<std::string>& arguments);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_ARGUMENTS_H_
