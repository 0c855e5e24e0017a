#include "probes/fabric/picture.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "probes/model/natural_order.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr int kCell = 16;          // of a NIC, pixels
constexpr int kHeading = 24;       // room above the slanted names
constexpr int kRailNames = 52;     // room left of the rows
constexpr size_t kHostsInRow = 40;  // a larger unit takes several rows of blocks
constexpr int kWidth = 1480;       // at most; a small fabric has a small picture
constexpr int kLeastWidth = 720;
constexpr int kLetter = 6;         // what one takes, or less
constexpr size_t kMostOfLine = 200;  // bytes of a finding in the picture; the page has all of it
constexpr size_t kMostFindings = 1000;  // in the list of the page

// Colours twice: viewers that know no variables (librsvg, Inkscape) take the plain one, and would else draw all in black.
constexpr char kStyle[] =
    ":root{color-scheme:light dark}"
    ".rw{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--ground:#ffffff;--good:#c9d6e2;--hole:#ffffff;--place:#d55e00;--miss:#a3004f;"
    "--slow:#b8860b;--error:#0059a3;--on:#ffffff;font-family:system-ui,sans-serif;color:var(--ink);background:var(--ground)}"
    "@media (prefers-color-scheme:dark){.rw{--ink:#e6edf3;--soft:#9aa4af;--line:#3d444d;--ground:#0d1117;--good:#33414f;--hole:#0d1117;"
    "--place:#ff8c42;--miss:#ff6fae;--slow:#f0c648;--error:#5db2ff;--on:#0d1117}}"
    ".rw text{fill:#1b1f24;fill:var(--ink);font-size:11px}.rw .soft{fill:#57606a;fill:var(--soft)}"
    ".rw .head{font-size:13px;font-weight:600}.rw .ground{fill:#ffffff;fill:var(--ground)}"
    ".rw .good{fill:#c9d6e2;fill:var(--good)}.rw .none{fill:#ffffff;fill:var(--hole);stroke:#d0d7de;stroke:var(--line)}"
    ".rw .place{fill:#d55e00;fill:var(--place)}"
    ".rw .miss{fill:#ffffff;fill:var(--hole);stroke:#a3004f;stroke:var(--miss);stroke-width:2}"
    ".rw .slow{fill:#b8860b;fill:var(--slow)}.rw .error{fill:#0059a3;fill:var(--error)}"
    ".rw text.mark{fill:#ffffff;fill:var(--on);font-weight:700;text-anchor:middle}"
    ".rw text.mark.missing{fill:#a3004f;fill:var(--miss)}.rw .at{stroke:#1b1f24;stroke:var(--ink);stroke-width:1.5;fill:none}";

struct Mark {
  char letter = 0;
  const char* style = "good";
  const char* meaning = "";
};

Mark mark_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kSwapped: return {'S', "place", "swapped with another NIC of its host"};
    case FindingKind::kWrongLeaf: return {'L', "place", "in the leaf of another rail"};
    case FindingKind::kOtherUnit: return {'U', "place", "in the leaf of another unit"};
    case FindingKind::kWrongPort: return {'P', "place", "in another port than planned"};
    case FindingKind::kMissingLink: return {'M', "miss", "missing"};
    case FindingKind::kLostLink: return {'G', "miss", "gone: it was there before"};
    case FindingKind::kNarrow: return {'N', "slow", "narrower than its twins"};
    case FindingKind::kSlow: return {'V', "slow", "slower than its twins"};
    case FindingKind::kEndsDisagree: return {'D', "slow", "its ends disagree on width or speed"};
    case FindingKind::kCableErrors: return {'E', "error", "errors of the cable"};
    case FindingKind::kCongestion: return {'C', "error", "congestion"};
    case FindingKind::kDuplicateName: return {'2', "error", "its name is another device's, too"};
    default: return {};
  }
}

class Drawer {
 public:
  Drawer(const FabricMap& map, const Rails& rails, const Judgement& judgement) : map_(map), rails_(rails), judgement_(judgement) {
    for (size_t f = 0; f < judgement.findings.size(); ++f) {
      if (mark_of(judgement.findings[f].kind).letter == 0) continue;
      for (const size_t port : judgement.findings[f].ports) by_port_.try_emplace(port, f);  // findings are in order of weight
      if (judgement.findings[f].kind != FindingKind::kMissingLink) continue;
      for (const std::string& component : judgement.findings[f].components) by_name_.try_emplace(component, f);
    }
  }

