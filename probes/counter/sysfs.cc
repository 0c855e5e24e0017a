#include "probes/counter/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "probes/counter/rail_reader.h"
#include "probes/model/natural_order.h"

namespace railwitness::counter {
namespace {

constexpr size_t kMaxCounters = 512;  // a real port has about 80

}  // namespace

std::optional<std::string> read_value(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char bytes[256];
  const ssize_t got = read(fd, bytes, sizeof(bytes));
  close(fd);
  if (got < 0) return std::nullopt;
  std::string_view text(bytes, static_cast<size_t>(got));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> list_folder(const std::string& path, size_t limit) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.' && names.size() < limit) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), model::natural_less);
  return names;
}

void read_counters(const std::string& folder, std::map<std::string, uint64_t>& counters) {
  for (const std::string& name : list_folder(folder, kMaxCounters)) {
    if (name == "lifespan") continue;  // how long the driver may serve a cached value: a setting, not a counter
    const auto text = read_value(folder + "/" + name);
    if (!text) continue;
    if (const auto value = parse_number<uint64_t>(*text)) counters[name] = *value;
  }
}

}  // namespace railwitness::counter
