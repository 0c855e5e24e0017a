// The service manager that started this daemon, where it is systemd: told when we serve, and keeper of the segments'
// descriptors over our restarts (sd_notify(3) FDSTORE=1, FileDescriptorStoreMax= of systemd.service(5)).
//
// One thread. A segment that is kept can be read by the next sidecar at once, before its process has come over, and after
// the process has ended. Without systemd nothing is kept; every call is then a no-op. Calls may wait for systemd to take
// a message, as every sd_notify() does.
#ifndef RAILWITNESS_PROBES_SIDECAR_SERVICE_MANAGER_H_
#define RAILWITNESS_PROBES_SIDECAR_SERVICE_MANAGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/ring/segment.h"

namespace railwitness::sidecar {

// Whose a segment is: what SO_PEERCRED and /proc said when it was handed out.
struct SegmentOwner {
  int32_t pid = 0;
  uint64_t start_time = 0;  // /proc/PID/stat field 22
  uint32_t uid = 0;
  std::string job;  // filtered

  bool operator==(const SegmentOwner&) const = default;
};

struct StoredSegment {
  SegmentOwner owner;
  std::string name;  // in the store
  ring::Segment segment;
};

// All that the next sidecar must know of a segment, as the name of its descriptor: printable, no colon, at most 255 bytes.
std::string stored_name(const SegmentOwner& owner, const ring::Segment& segment);
// The same without a descriptor; nothing: not a name that this version gives.
std::optional<StoredSegment> read_stored_name(const std::string& name);

class ServiceManager {
 public:
  ServiceManager();  // looks at NOTIFY_SOCKET

  bool keeps() const { return keeps_; }
  void tell_ready() const;
  // What the sidecar before left here, in the order in which it was handed out. Once. What cannot be used (of another
  // version, not a segment) leaves the store; `useless` counts it.
  std::vector<StoredSegment> take_stored(size_t& useless) const;

  // The name under which it is kept; empty: it is not.
  std::string keep(const SegmentOwner& owner, const ring::Segment& segment) const;
  void forget(const std::string& name) const;

 private:
  bool keeps_ = false;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SERVICE_MANAGER_H_