  std::string svg() {
    const size_t findings = judgement_.findings.size();
    text(x_, y_ + 14, "head", fmt::format("{}: {} finding{}", summary_text(map_, rails_), findings == 0 ? "no" : std::to_string(findings), findings == 1 ? "" : "s"));
    y_ += 30;
    std::map<int, std::vector<size_t>> units;
    for (size_t h = 0; h < rails_.hosts.size(); ++h) {
      if (rails_.hosts[h].is_typical && slots(h).size() > 1) units[rails_.hosts[h].unit].push_back(h);
    }
    for (auto& [unit, hosts] : units) {
      std::sort(hosts.begin(), hosts.end(), [this](size_t a, size_t b) { return model::natural_less(rails_.hosts[a].name, rails_.hosts[b].name); });
      for (size_t from = 0; from < hosts.size(); from += kHostsInRow) {
        block(unit, {hosts.begin() + static_cast<std::ptrdiff_t>(from),
                     hosts.begin() + static_cast<std::ptrdiff_t>(std::min(hosts.size(), from + kHostsInRow))});
      }
    }
    y_ += row_height_ + 10;
    legend();
    switches();
    return fmt::format("<svg class=\"rw\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">"
                       "<title>{2}</title><style>{3}</style><rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n{4}</svg>\n",
                       std::clamp(reach_ + 10, kLeastWidth, kWidth), y_ + 20, escaped(summary_text(map_, rails_)), kStyle, out_);
  }

