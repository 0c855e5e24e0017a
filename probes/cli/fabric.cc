#include "probes/cli/fabric.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"
#include "probes/cli/arguments.h"
#include "probes/cli/fabric_files.h"
#include "probes/cli/table.h"
#include "probes/fabric/facts_text.h"
#include "probes/fabric/findings.h"
#include "probes/fabric/map.h"
#include "probes/fabric/picture.h"
#include "probes/fabric/rails.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"
#include "railwitness/base/clock.h"

namespace railwitness::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostRemarks = 5;  // of one file, in the lines for people; JSON has all
constexpr size_t kMostNotes = 20;
constexpr size_t kMaxLine = 400;

struct Read {
  std::vector<model::FabricFacts> facts;
  std::vector<model::FabricFacts> remembered;
};

std::string plain(std::string_view text) {
  return model::printable(text, kMaxLine);
}

Answer refused(const char* command, const absl::Status& status) {
  return {kExitUsage, "", fmt::format("railwitness {}: {}\n", command, plain(std::string(status.message())))};
}

absl::Status read_all(const std::vector<std::string>& files, const std::string& kind, const std::string& state, Read& to) {
  for (const std::string& file : files) {
    auto facts = read_fabric_file(file, kind);
    if (!facts.ok()) return facts.status();
    to.facts.push_back(*std::move(facts));
  }
  if (state.empty() || !std::filesystem::exists(state)) return absl::OkStatus();
  const auto bytes = read_whole_file(state);
  if (!bytes.ok()) return bytes.status();
  auto remembered = fabric::parse_state(*bytes);
  if (!remembered.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", state, std::string(remembered.status().message())));
  to.remembered = *std::move(remembered);
  return absl::OkStatus();
}

std::string sources_text(const std::vector<model::FabricFacts>& all) {
  std::string out;
  Table table({"FILE", "KIND", "DEVICES", "CABLES", "EVENTS", "REMARKS"});
  for (const model::FabricFacts& facts : all) {
    table.add({plain(facts.source.file), facts.source.kind + (facts.is_plan ? " (plan)" : ""), std::to_string(facts.devices.size()),
               std::to_string(facts.links.size()), std::to_string(facts.events.size()), std::to_string(facts.remarks.size())});
  }
  out += table.text();
  for (const model::FabricFacts& facts : all) {
    for (size_t r = 0; r < facts.remarks.size() && r < kMostRemarks; ++r) {
      const model::Remark& remark = facts.remarks[r];
      out += fmt::format("  {}{}: {}\n", plain(facts.source.file), remark.line > 0 ? fmt::format(":{}", remark.line) : "", plain(remark.text));
    }
    if (facts.remarks.size() > kMostRemarks) {
      out += fmt::format("  {}: {} more remarks; --json has all\n", plain(facts.source.file), facts.remarks.size() - kMostRemarks);
    }
  }
  return out;
}

std::string findings_text(const fabric::Judgement& judgement) {
  std::string out;
  if (judgement.findings.empty()) {
    out += judgement.is_fabric_seen ? "no findings\n" : "no cable is known: nothing can be judged\n";
  } else {
    out += fmt::format("{} finding{}\n", judgement.findings.size(), judgement.findings.size() == 1 ? "" : "s");
  }
  for (const fabric::Finding& finding : judgement.findings) {
    const std::string rails = finding.rails.empty() ? "" : fmt::format("  ({} {})", finding.rails.size() == 1 ? "rail" : "rails", fmt::join(finding.rails, ", "));
    out += fmt::format("{}  {:<19}  {}{}\n", finding.id, fabric::word(finding.kind), plain(finding.text), rails);
    for (const std::string& line : finding.evidence) out += fmt::format("{:35}{}\n", "", plain(line));
  }
  for (size_t n = 0; n < judgement.notes.size() && n < kMostNotes; ++n) out += "note: " + plain(judgement.notes[n]) + "\n";
  if (judgement.notes.size() > kMostNotes) out += fmt::format("{} more notes; --json has all\n", judgement.notes.size() - kMostNotes);
  return out;
}

std::string fabric_json(const Read& read, const fabric::FabricMap& map, const fabric::Rails& rails, const fabric::Judgement& judgement) {
  ordered_json out{{"type", "fabric"}, {"fabric_seen", judgement.is_fabric_seen}, {"summary", fabric::summary_text(map, rails)}};
  out["sources"] = out["findings"] = ordered_json::array();
  for (const model::FabricFacts& facts : read.facts) {
    ordered_json source{{"file", facts.source.file}, {"kind", facts.source.kind}, {"plan", facts.is_plan}, {"devices", facts.devices.size()},
                        {"cables", facts.links.size()}};
    source["remarks"] = ordered_json::array();
    for (const model::Remark& remark : facts.remarks) source["remarks"].push_back({{"line", remark.line}, {"text", remark.text}});
    out["sources"].push_back(std::move(source));
  }
  for (const fabric::Finding& finding : judgement.findings) {
    out["findings"].push_back({{"id", finding.id},
                               {"kind", fabric::word(finding.kind)},
                               {"text", finding.text},
                               {"components", finding.components},
                               {"wanted", finding.wanted},
                               {"rails", finding.rails},
                               {"evidence", finding.evidence}});
  }
  out["notes"] = judgement.notes;
  return model::dump(out) + "\n";
}

// --- ports

std::string speed_of(const fabric::MapPort& port) {
  std::string text = fabric::speed_text(port.lanes.value_or(0), port.lane_mbps.value_or(0));
  return text.empty() ? "-" : text;
}

std::string age_text(const std::optional<int64_t>& wall_ns) {
  int64_t ns = 0;
  if (!wall_ns || __builtin_sub_overflow(now_wall_ns(), *wall_ns, &ns) || ns < 0) return "-";
  const double s = static_cast<double>(ns) / 1e9;
  return s < 120 ? fmt::format("{:.0f} s", s) : s < 7200 ? fmt::format("{:.0f} min", s / 60) : s < 172'800 ? fmt::format("{:.0f} h", s / 3600) : fmt::format("{:.0f} d", s / 86'400);
}

