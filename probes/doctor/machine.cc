#include <errno.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "fmt/format.h"
#include "probes/counter/rail_reader.h"
#include "probes/doctor/checks.h"
#include "probes/doctor/child.h"
#include "probes/doctor/nccl_variables.h"
#include "probes/fabric/readers/lldp.h"
#include "probes/model/printable.h"
#include "railwitness/base/clock.h"

namespace railwitness::doctor {
namespace {

constexpr int kOldestGlibcMinor = 34;  // tests/plugin/built.py holds the plugin to it

// The end of what it wrote to our standard error, a file.
std::string error_bytes() {
  char text[4096];
  const off_t size = lseek(STDERR_FILENO, 0, SEEK_END);
  const off_t begin = std::max<off_t>(size - static_cast<off_t>(sizeof text), 0);
  const ssize_t got = pread(STDERR_FILENO, text, sizeof text, begin);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

// In a child of ours: what is done to limits and descriptors ends with it.
std::string run_command(const std::string& command) {
  std::string out;
  const rlimit most{size_t{1} << 20, size_t{1} << 20};
  setrlimit(RLIMIT_FSIZE, &most);
  const int errors = memfd_create("errors", 0);
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  std::FILE* from = popen(command.c_str(), "r");
  if (from == nullptr) return "!" + std::string(strerror(errno));
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, from)) > 0;) out.append(buffer, got);
  const int status = pclose(from);
  if (status == 0) return out;
  return fmt::format("!it ended with status {}{}", WIFEXITED(status) ? WEXITSTATUS(status) : status,
                     model::last_error_line(error_bytes()));
}

}  // namespace

Check check_glibc() {
  const std::string version = gnu_get_libc_version();
  const size_t dot = version.find('.');
  const int minor = dot == std::string::npos ? 0 : atoi(version.c_str() + dot + 1);
  const bool is_enough = atoi(version.c_str()) > 2 || minor >= kOldestGlibcMinor;
  return {"glibc", is_enough ? State::kOk : State::kBad, version,
          is_enough ? ""
                    : fmt::format("the plugin needs 2.{} or later: a newer base image for the job", kOldestGlibcMinor)};
}

Check check_memlock(const Environment& environment) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return {"locked memory", State::kOk, "unlimited", ""};
  const std::string seen = fmt::format("limit {} MiB", limit.rlim_cur >> 20);
  if (is_ofi_over_sockets(environment)) return {"locked memory", State::kOk, seen + "; mode ofi needs no more", ""};
  const std::string who = mode_of(environment) == "ofi"
                              ? "libfabric's provider " + environment.value("RAILWITNESS_OFI_PROVIDER")
                              : "NCCL's InfiniBand transport";
  return {"locked memory", State::kWarn, seen + "; " + who + " registers more and fails",
          "ulimit -l unlimited where the job starts (container: --ulimit memlock=-1, Slurm: PropagateResourceLimits)"};
}

Check check_clock() {
  if (has_invariant_tsc()) return {"clock", State::kOk, "invariant time stamp counter", ""};
  return {"clock", State::kWarn,
          "no invariant time stamp counter: each transfer is stamped by clock_gettime, which costs more",
          "virtual machines hide it: let the hypervisor pass invtsc"};
}

Check check_rdma_devices(const std::string& sysfs_root) {
  counter::RailReader reader(sysfs_root);
  const std::vector<model::Rail> rails = reader.read(reader.devices(), 0);
  std::string seen;
  size_t active = 0;
  for (const model::Rail& rail : rails) {
    seen += fmt::format("{}{}/{} {}", seen.empty() ? "" : ", ", rail.device, rail.port,
                        rail.state.empty() ? "-" : rail.state);
    active += rail.state == "ACTIVE" ? 1 : 0;
  }
  if (rails.empty()) {
    return {"RDMA devices", State::kBad,
            "none in " + sysfs_root + "/class/infiniband: NCCL uses sockets, the tap sees nothing",
            "load the NIC's RDMA driver; in a container, give it the devices; RAILWITNESS_MODE=ofi needs none"};
  }
  if (active == rails.size()) return {"RDMA devices", State::kOk, seen, ""};
  return {"RDMA devices", active > 0 ? State::kWarn : State::kBad, seen,
          "ports that are not ACTIVE carry nothing: see cable, switch port and subnet manager"};
}

Check check_device_files() {
  std::error_code error;
  std::string closed;
  size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/infiniband", error)) {
    if (entry.path().filename().string().rfind("uverbs", 0) != 0) continue;
    if (access(entry.path().c_str(), R_OK | W_OK) == 0) {
      ++open;
    } else {
      closed += (closed.empty() ? "" : ", ") + entry.path().string() + ": " + strerror(errno);
    }
  }
  if (!closed.empty())
    return {"device files", State::kBad, closed, "let the job's user read and write them (group, udev rule)"};
  if (open == 0) {
    return {"device files", State::kBad, "no /dev/infiniband/uverbs*",
            "in a container, --device=/dev/infiniband; else load ib_uverbs"};
  }
  return {"device files", State::kOk, fmt::format("{} of /dev/infiniband/uverbs* can be opened", open), ""};
}

Check check_lldp(const std::string& command) {
  if (command.empty()) return {"LLDP", State::kWarn, "no command: verdicts name ports of NICs, not of switches", ""};
  const std::string name = "LLDP: " + command;
  const auto text = ask_child(run_command, command, 5000);
  const std::string way_out(fabric::kLldpWayOut);
  if (!text.ok()) return {name, State::kWarn, std::string(text.status().message()), way_out};
  if (text->starts_with("!")) return {name, State::kWarn, text->substr(1), way_out};
  const auto neighbours = fabric::parse_lldp_json(*text);
  if (!neighbours.ok()) return {name, State::kWarn, std::string(neighbours.status().message()), way_out};
  if (neighbours->empty()) {
    return {name, State::kWarn, "it knows no neighbour",
            "let the switches send LLDP, and the NIC's firmware not swallow it"};
  }
  return {name, State::kOk, fmt::format("{} neighbours", neighbours->size()), ""};
}

}  // namespace railwitness::doctor
