// Any environment: what is said about its variables, and what the plugin makes of their values. The input is the entries,
// separated by zeroes.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/ofi/settings.h"
#include "plugin/witness/knobs.h"
#include "railwitness/base/knobs.h"

namespace {

using namespace railwitness;

void demand(bool condition) {
  if (!condition) std::abort();
}

// A sentence goes into other people's logs: one line, printable but for the sign of what was cut.
void check_sentence(const char* text, size_t bytes) {
  const size_t n = strnlen(text, bytes);
  demand(n < bytes);
  for (size_t i = 0; i < n; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    demand((c >= ' ' && c < 127) || c == 0xE2 || c == 0x80 || c == 0xA6);
  }
}

void check_entry(std::string_view text) {
  const knobs::Entry e = knobs::read_entry(text);
  demand(!(e.knob && e.is_unknown));
  demand(!e.knob || e.name == e.knob->name);
  demand(!e.meant || (e.is_unknown && e.name != e.meant->name));
  char problem[512];
  knobs::describe_problem(e, problem, sizeof problem);
  check_sentence(problem, sizeof problem);
  demand((problem[0] != 0) == (e.is_unknown || (e.knob && !knobs::is_valid(*e.knob, e.value))));
  const size_t bytes = 1 + text.size() % 100;  // cut anywhere, it ends
  std::vector<char> little(bytes);
  knobs::describe_problem(e, little.data(), bytes);
  demand(strnlen(little.data(), bytes) < bytes);
  // One slip away from a name is that name, or one as near.
  const size_t distance = edit_distance(e.name, "RAILWITNESS_SOCKET");
  demand(distance == edit_distance("RAILWITNESS_SOCKET", e.name));
  demand((distance == 0) == (e.name == "RAILWITNESS_SOCKET"));
  if (distance == 1) demand(knobs::suggest(e.name) != nullptr);
}

void check_all(const std::vector<std::string>& entries) {
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  for (const auto& [reader, bytes] : {std::pair{unsigned{knobs::kJob}, size_t{1024}}, std::pair{~0u, size_t{64}}}) {
    std::vector<char> text(bytes, '?');
    const int problems = knobs::describe_problems(environment.data(), reader, text.data(), bytes);
    check_sentence(text.data(), bytes);
    demand(problems >= 0 && problems <= static_cast<int>(entries.size()));
    demand(problems > 0 || !text[0]);
  }
}

bool is_read(std::string_view name) {
  return name.starts_with("RAILWITNESS_") || name.starts_with("NCCL_SOCKET_") || name == "SLURM_JOB_ID";
}

void check_values() {
  const witness::Knobs k = witness::read_knobs();
  demand(strnlen(k.job, sizeof k.job) < sizeof k.job && strnlen(k.socket, sizeof k.socket) < sizeof k.socket);
  for (const char* c = k.job; *c; ++c) demand(isalnum(static_cast<unsigned char>(*c)) || strchr("_.:/-", *c));
  demand(k.socket[0] && strnlen(k.plugin, sizeof k.plugin) < sizeof k.plugin);
  demand(k.mode == witness::Mode::kChain || !k.plugin[0]);
  demand(k.cost_max_permille <= 1000 && strnlen(k.segment_file, sizeof k.segment_file) < sizeof k.segment_file);
  const ofi::Settings s = ofi::read_settings();
  demand(s.connect_timeout_s <= 86'400 && strnlen(s.provider, sizeof s.provider) < sizeof s.provider);
  (void)ofi::is_wanted(s.interfaces, "eth0");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> entries;
  std::string_view in(reinterpret_cast<const char*>(data), size);
  for (size_t end = 0; !in.empty() && entries.size() < 12; in.remove_prefix(std::min(end + 1, in.size()))) {
    end = std::min(in.find('\0'), in.size());
    entries.emplace_back(in.substr(0, end));
  }
  std::vector<std::string> set;
  for (const std::string& entry : entries) {
    check_entry(entry);
    const size_t equals = entry.find('=');
    if (equals == entry.npos || !is_read(entry.substr(0, equals))) continue;
    set.push_back(entry.substr(0, equals));
    setenv(set.back().c_str(), entry.c_str() + equals + 1, 1);
  }
  check_all(entries);
  check_values();
  for (const std::string& name : set) unsetenv(name.c_str());
  return 0;
}
