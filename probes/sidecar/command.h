// A program that is run for its output while the loop goes on. One thread; nothing here waits.
#ifndef RAILWITNESS_PROBES_SIDECAR_COMMAND_H_
#define RAILWITNESS_PROBES_SIDECAR_COMMAND_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/ring/unique_fd.h"

namespace railwitness::sidecar {

class Command {
 public:
  // Words are separated by blanks; there is no shell.
  explicit Command(const std::string& line);
  ~Command();  // kills what still runs
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  bool running() const { return pid_ > 0; }
  int poll_fd() const { return output_.get(); }  // -1 when there is nothing to wait for
  absl::Status start(int64_t now_mono_ns);
  // Its standard output once it ended well, or why not, with the last line of its standard error; nothing while it runs.
  std::optional<absl::StatusOr<std::string>> poll(int64_t now_mono_ns);

  static constexpr int64_t kTimeoutNs = 5'000'000'000;
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr size_t kMaxErrorBytes = 1024;

 private:
  void read_output();
  void read_errors();
  void stop(const std::string& problem);

  std::vector<std::string> words_;
  pid_t pid_ = -1;
  ring::UniqueFd output_, errors_;
  std::string bytes_;
  std::string error_bytes_;  // the last kMaxErrorBytes
  std::string problem_;  // why it was killed
  int64_t started_mono_ns_ = 0;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_COMMAND_H_