 private:
  void text(int x, int y, const std::string& style, const std::string& what) {
    out_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, style, escaped(what));
    reach_ = std::max(reach_, x + static_cast<int>(what.size()) * (style == "head" ? kLetter + 2 : kLetter));
  }

  void block(int unit, const std::vector<size_t>& hosts) {
    size_t rows = 1;
    for (const size_t h : hosts) rows = std::max(rows, slots(h).size());
    rows = std::min<size_t>(rows, 64);
    const size_t last_name = std::min<size_t>(rails_.hosts[hosts.back()].name.size(), 20);  // leans over the next block
    const int width = kRailNames + static_cast<int>(hosts.size()) * kCell + 12 + static_cast<int>(last_name) * 4;
    size_t longest = 0;
    for (const size_t h : hosts) longest = std::max(longest, shortened(rails_.hosts[h].name).size());
    const int names = kHeading + static_cast<int>(longest) * 6;
    const int height = names + static_cast<int>(rows) * kCell + 30;
    if (x_ > 10 && x_ + width > kWidth) {
      y_ += row_height_;
      x_ = 10, row_height_ = 0;
    }
    row_height_ = std::max(row_height_, height);
    reach_ = std::max(reach_, x_ + width);
    text(x_, y_ + 14, "head", unit < 0 ? "hosts of no unit" : fmt::format("unit {}", unit));
    const int top = y_ + names, left = x_ + kRailNames;
    for (size_t r = 0; r < rows; ++r) text(x_, top + static_cast<int>(r) * kCell + 12, "soft", fmt::format("rail {}", r));
    for (size_t c = 0; c < hosts.size(); ++c) {
      const int at = left + static_cast<int>(c) * kCell;
      out_ += fmt::format("<text transform=\"translate({},{}) rotate(-60)\">{}</text>\n", at + 11, top - 4, escaped(shortened(rails_.hosts[hosts[c]].name)));
      for (size_t r = 0; r < rows && r < slots(hosts[c]).size(); ++r) cell(at, top + static_cast<int>(r) * kCell, hosts[c], r);
    }
    x_ += width;
  }

  // Its end, as names of one fabric begin alike; not cut inside a character.
  static std::string shortened(const std::string& name) {
    if (name.size() <= 20) return name;
    size_t from = name.size() - 17;
    while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0) == 0x80) ++from;
    return "..." + name.substr(from);
  }

  const std::vector<std::string>& slots(size_t h) const { return rails_.families[static_cast<size_t>(rails_.hosts[h].family)].slots; }

  void cell(int x, int y, size_t h, size_t row) {
    const std::string& slot = slots(h)[row];
    const HostPlace& host = rails_.hosts[h];
    const auto nic = std::find_if(host.nics.begin(), host.nics.end(), [&](size_t n) { return rails_.nics[n].slot == slot; });
    std::string tip = fmt::format("{} {}", host.name, slot);
    const Finding* finding = nullptr;
    if (nic != host.nics.end()) {
      const NicPlace& place = rails_.nics[*nic];
      tip += " - " + map_.port_name(place.leaf_port);
      const auto found = by_port_.contains(place.port) ? by_port_.find(place.port) : by_port_.end();
      if (found != by_port_.end()) finding = &judgement_.findings[found->second];
    } else if (const auto found = by_name_.find(tip); found != by_name_.end()) {
      finding = &judgement_.findings[found->second];
    }
    const Mark mark = finding != nullptr ? mark_of(finding->kind) : Mark{};
    const char* style = finding != nullptr ? mark.style : nic == host.nics.end() ? "none" : "good";
    out_ += fmt::format("<g><title>{}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
                        escaped(finding != nullptr ? tip + ": " + finding->text : tip), style, x + 1, y + 1, kCell - 2, kCell - 2);
    if (finding != nullptr) {
      out_ += fmt::format("<text class=\"mark{}\" x=\"{}\" y=\"{}\">{}</text>", style == std::string_view("miss") ? " missing" : "", x + kCell / 2,
                          y + 12, mark.letter);
    }
    out_ += "</g>\n";
  }

  // Only what is in the picture is explained.
  void legend() {
    std::map<FindingKind, size_t> count;
    for (const Finding& finding : judgement_.findings) ++count[finding.kind];
    const int width = std::clamp(reach_, kLeastWidth, kWidth);
    int x = 10;
    y_ += 18;
    for (const auto& [kind, n] : count) {
      const Mark mark = mark_of(kind);
      if (mark.letter == 0) continue;
      const std::string what = fmt::format("{} ({})", mark.meaning, n);
      const int wide = 40 + static_cast<int>(what.size()) * kLetter;
      if (x > 10 && x + wide > width) x = 10, y_ += 22;
      out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" rx=\"2\"/><text class=\"mark{}\" x=\"{}\" y=\"{}\">{}</text>\n", mark.style,
                          x, y_ - 11, mark.style == std::string_view("miss") ? " missing" : "", x + 7, y_, mark.letter);
      text(x + 20, y_, "", what);
      x += wide;
    }
    y_ += 16;
  }

  // What no cell shows.
  void switches() {
    size_t told = 0, left_out = 0;
    for (const Finding& finding : judgement_.findings) {
      const bool is_between = finding.kind == FindingKind::kMissingSwitchLink || finding.kind == FindingKind::kUnequalPlanes ||
                              finding.kind == FindingKind::kNoFabric || finding.kind == FindingKind::kDuplicateName || !has_cell(finding);
      if (!is_between) continue;
      if (++told > 60) {
        ++left_out;
        continue;
      }
      y_ += 16;
      text(10, y_, "", fmt::format("{}: {}", word(finding.kind), model::printable(finding.text, kMostOfLine)));
    }
    if (left_out > 0) text(10, y_ += 16, "soft", fmt::format("and {} more", left_out));
    if (judgement_.findings.empty()) text(10, y_ += 16, "", judgement_.is_fabric_seen ? "no findings" : "no cable is known: nothing can be judged");
  }

  bool has_cell(const Finding& finding) const {
    if (finding.kind == FindingKind::kMissingLink) return true;
    return std::any_of(finding.ports.begin(), finding.ports.end(), [this](size_t port) {
      return map_.devices[map_.ports[port].device].kind == model::DeviceKind::kNic;
    });
  }

  const FabricMap& map_;
  const Rails& rails_;
  const Judgement& judgement_;
  std::unordered_map<size_t, size_t> by_port_;
  std::unordered_map<std::string, size_t> by_name_;
  std::string out_;
  int x_ = 10, y_ = 10, row_height_ = 0, reach_ = 0;
};

