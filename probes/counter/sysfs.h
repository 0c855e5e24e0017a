// Reading sysfs: one value a file, bounded. Internal to probes/counter.
#ifndef RAILWITNESS_PROBES_COUNTER_SYSFS_H_
#define RAILWITNESS_PROBES_COUNTER_SYSFS_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railwitness::counter {

// The file's text without the end of its line; nothing where it is absent or fails to read.
std::optional<std::string> read_value(const std::string& path);

// At most `limit` names, in natural order; hidden ones left out. Empty where there is no such folder.
std::vector<std::string> list_folder(const std::string& path, size_t limit);

template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  if (base == 16 && text.substr(0, 2) == "0x") text.remove_prefix(2);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Adds every file of `folder` that holds a number, 512 at most.
void read_counters(const std::string& folder, std::map<std::string, uint64_t>& counters);

}  // namespace railwitness::counter

#endif  // RAILWITNESS_PROBES_COUNTER_SYSFS_H_
