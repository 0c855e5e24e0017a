#include "plugin/ofi/ofi.h"

#include "plugin/ofi/library.h"

#include <mutex>

namespace railwitness::ofi {

engine::Transport* open(const char** reason) {
  static constinit std::mutex once;
  static constinit Library library{};
  static constinit const char* why = nullptr;
  const std::lock_guard lock(once);
  if (!why) {
    const Status status = open_library(&library);
    why = status.is_ok() ? "mode ofi is not finished in this build; leave RAILWITNESS_MODE at tap" : status.what();
  }
  *reason = why;
  return nullptr;
}

}  // namespace railwitness::ofi
