#include "probes/cli/probe_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"
#include "probes/cli/table.h"
#include "probes/model/json_text.h"
#include "probes/model/natural_order.h"
#include "probes/model/printable.h"
#include "railwitness/base/edit_distance.h"

namespace railwitness::cli {
namespace {

using nlohmann::ordered_json;
using rail::PairVerdict;
using rail::RailVerdict;
using rail::WayVerdict;

constexpr size_t kMaxText = 300;
constexpr size_t kMaxNamesShown = 16;

std::string plain(std::string_view text) { return model::printable(text, kMaxText); }

std::string micros(std::optional<int64_t> ns) {
  return ns ? fmt::format("{:.1f} us", static_cast<double>(*ns) / 1e3) : "-";
}

// "rail 1", "rails 0, 2 and 3"
std::string rails_text(const std::vector<int32_t>& rails) {
  if (rails.size() == 1) return fmt::format("rail {}", rails[0]);
  const std::vector<int32_t> head(rails.begin(), rails.end() - 1);
  return fmt::format("rails {} and {}", fmt::join(head, ", "), rails.back());
}

std::vector<int32_t> rails_where(const std::vector<RailVerdict>& verdicts, bool (*holds)(const RailVerdict&)) {
  std::vector<int32_t> out;
  for (const RailVerdict& verdict : verdicts) {
    if (holds(verdict)) out.push_back(verdict.index);
  }
  return out;
}

std::string node_and_port(const PairProbe& probe, size_t rail, size_t node) {
  const std::string port = probe.port_name(rail, node);
  return plain(fmt::format("{} {}", probe.nodes()[node], port.empty() ? "-" : port));
}

const std::string& reason_of(const RailVerdict& verdict) {
  return verdict.there.verdict == verdict.verdict ? verdict.there.reason : verdict.back.reason;
}

// "no answer", with the direction where the other one is not bad as well.
std::string bad_text(const PairProbe& probe, const RailVerdict& verdict) {
  std::string out(word(verdict.verdict));
  const bool there = is_bad(verdict.there.verdict), back = is_bad(verdict.back.verdict);
  if (there && back) return out + " both ways";
  return out + fmt::format(" from {} to {}", probe.nodes()[there ? 0 : 1], probe.nodes()[there ? 1 : 0]);
}

// Each bad rail with how it is bad; those that are so alike are named together.
std::string bad_rails(const PairProbe& probe, const std::vector<RailVerdict>& verdicts) {
  std::vector<std::pair<std::string, std::vector<int32_t>>> kinds;
  for (const RailVerdict& verdict : verdicts) {
    if (!is_bad(verdict.verdict)) continue;
    const std::string text = bad_text(probe, verdict);
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == text; });
    if (same == kinds.end()) {
      kinds.push_back({text, {verdict.index}});
    } else {
      same->second.push_back(verdict.index);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [text, rails] : kinds) {
    parts.push_back(fmt::format("{} {} bad ({})", rails_text(rails), rails.size() == 1 ? "is" : "are", text));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string unknown_rails(const std::vector<RailVerdict>& verdicts) {
  const auto unknown = rails_where(verdicts, [](const RailVerdict& v) { return v.verdict == PairVerdict::kUnknown; });
  if (unknown.empty()) return "";
  const auto first = std::find_if(verdicts.begin(), verdicts.end(),
                                  [](const RailVerdict& v) { return v.verdict == PairVerdict::kUnknown; });
  return fmt::format("{} {} unknown ({})", rails_text(unknown), unknown.size() == 1 ? "is" : "are", reason_of(*first));
}

std::string exonerated(const PairProbe& probe, const std::vector<int32_t>& good, size_t rails, bool any_bad) {
  const auto& [a, b] = probe.nodes();
  if (!any_bad && good.empty()) return "";
  if (!any_bad) return fmt::format("{} between {} and {} {} good both ways", rails_text(good), a, b, good.size() == 1 ? "is" : "are");
  if (rails == 1) return "no other rail was asked, so neither host is exonerated";
  if (good.empty()) return "no rail is good, so nothing is exonerated: what the rails have in common is suspect too";
  return good.size() == 1 ? fmt::format("{} is good both ways, which exonerates it, both hosts and their sidecars", rails_text(good))
                          : fmt::format("{} are good both ways, which exonerates them, both hosts and their sidecars", rails_text(good));
}

ordered_json json_of(const PairProbe& probe, size_t rail, size_t from, const WayVerdict& way) {
  ordered_json out{{"from", probe.nodes()[from]},
                   {"from_device", probe.port_name(rail, from)},
                   {"to", probe.nodes()[1 - from]},
                   {"to_device", probe.port_name(rail, 1 - from)},
                   {"sent", way.sent},
                   {"received", way.received}};
  if (way.least_ns) out["least_rtt_ns"] = *way.least_ns;
  if (way.median_ns) out["median_rtt_ns"] = *way.median_ns;
  out["verdict"] = word(way.verdict);
  if (!way.reason.empty()) out["reason"] = way.reason;
  return out;
}

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  size_t least = 3;  // more than two wrong letters are another name
  for (const std::string& other : names) {
    const size_t distance = edit_distance(name, other);
    if (distance >= least) continue;
    least = distance;
    best = other;
  }
  return best;
}

}  // namespace

std::string probe_table(const PairProbe& probe, const std::vector<RailVerdict>& verdicts) {
  Table table({"RAIL", "FROM", "TO", "ANSWERED", "LEAST", "MEDIAN", "VERDICT"});
  for (size_t i = 0; i < verdicts.size(); ++i) {
    for (size_t from = 0; from < 2; ++from) {
      const WayVerdict& way = from == 0 ? verdicts[i].there : verdicts[i].back;
      const std::string verdict(word(way.verdict));
      table.add({std::to_string(verdicts[i].index), node_and_port(probe, i, from), node_and_port(probe, i, 1 - from),
                 way.sent == 0 ? "-" : fmt::format("{} of {}", way.received, way.sent), micros(way.least_ns), micros(way.median_ns),
                 way.reason.empty() ? verdict : fmt::format("{}: {}", verdict, plain(way.reason))});
    }
  }
  return table.text();
}

std::string probe_line(const PairProbe& probe, const std::vector<RailVerdict>& verdicts) {
  if (verdicts.empty()) {
    return plain(fmt::format("probe: neither {} nor {} has a rail: no RDMA device, and no --rail or job names an interface",
                             probe.nodes()[0], probe.nodes()[1]));
  }
  const auto good = rails_where(verdicts, [](const RailVerdict& v) { return v.verdict == PairVerdict::kGood; });
  const bool any_bad = std::any_of(verdicts.begin(), verdicts.end(), [](const RailVerdict& v) { return is_bad(v.verdict); });
  std::vector<std::string> parts;
  if (any_bad) {
    parts.push_back(fmt::format("{} between {} and {}", bad_rails(probe, verdicts), probe.nodes()[0], probe.nodes()[1]));
  }
  for (std::string part : {unknown_rails(verdicts), exonerated(probe, good, verdicts.size(), any_bad)}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return model::printable(fmt::format("probe: {}", fmt::join(parts, "; ")), 2 * kMaxText);
}

std::string probe_json(const PairProbe& probe, int rounds, const std::vector<RailVerdict>& verdicts) {
  ordered_json out{{"type", "probe"}, {"nodes", probe.nodes()}, {"rounds", rounds}, {"rails", ordered_json::array()}};
  for (size_t i = 0; i < verdicts.size(); ++i) {
    out["rails"].push_back({{"rail", verdicts[i].index},
                            {"verdict", word(verdicts[i].verdict)},
                            {"ways", {json_of(probe, i, 0, verdicts[i].there), json_of(probe, i, 1, verdicts[i].back)}}});
  }
  out["line"] = probe_line(probe, verdicts);
  return model::dump(out);
}

std::string not_heard(const PairProbe& probe) {
  std::vector<std::string> speaking = probe.speaking();
  std::sort(speaking.begin(), speaking.end(), model::natural_less);
  std::string out;
  for (size_t n = 0; n < 2; ++n) {
    if (probe.hears(n)) continue;
    const std::string& name = probe.nodes()[n];
    const std::string near = probe.is_remembered(name) ? "" : nearest(name, speaking);  // that name is no slip
    out += fmt::format("{}nothing is heard from {}{}{}", out.empty() ? "" : "; ", name,
                       probe.is_remembered(name) ? ", whose sidecar spoke before" : "",
                       near.empty() ? "" : fmt::format(" (maybe: {}?)", near));
  }
  const size_t shown = std::min(speaking.size(), kMaxNamesShown);
  const std::vector<std::string> names(speaking.begin(), speaking.begin() + static_cast<std::ptrdiff_t>(shown));
  out += speaking.empty() ? "; no node speaks: is `railwitness sidecar --nats` running on them?"
                          : fmt::format("; heard: {}{}", fmt::join(names, " "),
                                        shown < speaking.size() ? fmt::format(" and {} more", speaking.size() - shown) : "");
  return model::printable(out, 4 * kMaxText);
}

}  // namespace railwitness::cli
