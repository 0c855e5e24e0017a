#include "probes/fabric/readers/gid_table.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxEntries = 65536;

// Eight groups of four digits, lower-case; empty: it is none.
std::string gid_of(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (i % 5 == 4 ? c != ':' : std::isxdigit(c) == 0) return {};
    out += static_cast<char>(std::tolower(c));
  }
  return out.size() == 39 ? out : std::string();
}

bool is_ipv4(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 3 && text.size() <= 15;
}

// DEV PORT INDEX GID [IPv4] VER [DEV]
absl::StatusOr<model::GidEntry> entry_of(std::string_view file, const std::vector<std::string_view>& words,
                                         uint32_t line) {
  const auto port = narrowed(number_of(words[1])), index = narrowed(number_of(words[2]));
  model::GidEntry out;
  out.gid = gid_of(words[3]);
  if (!port || !index || out.gid.empty()) return refuse(file, line, "not DEV PORT INDEX GID");
  out.device = model::printable(words[0], 64);
  out.port = *port;
  out.index = *index;
  out.line = line;
  size_t at = 4;
  if (at < words.size() && is_ipv4(words[at])) out.ipv4 = model::printable(words[at++], 15);
  if (at >= words.size() || (words[at] != "v1" && words[at] != "v2"))
    return refuse(file, line, "neither v1 nor v2 behind the GID");
  out.version = std::string(words[at++]);
  if (at < words.size()) out.netdev = model::printable(words[at], 64);
  out.link_local = out.gid.starts_with("fe8") || out.gid.starts_with("fe9") || out.gid.starts_with("fea") ||
                   out.gid.starts_with("feb");
  return out;
}

}  // namespace

absl::StatusOr<model::GidFacts> read_gid_table(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  model::GidFacts out;
  out.source = {.kind = "gid_table", .file = std::string(file), .wall_ns = std::nullopt};
  bool in_table = false;
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (!in_table) {
      in_table =
          words.size() >= 4 && words[0] == "DEV" && words[1] == "PORT" && words[2] == "INDEX" && words[3] == "GID";
      continue;
    }
    if (words[0].starts_with("---")) continue;
    if (std::string_view count = words[0]; take_prefix(count, "n_gids_found=")) {
      if (number_of(count) != out.entries.size()) {
        out.remarks.push_back(
            {lines.number(), fmt::format("{} GIDs are said, {} are there", model::printable(count, 16), out.entries.size())});
      }
      break;
    }
    if (words.size() < 5) return refuse(file, lines.number(), "fewer than five columns");
    if (out.entries.size() >= kMaxEntries)
      return refuse(file, lines.number(), fmt::format("more than {} GIDs", kMaxEntries));
    absl::StatusOr<model::GidEntry> entry = entry_of(file, words, lines.number());
    if (!entry.ok()) return entry.status();
    out.entries.push_back(*std::move(entry));
  }
  if (!in_table) return refuse(file, 0, "no head \"DEV PORT INDEX GID\": no output of show_gids");
  return out;
}

std::vector<uint32_t> routable_roce_v2(const model::GidFacts& facts, std::string_view device, uint32_t port) {
  std::vector<uint32_t> with_ipv4, others;
  for (const model::GidEntry& entry : facts.entries) {
    if (entry.device != device || entry.port != port || entry.version != "v2" || entry.link_local) continue;
    (entry.ipv4.empty() ? others : with_ipv4).push_back(entry.index);
  }
  with_ipv4.insert(with_ipv4.end(), others.begin(), others.end());
  return with_ipv4;
}

}  // namespace railwitness::fabric
