#include "probes/joblog/log_line.h"

#include <charconv>
#include <optional>

namespace railwitness::joblog {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of_host(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

struct Prefix {
  size_t begin = 0;  // of the host
  size_t end = 0;    // behind "[device] "
  std::string_view host;
  int64_t pid = 0;
};

// Reads ":digits" backwards from `end`, which is behind the last digit.
std::optional<size_t> number_before(std::string_view line, size_t end) {
  size_t at = end;
  while (at > 0 && is_digit(line[at - 1])) --at;
  if (at == end || at == 0 || line[at - 1] != ':') return std::nullopt;
  return at - 1;
}

// The prefix whose " [" is at `open`, if there is one: host:pid:tid before, a device and "] " behind.
std::optional<Prefix> prefix_at(std::string_view line, size_t open) {
  size_t end = open + 2;
  while (end < line.size() && (is_digit(line[end]) || line[end] == '-')) ++end;
  if (line.substr(end, 2) != "] ") return std::nullopt;
  const auto thread = number_before(line, open);
  if (!thread) return std::nullopt;
  const auto process = number_before(line, *thread);
  if (!process) return std::nullopt;
  size_t begin = *process;
  while (begin > 0 && is_of_host(line[begin - 1])) --begin;
  if (begin == *process) return std::nullopt;
  Prefix prefix{begin, end + 2, line.substr(begin, *process - begin), 0};
  const std::string_view digits = line.substr(*process + 1, *thread - *process - 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), prefix.pid).ec != std::errc()) return std::nullopt;
  return prefix;
}

// `body` is what follows a prefix: "NCCL INFO text", "file.cc:12 NCCL WARN text".
void add(std::vector<Message>& out, const Prefix& prefix, std::string_view body) {
  for (const std::string_view level : {"NCCL INFO ", "NCCL WARN ", "NCCL ATTN "}) {  // ATTN: 2.31-
    const size_t at = body.find(level);
    if (at == body.npos) continue;
    out.push_back({prefix.host, prefix.pid, level == "NCCL WARN ", body.substr(at + level.size())});
    return;
  }
}

}  // namespace

std::vector<Message> split_line(std::string_view line) {
  std::vector<Message> out;
  std::optional<Prefix> last;
  for (size_t open = line.find(" ["); open != line.npos; open = line.find(" [", open + 1)) {
    const auto prefix = prefix_at(line, open);
    if (!prefix) continue;
    if (last) add(out, *last, line.substr(last->end, prefix->begin > last->end ? prefix->begin - last->end : 0));
    last = prefix;
  }
  if (last) {
    add(out, *last, line.substr(last->end));
  } else {
    add(out, Prefix{}, line);
    const size_t version = line.find("NCCL version ");  // NCCL_DEBUG=VERSION and WARN print it bare
    if (out.empty() && version != line.npos) out.push_back({{}, 0, false, line.substr(version)});
  }
  return out;
}

}  // namespace railwitness::joblog
