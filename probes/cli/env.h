// `railwitness env`: every variable with its value, what is misspelt, and NCCL's variables that matter to us.
#ifndef RAILWITNESS_PROBES_CLI_ENV_H_
#define RAILWITNESS_PROBES_CLI_ENV_H_

#include <optional>
#include <string>

#include "probes/doctor/environment.h"

namespace railwitness::cli {

struct EnvOptions {
  std::optional<int> pid;  // of another process; otherwise our own environment
  bool json = false;
  bool markdown = false;  // docs/knobs.md
};

struct Answer;
Answer run_env(const EnvOptions& options);

// `whose` is a word for people: "this process".
Answer show_environment(const doctor::Environment& environment, const std::string& whose, bool json);
std::string knobs_markdown();

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_ENV_H_
