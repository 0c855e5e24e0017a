// The job's side of the hand-over (docs/segment-abi.md, "Hand-over"): connect, say hello, take a segment. One thread.
#ifndef RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_
#define RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_

#include "plugin/witness/knobs.h"
#include "plugin/witness/memory.h"
#include "railwitness/base/status.h"

#include <cstdint>

namespace railwitness::witness {

// The job may close any descriptor (closefrom, a daemon's loop) and get its number for something of its own. So the link
// looks before each use whether the number still leads to its socket, and lets go of one that does not. What remains is the
// moment between the look and the use; and the number is one that a job hardly ever gets: not among its lowest.
class SidecarLink {
 public:
  explicit constexpr SidecarLink() = default;

  // Nothing here blocks longer than asked for.
  Status connect(const Knobs& knobs);
  // Waits for the welcome and maps what came with it. Null with an ok status: nothing has come yet.
  Memory* await_memory(int timeout_ms, Status& status);

  // Whether this sidecar knows further segments; one that does not hangs up when it is asked.
  bool may_ask() const { return minor_ >= 3; }
  // False: the sidecar does not read what we say. From any thread, as long as nobody closes the link meanwhile.
  bool ask_for_part(uint32_t number) const;
  enum class News { kNone, kEnd, kPart, kRefused };
  // Waits up to `timeout_ms`. kPart: the further segment that was asked for is mapped in `part`. kEnd: the sidecar has
  // closed its end, or gave what could harm.
  News await_news(int timeout_ms, Part& part) const;
  // Lays the socket aside, and with it what came over it and is no segment: closing a stranger's descriptor may take for
  // ever (a socket that lingers, a file of a FUSE server that is stopped), and so may that of a socket with one unread in it.
  void close();
  // Closes what was laid aside. From the helper thread alone: nothing of the job waits for that.
  void sweep();
  void close_copy();  // in a forked child

  bool is_open() const { return fd_ >= 0; }

 private:
  Status open_socket();
  bool is_ours() const;
  void lay_aside(int fd);

  int fd_ = -1;
  uint64_t inode_ = 0;  // of the socket
  uint16_t minor_ = 0;  // of the sidecar
  static constexpr int kMostAside = 32;  // an attempt leaves nine at most, and the helper sweeps after each
  int aside_[kMostAside] = {};
  int aside_count_ = 0;
};

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_HANDOVER_H_
