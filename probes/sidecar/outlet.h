// Lines to a descriptor whose reader may stop reading (a pager, a pipe, a terminal held with Ctrl-S, a stuck journal): a thread
// of the outlet writes, so whoever speaks never waits. What nobody reads is kept up to kMostBytes; later lines are lost.
#ifndef RAILWITNESS_PROBES_SIDECAR_OUTLET_H_
#define RAILWITNESS_PROBES_SIDECAR_OUTLET_H_

#include <cstddef>
#include <memory>
#include <string>

namespace railwitness::sidecar {

// Any thread.
class Outlet {
 public:
  explicit Outlet(int fd);  // which stays the caller's, and open until the end of the process
  // Waits kEndWithinMs for what is not written yet; then that is lost, and its thread left where it is stuck.
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  void say(std::string line);  // with its end of line
  bool is_losing() const;      // the line said last was lost
  int error() const;           // errno of the first write that failed, 0: none; later ones are tried all the same

  static constexpr size_t kMostBytes = size_t{1} << 20;
  static constexpr int kEndWithinMs = 1000;

 private:
  struct Shared;
  static void write_on(const std::shared_ptr<Shared>& shared, int fd);
  std::shared_ptr<Shared> shared_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_OUTLET_H_
