#include "probes/cli/run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fmt/format.h"
#include "probes/cli/arguments.h"
#include "probes/cli/correlate.h"
#include "probes/cli/doctor.h"
#include "probes/cli/env.h"
#include "probes/cli/fabric.h"
#include "probes/cli/ls.h"
#include "probes/cli/probe.h"
#include "probes/cli/variables.h"
#include "probes/sidecar/sidecar.h"
#include "railwitness/abi/segment.h"

namespace railwitness::cli {
namespace {

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int) {
  stop_asked = 1;
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Those that end in order when they are told to stop; the others simply end.
bool ends_in_order(const Command& command) {
  return std::holds_alternative<sidecar::Options>(command) || std::holds_alternative<CorrelateOptions>(command) ||
         std::holds_alternative<ProbeOptions>(command);
}

// Where one of the standard descriptors is closed, the next socket or file would get its number, and our lines. Opened the
// wrong way round, so that its use fails as before.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool should_stop() {
  return stop_asked != 0;
}

struct Runner {
  int output_errno = 0;  // a long text fails in fputs, and a later flush knows nothing of it

  int operator()(const Answer& answer) {
    if (std::fputs(answer.out.c_str(), stdout) == EOF) output_errno = errno;
    std::fputs(answer.err.c_str(), stderr);
    return answer.exit_code;
  }
  int operator()(const sidecar::Options& options) const {
    const absl::Status status = sidecar::run(options, should_stop);
    if (status.ok()) return kExitOk;
    fmt::print(stderr, "railwitness sidecar: {}\n", std::string(status.message()));
    return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitCannot;
  }
  int operator()(const CorrelateOptions& options) const { return run_correlate(options, Streams{}, should_stop); }
  int operator()(const LsOptions& options) { return (*this)(run_ls(options)); }
  int operator()(const EnvOptions& options) { return (*this)(run_env(options)); }
  int operator()(const DoctorOptions& options) { return (*this)(run_doctor(options)); }
  int operator()(const FabricOptions& options) { return (*this)(run_fabric(options)); }
  int operator()(const PortsOptions& options) { return (*this)(run_ports(options)); }
  int operator()(const ProbeOptions& options) const { return run_probe(options, Streams{}, should_stop); }
  int operator()(const VersionOptions& options) const {
    if (options.json) {
      fmt::print("{{\"version\":\"{}\",\"segment_major\":{},\"segment_minor\":{}}}\n", RAILWITNESS_VERSION,
                 RAILWITNESS_ABI_MAJOR, RAILWITNESS_ABI_MINOR);
    } else {
      fmt::print("railwitness {}, segment layout {}.{}\n", RAILWITNESS_VERSION, RAILWITNESS_ABI_MAJOR,
                 RAILWITNESS_ABI_MINOR);
    }
    return kExitOk;
  }
};

// `env` and the doctor of a host say it themselves, in their own form.
bool tells_variables(const Command& command) {
  const auto* doctor = std::get_if<DoctorOptions>(&command);
  return std::holds_alternative<Answer>(command) || std::holds_alternative<EnvOptions>(command) ||
         (doctor != nullptr && doctor->logs.empty());
}

// A name that is not known may be a later version's, so it ends nothing; but whoever misspelt one must hear of it.
void warn_of_variables(const std::string& name) {
  for (const std::string& problem : unknown_variables(environ)) {
    fmt::print(stderr, "railwitness {}: warning: {}\n", name, problem);
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  hold_standard_descriptors();
  signal(SIGPIPE, SIG_IGN);  // a reader that goes away is seen by the write
  const Command command = parse_arguments(arguments);
  if (ends_in_order(command)) install_handlers();
  if (!tells_variables(command)) warn_of_variables(arguments[0]);
  Runner runner;
  const int code = std::visit(runner, command);
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const int error = runner.output_errno != 0 ? runner.output_errno : errno;
  if (error == EPIPE) return code;  // who read has read enough
  fmt::print(stderr, "railwitness: standard output cannot be written: {}\n", std::strerror(error));
  return kExitCannot;
}

}  // namespace railwitness::cli
