#include "probes/fabric/readers/text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace railwitness::fabric {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

// Names that a machine has before somebody gives it one; and the vendor's own text.
bool is_a_host(std::string_view name) {
  for (const std::string_view unset : {"localhost", "ubuntu", "debian", "(none)"}) {
    if (name == unset) return false;
  }
  return !name.empty() && name.find("ConnectX") == std::string_view::npos && !name.starts_with("MT4");
}

bool is_a_nic(std::string_view name) {
  for (const std::string_view prefix : {"mlx", "HCA", "ibp", "roce", "hfi", "qib", "irdma", "bnxt", "rdma", "rxe", "ib"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

absl::Status refuse(std::string_view file, uint32_t line, std::string_view what) {
  const std::string place(file.empty() ? std::string_view("input") : file);
  const std::string reason(what);
  return absl::InvalidArgumentError(line == 0 ? absl::StrCat(place, ": ", reason) : absl::StrCat(place, ":", line, ": ", reason));
}

absl::Status check_size(std::string_view file, std::string_view bytes) {
  if (bytes.size() <= kMaxInputBytes) return absl::OkStatus();
  return refuse(file, 0, absl::StrCat(bytes.size(), " bytes; at most ", kMaxInputBytes, " are read"));
}

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool take_prefix(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view part) {
  if (!text.ends_with(part)) return false;
  text.remove_suffix(part.size());
  return true;
}

std::string_view take_until(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
  return head;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (line = trim(line); !line.empty(); line = trim(line)) {
    size_t length = 0;
    while (length < line.size() && !is_space(line[length])) ++length;
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
  return words;
}

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint32_t> narrowed(std::optional<uint64_t> number) {
  if (!number || *number > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::string guid_of(std::string_view text) {
  text = trim(text);
  if (text.size() > 2 && (text[0] == 'S' || text[0] == 'H' || text[0] == 'R') && text[1] == '-') text.remove_prefix(2);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::string digits;
  for (const char c : text) {
    if (c == ':') continue;
    if (!std::isxdigit(static_cast<unsigned char>(c)) || digits.size() == 16) return {};
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (digits.empty()) return {};
  return std::string(16 - digits.size(), '0') + digits;
}

uint32_t lane_mbps_of(std::string_view speed_name) {
  static constexpr std::array<std::pair<std::string_view, uint32_t>, 9> kSpeeds{{{"SDR", 2500},   {"DDR", 5000},   {"QDR", 10000},
                                                                                 {"FDR10", 10312}, {"FDR", 14062},  {"EDR", 25781},
                                                                                 {"HDR", 53125},  {"NDR", 106250}, {"XDR", 212500}}};
  for (const auto& [name, mbps] : kSpeeds) {
    if (speed_name == name) return mbps;
  }
  return 0;
}

HostAndNic host_and_nic_of(std::string_view description) {
  description = trim(description);
  const size_t space = description.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view host = description.substr(0, space), nic = trim(description.substr(space));
  if (!is_a_host(host) || !is_a_nic(nic) || nic.find(' ') != std::string_view::npos) return {};
  return {std::string(host), std::string(nic)};
}

}  // namespace railwitness::fabric
