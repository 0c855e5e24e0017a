// `railwitness ls`: what the sidecar of this node sees, as tables or JSON.
#ifndef RAILWITNESS_PROBES_CLI_LS_H_
#define RAILWITNESS_PROBES_CLI_LS_H_

#include <string>

#include "absl/status/statusor.h"
#include "probes/model/facts.h"

namespace railwitness::cli {

inline constexpr char kDefaultControlSocket[] = "/run/railwitness/control.sock";

struct LsOptions {
  std::string control_socket = kDefaultControlSocket;
  bool json = false;
  bool all = false;
};

// All that the sidecar sends, within two seconds and 4 MiB. The error says which socket, and how to start a sidecar.
absl::StatusOr<std::string> read_control_socket(const std::string& path);

std::string tables(const model::NodeFacts& facts, bool all);

struct Answer;
Answer run_ls(const LsOptions& options);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_LS_H_
