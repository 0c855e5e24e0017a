#include "probes/sidecar/service_manager.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace railwitness::sidecar {
namespace {

constexpr size_t kFields = 7;  // and the job, which may hold dots

// Names of another layout of segments differ here.
std::string prefix() { return absl::StrCat("rw", RAILWITNESS_ABI_MAJOR); }

// A sealed file of the right size: only then can the job that maps it not shorten it under a reader.
bool is_segment(int fd, const ring::Geometry& geometry) {
  struct stat file{};
  if (fstat(fd, &file) != 0 || file.st_size != static_cast<off_t>(geometry.segment_bytes)) return false;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  return (fcntl(fd, F_GET_SEALS) & kSeals) == kSeals;
}

}  // namespace

std::string stored_name(const SegmentOwner& owner, const ring::Segment& segment) {
  return absl::StrCat(prefix(), ".", owner.pid, ".", owner.start_time, ".", owner.uid, ".", segment.part, ".",
                      segment.generation, ".", segment.created_mono_ns, ".",
                      absl::StrReplaceAll(owner.job, {{":", "+"}}));  // which no job has
}

std::optional<StoredSegment> read_stored_name(const std::string& name) {
  const std::vector<std::string> fields = absl::StrSplit(name, absl::MaxSplits('.', kFields));
  StoredSegment stored;
  SegmentOwner& owner = stored.owner;
  ring::Segment& segment = stored.segment;
  if (fields.size() != kFields + 1 || fields[0] != prefix()) return std::nullopt;
  if (!absl::SimpleAtoi(fields[1], &owner.pid) || !absl::SimpleAtoi(fields[2], &owner.start_time) ||
      !absl::SimpleAtoi(fields[3], &owner.uid) || !absl::SimpleAtoi(fields[4], &segment.part) ||
      !absl::SimpleAtoi(fields[5], &segment.generation) || !absl::SimpleAtoi(fields[6], &segment.created_mono_ns)) {
    return std::nullopt;
  }
  if (owner.pid <= 0 || owner.start_time == 0 || segment.part >= RAILWITNESS_PARTS) return std::nullopt;
  owner.job = absl::StrReplaceAll(fields[7], {{"+", ":"}});
  segment.geometry = ring::geometry(ring::capacities_of(segment.part));
  stored.name = name;
  return stored;
}

ServiceManager::ServiceManager() : keeps_(std::getenv("NOTIFY_SOCKET") != nullptr) {}

void ServiceManager::tell_ready() const { sd_notify(0, "READY=1"); }

std::vector<StoredSegment> ServiceManager::take_stored(size_t& useless) const {
  useless = 0;
  std::vector<StoredSegment> all;
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    ring::UniqueFd fd(SD_LISTEN_FDS_START + i);
    std::optional<StoredSegment> stored = read_stored_name(names[i]);
    if (stored && is_segment(fd.get(), stored->segment.geometry)) {
      stored->segment.fd = std::move(fd);
      all.push_back(*std::move(stored));
    } else {
      ++useless;
      forget(names[i]);
    }
    std::free(names[i]);
  }
  std::free(names);
  std::stable_sort(all.begin(), all.end(), [](const StoredSegment& a, const StoredSegment& b) {
    return a.segment.created_mono_ns < b.segment.created_mono_ns;
  });
  return all;
}

std::string ServiceManager::keep(const SegmentOwner& owner, const ring::Segment& segment) const {
  if (!keeps_ || owner.pid <= 0 || owner.start_time == 0) return {};  // nobody could say later whose it is
  std::string name = stored_name(owner, segment);
  const int fd = segment.fd.get();
  const std::string message = absl::StrCat("FDSTORE=1\nFDNAME=", name);
  return sd_pid_notify_with_fds(0, 0, message.c_str(), &fd, 1) > 0 ? name : std::string();
}

void ServiceManager::forget(const std::string& name) const {
  if (keeps_ && !name.empty()) sd_notify(0, absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", name).c_str());
}

}  // namespace railwitness::sidecar