std::string findings_html(const Judgement& judgement) {
  std::string out = fmt::format("<h2>{} findings</h2>\n", judgement.findings.size());
  if (judgement.findings.empty()) return out;
  out += "<table><tr><th>kind<th>rail<th>what<th>evidence<th>id</tr>\n";
  for (size_t f = 0; f < judgement.findings.size() && f < kMostFindings; ++f) {
    const Finding& finding = judgement.findings[f];
    out += fmt::format("<tr><td>{}<td>{}<td>{}<td>", word(finding.kind), fmt::join(finding.rails, ", "), escaped(finding.text));
    for (const std::string& line : finding.evidence) out += escaped(line) + "<br>";
    out += fmt::format("<td><code>{}</code></tr>\n", finding.id);
  }
  out += "</table>\n";
  if (judgement.findings.size() > kMostFindings) out += fmt::format("<p>and {} more\n", judgement.findings.size() - kMostFindings);
  return out;
}

// Of the character at the front of `text` in UTF-8, as XML may have it (not U+FFFE, U+FFFF, surrogates); 0: it is none.
size_t character_bytes(std::string_view text) {
  const auto at = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const uint32_t first = at(0);
  const size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  uint32_t code = length < 2 ? first : first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3F);
  }
  const bool is_too_long = (length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10FFFF));
  return is_too_long || (code >= 0xD800 && code < 0xE000) || (code & 0xFFFE) == 0xFFFE ? 0 : length;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0, length = 0; i < text.size(); i += std::max<size_t>(length, 1)) {
    length = character_bytes(text.substr(i));
    if (length != 1) {
      out += length == 0 ? "\xEF\xBF\xBD" : text.substr(i, length);  // U+FFFD, as in the JSON
      continue;
    }
    const char c = text[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string summary_text(const FabricMap& map, const Rails& rails) {
  size_t switches = 0, nics = 0, cables = 0;
  for (const MapDevice& device : map.devices) {
    if (!device.is_seen) continue;
    switches += device.kind == model::DeviceKind::kSwitch ? 1 : 0;
    nics += device.kind == model::DeviceKind::kNic ? 1 : 0;
  }
  for (const MapLink& link : map.links) {
    const bool is_inner = map.devices[map.ports[link.a].device].kind == model::DeviceKind::kAggregation ||
                          map.devices[map.ports[link.b].device].kind == model::DeviceKind::kAggregation;
    cables += link.state != LinkState::kGone && !is_inner ? 1 : 0;
  }
  const auto many = [](size_t n, const char* one, const char* more) { return fmt::format("{} {}", n, n == 1 ? one : more); };
  std::string out = fmt::format("{}, {}, {}, {}", many(rails.hosts.size(), "host", "hosts"), many(nics, "NIC", "NICs"),
                                many(switches, "switch", "switches"), many(cables, "cable", "cables"));
  if (rails.rail_count > 0) {
    out += fmt::format("; {} in {}", many(static_cast<size_t>(rails.rail_count), "rail", "rails"), many(static_cast<size_t>(rails.unit_count), "unit", "units"));
  }
  if (rails.plane_count > 1) out += fmt::format(", {} planes", rails.plane_count);
  return out;
}

std::string picture_svg(const FabricMap& map, const Rails& rails, const Judgement& judgement) {
  return Drawer(map, rails, judgement).svg();
}

std::string picture_html(const FabricMap& map, const Rails& rails, const Judgement& judgement) {
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>railwitness fabric</title>\n<style>{} body{{margin:1rem}} "
      "svg{{max-width:100%;height:auto}} table{{border-collapse:collapse}} td,th{{border-bottom:1px solid var(--line);padding:.25rem .75rem .25rem 0;"
      "text-align:left;vertical-align:top}}</style>\n<body class=\"rw\"><h1>Fabric</h1><p>{}\n",
      kStyle, escaped(summary_text(map, rails)));
  out += picture_svg(map, rails, judgement) + findings_html(judgement) + "<h2>Sources</h2><ul>\n";
  for (size_t i = 0; i < map.sources.size() && i < kMostFindings; ++i) {
    const MapSource& source = map.sources[i];
    out += fmt::format("<li>{} {}{}{}\n", escaped(source.source.kind), escaped(source.source.file), source.is_plan ? " (plan)" : "",
                       source.is_remembered ? " (remembered)" : "");
  }
  out += "</ul>\n";
  if (!judgement.notes.empty()) out += "<h2>Notes</h2><ul>\n";
  for (const std::string& note : judgement.notes) out += "<li>" + escaped(note) + "\n";
  if (!judgement.notes.empty()) out += "</ul>\n";
  return out + "</body></html>\n";
}

}  // namespace railwitness::fabric