struct PortRow {
  std::string host, nic, cable, switch_port, rail, plane, speed, source, age, state;
};

std::vector<PortRow> port_rows(const fabric::FabricMap& map, const fabric::Rails& rails, const std::string& host) {
  std::vector<PortRow> out;
  for (const fabric::HostPlace& place : rails.hosts) {
    if (!host.empty() && place.name != host) continue;
    for (const size_t n : place.nics) {
      const fabric::NicPlace& nic = rails.nics[n];
      const fabric::MapLink& link = map.links[map.ports[nic.port].link];
      const fabric::MapSource& source = map.sources[link.sources.back()];
      const int plane = rails.plane_count > 1 ? rails.plane_of_device[nic.leaf] : -1;
      out.push_back({place.name, nic.slot, link.cable.empty() ? "-" : link.cable, map.port_name(nic.leaf_port), nic.rail < 0 ? "-" : std::to_string(nic.rail),
                     plane < 0 ? "-" : std::to_string(plane), speed_of(map.ports[nic.leaf_port].lanes ? map.ports[nic.leaf_port] : map.ports[nic.port]),
                     source.source.kind, age_text(source.source.wall_ns), link.state == fabric::LinkState::kPresent ? "" : "remembered"});
    }
  }
  return out;
}

}  // namespace

Answer run_fabric(const FabricOptions& options) {
  Read read;
  if (const absl::Status status = read_all(options.files, options.kind, options.state, read); !status.ok()) return refused("fabric", status);
  if (!options.plan.empty()) {
    auto plan = read_fabric_file(options.plan, "plan");
    if (!plan.ok()) return refused("fabric", plan.status());
    plan->is_plan = true;
    read.facts.push_back(*std::move(plan));
  }
  const fabric::FabricMap map = fabric::build_map(read.facts, read.remembered);
  const fabric::Rails rails = fabric::find_rails(map);
  const fabric::Judgement judgement = fabric::judge(map, rails);
  for (const auto& [path, is_html] : {std::pair{&options.svg, false}, std::pair{&options.html, true}}) {
    if (path->empty()) continue;
    const absl::Status status = write_whole_file(*path, is_html ? fabric::picture_html(map, rails, judgement) : fabric::picture_svg(map, rails, judgement));
    if (!status.ok()) return refused("fabric", status);
  }
  if (!options.state.empty()) {
    if (const absl::Status status = write_whole_file(options.state, fabric::state_text(fabric::remember(map))); !status.ok()) return refused("fabric", status);
  }
  const int code = judgement.findings.empty() ? kExitOk : kExitFinding;
  if (options.json) return {code, fabric_json(read, map, rails, judgement), ""};
  return {code, sources_text(read.facts) + "\n" + fabric::summary_text(map, rails) + "\n" + findings_text(judgement), ""};
}

Answer run_ports(const PortsOptions& options) {
  std::vector<std::string> files = options.words;
  std::string host;
  const bool is_host = !files.empty() && files[0] != "-" && files[0].find('=') == std::string::npos && !std::filesystem::exists(files[0]);
  if (is_host && (files.size() > 1 || !options.state.empty())) {
    host = files[0];
    files.erase(files.begin());
  }
  Read read;
  if (const absl::Status status = read_all(files, options.kind, options.state, read); !status.ok()) return refused("ports", status);
  const fabric::FabricMap map = fabric::build_map(read.facts, read.remembered);
  const fabric::Rails rails = fabric::find_rails(map);
  const std::vector<PortRow> rows = port_rows(map, rails, host);
  if (!host.empty() && rows.empty()) {
    return refused("ports", absl::NotFoundError(fmt::format("no NIC of a host called {} is plugged into a switch in these files; without a host all are shown", host)));
  }
  if (options.json) {
    ordered_json out{{"type", "ports"}};
    out["ports"] = ordered_json::array();
    for (const PortRow& row : rows) {
      out["ports"].push_back({{"host", row.host}, {"nic", row.nic}, {"cable", row.cable}, {"switch_port", row.switch_port}, {"rail", row.rail},
                              {"plane", row.plane}, {"speed", row.speed}, {"source", row.source}, {"age", row.age}, {"remembered", !row.state.empty()}});
    }
    return {kExitOk, model::dump(out) + "\n", ""};
  }
  Table table({"HOST", "NIC", "CABLE", "SWITCH PORT", "RAIL", "PLANE", "SPEED", "SOURCE", "AGE"});
  for (const PortRow& row : rows) {
    table.add({plain(row.host), plain(row.nic), plain(row.cable), plain(row.switch_port), row.rail, row.plane, row.speed,
               row.source + (row.state.empty() ? "" : " (" + row.state + ")"), row.age});
  }
  return {kExitOk, table.empty() ? "no NIC of a host is plugged into a switch in these files\n" : table.text(), ""};
}

}  // namespace railwitness::cli
