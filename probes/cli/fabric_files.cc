#include "probes/cli/fabric_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/fabric/readers/ibdiagnet.h"
#include "probes/fabric/readers/iblinkinfo.h"
#include "probes/fabric/readers/ibnetdiscover.h"
#include "probes/fabric/readers/ibqueryerrors.h"
#include "probes/fabric/readers/inventory_csv.h"
#include "probes/fabric/readers/lldp.h"
#include "probes/fabric/readers/perfquery.h"
#include "probes/fabric/readers/ufm_json.h"

namespace railwitness::cli {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;
constexpr size_t kShapeBytes = size_t{64} << 10;

using Reader = absl::StatusOr<model::FabricFacts> (*)(std::string_view, std::string_view);
struct Kind {
  const char* name;
  Reader read;
};
constexpr std::array<Kind, 8> kKinds{{{"ibnetdiscover", fabric::read_ibnetdiscover},
                                      {"iblinkinfo", fabric::read_iblinkinfo},
                                      {"ibdiagnet", fabric::read_ibdiagnet},
                                      {"ibqueryerrors", fabric::read_ibqueryerrors},
                                      {"perfquery", fabric::read_perfquery},
                                      {"lldp", fabric::read_lldp},
                                      {"ufm", fabric::read_ufm_json},
                                      {"plan", fabric::read_inventory_csv}}};

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool has_line(std::string_view text, std::string_view start) {
  return text.starts_with(start) || has(text, std::string("\n").append(start));
}

std::string quoted_error(const std::string& path) {
  return fmt::format("{}: {}", path, strerror(errno));
}

}  // namespace

std::vector<std::string> fabric_kinds() {
  std::vector<std::string> out;
  for (const Kind& kind : kKinds) out.emplace_back(kind.name);
  return out;
}

std::string recognised_kind(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, kShapeBytes);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const char start = first == std::string_view::npos ? ' ' : text[first];
  if (start == '{' || start == '[') return has(text, "\"lldp") || (start == '{' && text.size() < 8) ? "lldp" : "ufm";
  if (has_line(text, "lldp.")) return "lldp";
  if (has(text, "StartDevice")) return "plan";
  if (has_line(text, "START_") || has(text, "NodeGUID1,") || has(text, "NodeGuid1,") || has(text, "NodeDesc,NumPorts")) return "ibdiagnet";
  if (has_line(text, "Errors for ") || has_line(text, "Counters for ") || has_line(text, "## Summary:") || has(text, "Data Counters for ")) return "ibqueryerrors";
  if (has_line(text, "# Port counters: ") || has_line(text, "# Port extended counters: ")) return "perfquery";
  if (has(text, "LinkUp)==>") || has(text, "Polling)==>") || has(text, ")==>")) return "iblinkinfo";
  if (has_line(text, "Switch") || has_line(text, "Ca\t") || has_line(text, "Ca ") || has_line(text, "caguid=") || has_line(text, "SW ") ||
      has_line(text, "CA ") || has_line(text, "# Topology file")) {
    return "ibnetdiscover";
  }
  if (has(text, "LSA") && has(text, "LID")) return "ibdiagnet";  // net_dump
  return {};
}

absl::StatusOr<std::string> read_whole_file(const std::string& path) {
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::NotFoundError(quoted_error(path));
  std::string out;
  std::vector<char> buffer(size_t{1} << 18);
  ssize_t got = 0;
  while (out.size() <= kMaxFileBytes && (got = read(fd, buffer.data(), buffer.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    out.append(buffer.data(), static_cast<size_t>(got));
  }
  const std::string problem = got < 0 ? quoted_error(path) : std::string();
  if (!is_stdin) close(fd);
  if (!problem.empty()) return absl::UnavailableError(problem);
  if (out.size() > kMaxFileBytes) return absl::ResourceExhaustedError(fmt::format("{}: more than 256 MiB", path));
  if (out.starts_with("\x1f\x8b") || out.starts_with("\x28\xb5\x2f\xfd")) {
    return absl::InvalidArgumentError(fmt::format("{} is compressed; zcat or zstdcat it into a file, or name - for standard input", path));
  }
  return out;
}

absl::Status write_whole_file(const std::string& path, std::string_view bytes) {
  const std::string beside = fmt::format("{}.{}.new", path, getpid());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return absl::UnavailableError("cannot write " + quoted_error(beside));
  std::string_view left = bytes;
  bool is_good = true;
  while (is_good && !left.empty()) {
    const ssize_t put = write(fd, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    is_good = put >= 0;
    if (is_good) left.remove_prefix(static_cast<size_t>(put));
  }
  is_good = is_good && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (is_good && rename(beside.c_str(), path.c_str()) == 0) return absl::OkStatus();
  if (is_good == false) errno = error;
  const std::string problem = "cannot write " + quoted_error(path);
  unlink(beside.c_str());
  return absl::UnavailableError(problem);
}

absl::StatusOr<model::FabricFacts> read_fabric_file(const std::string& name, const std::string& kind) {
  std::string host, path = name;
  if (const size_t equals = name.find('='); equals != std::string::npos && equals > 0 && !std::filesystem::exists(name)) {
    host = name.substr(0, equals), path = name.substr(equals + 1);
  }
  absl::StatusOr<std::string> bytes = read_whole_file(path);
  if (!bytes.ok()) return bytes.status();
  const std::string as = kind.empty() ? recognised_kind(*bytes) : kind;
  const Kind* found = nullptr;
  for (const Kind& one : kKinds) {
    if (as == one.name) found = &one;
  }
  if (found == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{}: its kind cannot be told by its shape; name it with --kind {}", path, fmt::join(fabric_kinds(), ", ")));
  }
  absl::StatusOr<model::FabricFacts> facts = found->read(path, *bytes);
  if (!facts.ok()) return facts.status();
  struct stat file {};
  if (!facts->source.wall_ns && path != "-" && stat(path.c_str(), &file) == 0) {
    facts->source.wall_ns = int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec;
  }
  if (host.empty()) return facts;
  for (model::FabricDevice& device : facts->devices) {
    if (device.kind == model::DeviceKind::kSwitch || !device.host.empty()) continue;
    device.kind = model::DeviceKind::kNic;
    device.host = host;
    break;  // the first device of lldpctl's output is the one that it ran on
  }
  return facts;
}

}  // namespace railwitness::cli
