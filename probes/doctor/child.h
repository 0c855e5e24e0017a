// Runs a question in a child process and brings back its answer: a library that crashes or hangs at load takes only the
// child with it.
#ifndef RAILWITNESS_PROBES_DOCTOR_CHILD_H_
#define RAILWITNESS_PROBES_DOCTOR_CHILD_H_

#include <string>

#include "absl/status/statusor.h"

namespace railwitness::doctor {

// At most 64 KiB of answer within `timeout_ms`. The error says how the child ended.
absl::StatusOr<std::string> ask_child(std::string (*question)(const std::string&), const std::string& argument,
                                      int timeout_ms = 10'000);

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_CHILD_H_
