#include "plugin/ofi/greeting.h"

#include "plugin/ofi/wait.h"

#include "railwitness/base/version.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace railwitness::ofi {

Terms own_terms(const Devices& devices, const Device& device, uint64_t cookie) {
  Terms t{};
  t.host_id = devices.host_id;
  t.cookie = cookie;
  t.pid = static_cast<uint32_t>(getpid());
  t.libfabric = devices.library.version();
  t.build = kVersion;
  t.wire_version = kWireVersion;
  t.max_group = kMaxReceives;
  t.max_requests = kMaxRequests;
  snprintf(t.provider, sizeof t.provider, "%.32s", devices.provider);
  snprintf(t.device, sizeof t.device, "%.16s", device.name);
  return t;
}

Frame make_frame(Kind kind, const Terms& mine) {
  Frame f{};
  f.magic = kFrameMagic;
  f.wire_version = mine.wire_version;
  f.kind = static_cast<uint16_t>(kind);
  f.bytes = sizeof f;
  f.cookie = mine.cookie;
  f.host_id = mine.host_id;
  f.pid = mine.pid;
  f.max_group = mine.max_group;
  f.max_requests = static_cast<uint16_t>(mine.max_requests);
  f.libfabric = mine.libfabric;
  f.build = mine.build;
  memcpy(f.provider, mine.provider, sizeof f.provider);
  memcpy(f.device, mine.device, sizeof f.device);
  return f;
}

Frame make_refusal(const Terms& mine, const char* text) {
  Frame f = make_frame(Kind::kRefusal, mine);
  snprintf(f.text, sizeof f.text, "%s", text);
  seal(&f);
  return f;
}

void note_differences(const Agreement& agreement, const Terms& mine, const Terms& theirs, const sockaddr_storage& peer) {
  static constinit std::atomic<bool> build_said{false}, libfabric_said{false};
  const AddressText address(peer);
  if (agreement.other_build && !build_said.exchange(true))
    say(nccl::kLogWarn, "%s: railwitness %u.%u.%u here, %u.%u.%u at %s; both speak wire version %d, so the job goes on "
        "(said once)", mine.device, mine.build >> 16, mine.build >> 8 & 255, mine.build & 255, theirs.build >> 16,
        theirs.build >> 8 & 255, theirs.build & 255, address.text, mine.wire_version);
  if (agreement.other_libfabric && !libfabric_said.exchange(true))
    say(nccl::kLogWarn, "%s: libfabric %u.%u here, %u.%u at %s, provider %s on both; the job goes on (said once)",
        mine.device, mine.libfabric >> 16, mine.libfabric & 0xffff, theirs.libfabric >> 16, theirs.libfabric & 0xffff,
        address.text, mine.provider);
  if (mine.max_group != agreement.max_group || static_cast<int>(mine.max_requests) != agreement.max_requests)
    say(nccl::kLogInfo, "%s: agreed with %s on groups of %d (here %d) and %d receives under way (here %u)", mine.device,
        address.text, agreement.max_group, mine.max_group, agreement.max_requests, mine.max_requests);
}

const char* hint_of_shortage() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int error = errno;
  if (fd >= 0) close(fd);
  return fd < 0 && (error == EMFILE || error == ENFILE) ? "; no file can be opened here any more: raise ulimit -n" : "";
}

void Deadline::start(uint32_t timeout_s) {
  if (is_started_) return;
  is_started_ = true;
  started_ms_ = coarse_clock_ms();
  timeout_ms_ = timeout_s > 1'000'000 ? 0 : timeout_s * 1000;
}

bool Deadline::is_over() const { return timeout_ms_ > 0 && coarse_clock_ms() - started_ms_ > timeout_ms_; }

}  // namespace railwitness::ofi
