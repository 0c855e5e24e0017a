#include "probes/doctor/environment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "fmt/format.h"

namespace railwitness::doctor {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

void add(Environment& environment, std::string_view line, const std::string& origin) {
  const size_t equals = line.find('=');
  if (equals == line.npos || equals == 0) return;
  const std::string_view name = line.substr(0, equals);
  if (environment.find(name) != nullptr) return;
  environment.settings.push_back({std::string(name), std::string(line.substr(equals + 1)), origin});
}

std::string head_of(const std::string& path) {
  std::string text;
  std::ifstream in(path, std::ios::binary);
  if (!in) return text;
  text.resize(kMaxFileBytes);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

void add_file(Environment& environment, const std::string& root, const std::string& path) {
  const std::string text = head_of(root + path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    add(environment, std::string_view(text).substr(at, end - at), path);
    at = end + 1;
  }
}

}  // namespace

const Setting* Environment::find(std::string_view name) const {
  for (const Setting& setting : settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::string Environment::value(std::string_view name) const {
  const Setting* setting = find(name);
  return setting != nullptr ? setting->value : "";
}

Environment make_environment(const std::vector<std::string>& entries, const std::string& root) {
  Environment out;
  for (const std::string& entry : entries) add(out, entry, "environment");
  const std::string file = out.value("NCCL_CONF_FILE"), home = out.value("HOME");
  if (!file.empty()) {
    add_file(out, root, file);
  } else if (!home.empty()) {
    add_file(out, root, home + "/.nccl.conf");
  }
  add_file(out, root, "/etc/nccl.conf");
  return out;
}

Environment own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return make_environment(entries);
}

absl::StatusOr<Environment> environment_of(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/environ", pid);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return absl::UnavailableError(fmt::format(
        "cannot read {}: {}; {}", path, strerror(errno),
        errno == ENOENT ? "there is no such process" : "only its user and root may: run this as one of them"));
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> entries;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    entries.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return make_environment(entries);
}

}  // namespace railwitness::doctor
