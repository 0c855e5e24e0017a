// The environment of a process as NCCL will see it: its variables, and what NCCL's own files add to them.
#ifndef RAILWITNESS_PROBES_DOCTOR_ENVIRONMENT_H_
#define RAILWITNESS_PROBES_DOCTOR_ENVIRONMENT_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace railwitness::doctor {

struct Setting {
  std::string name, value;
  std::string origin;  // "environment" or the path of a file
};

struct Environment {
  std::vector<Setting> settings;  // a name once; what is first wins, as with NCCL
  const Setting* find(std::string_view name) const;
  std::string value(std::string_view name) const;  // empty if unset
};

// Entries "NAME=value", and NCCL's files: $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf, which add names
// that are not set (param.cc of NCCL 2.18 and later). `root` stands before the paths, for tests.
Environment make_environment(const std::vector<std::string>& entries, const std::string& root = "");

Environment own_environment();
// /proc/PID/environ: what the process was started with. The error names the way out.
absl::StatusOr<Environment> environment_of(pid_t pid);

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_ENVIRONMENT_H_
