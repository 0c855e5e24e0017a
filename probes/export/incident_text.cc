#include "probes/export/incident_text.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "fmt/chrono.h"
#include "fmt/format.h"
#include "probes/model/json_text.h"
#include "probes/model/words.h"

namespace railwitness::exporter {
namespace {

using model::Component;
using model::ComponentKind;
using model::Finding;
using model::Incident;
using nlohmann::ordered_json;

constexpr size_t kMaxLine = 160;

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut(std::string_view text, size_t most) {
  if (characters(text) <= most) return std::string(text);
  size_t bytes = 0, seen = 0;
  while (bytes < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (starts && seen++ == most - 1) break;
    ++bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string rfc3339(int64_t wall_ns) {
  const int64_t ms = std::max<int64_t>(wall_ns, 0) / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

double seconds_between(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(std::max<int64_t>(to_ns - from_ns, 0)) / 1e9;
}

// --- components

// A cable without label is named by its two ends.
std::string cable_name(const Component& c) {
  if (!c.cable.empty()) return c.cable;
  const std::string& near = c.netdev.empty() ? c.device : c.netdev;
  return near.empty() || c.switch_port.empty() ? std::string() : fmt::format("{}–{}", near, c.switch_port);
}

std::string nic_port(const Component& c) {
  if (!c.device.empty()) return c.port ? fmt::format("{}/{}", c.device, *c.port) : c.device;
  return c.gid.empty() ? c.netdev : model::address_text(c.gid);
}

std::string path_of(const Component& c) {
  std::string out = nic_port(c);
  if (c.kind != ComponentKind::kEdge) return {};
  if (const std::string cable = cable_name(c); !cable.empty()) out += fmt::format(" ► cable {}", cable);
  if (!c.switch_name.empty()) {
    out += c.switch_port.empty() ? fmt::format(" ► {}", c.switch_name)
                                 : fmt::format(" ► {}:{}", c.switch_name, c.switch_port);
  }
  return out;
}

std::string short_name(const Component& c) {
  switch (c.kind) {
    case ComponentKind::kNode:
      return c.node;
    case ComponentKind::kRank:
    case ComponentKind::kGpu:
      if (c.rank) return fmt::format("rank {}", *c.rank);
      return c.pid ? fmt::format("pid {}", *c.pid) : std::string("a process");
    case ComponentKind::kEdge:
      if (c.node.empty()) return nic_port(c);
      return c.rail ? fmt::format("{} rail {}", c.node, *c.rail) : fmt::format("{} {}", c.node, nic_port(c));
    case ComponentKind::kSwitch:
      if (!c.switch_name.empty()) return c.switch_name;
      return c.rail ? fmt::format("switch of rail {}", *c.rail) : std::string("a switch");
  }
  return {};
}

std::string where(const Component& c) {
  if (c.kind == ComponentKind::kRank || c.kind == ComponentKind::kGpu) {
    return fmt::format("{} on {}{}", short_name(c), c.node, c.pid && c.rank ? fmt::format(" pid {}", *c.pid) : "");
  }
  return short_name(c);
}

std::string joined_names(const std::vector<Component>& components, size_t most) {
  std::string out;
  for (size_t i = 0; i < components.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + short_name(components[i]);
  if (components.size() > most) out += fmt::format(" +{}", components.size() - most);
  return out;
}

// --- the line

// A part of the line; parts of larger `expendable` are dropped first, 0 never.
struct Part {
  std::string text;
  int expendable = 0;
};

std::string fitted(std::vector<Part> parts) {
  const auto line = [&] {
    std::string out;
    for (const Part& part : parts) {
      if (!part.text.empty()) out += (out.empty() ? "" : "  ") + part.text;
    }
    return out;
  };
  while (characters(line()) > kMaxLine) {
    const auto least = std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return (a.text.empty() ? 0 : a.expendable) < (b.text.empty() ? 0 : b.expendable);
    });
    if (least == parts.end() || least->text.empty() || least->expendable == 0) break;
    least->text.clear();
  }
  return cut(line(), kMaxLine);
}

std::string subclass_words(const Finding& finding) {
  std::string out = finding.subclass;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::vector<Part> culprit_parts(const Finding& finding) {
  if (finding.culprit.empty()) return {{"culprit unknown", 0}};
  if (finding.culprit.size() == 1) {
    const Component& only = finding.culprit[0];
    std::vector<Part> parts = {{where(only), 0}, {path_of(only), 2}};
    if (only.kind == ComponentKind::kEdge && !only.edge_present) {
      parts.push_back(
          {fmt::format("({} {:.0f} s ago)", only.edge_source, static_cast<double>(only.edge_age_ns.value_or(0)) / 1e9),
           4});
    }
    return parts;
  }
  return {{fmt::format("one of: {}", joined_names(finding.culprit, 4)), 0}};
}

Part exonerated_part(const Finding& finding) {
  if (finding.exonerated.empty()) return {};
  const bool process_class = finding.cls == model::Class::kRankDead || finding.cls == model::Class::kRankHung;
  if (process_class) return {"fabric exonerated", 5};
  for (const Component& c : finding.exonerated) {
    if (c.kind == ComponentKind::kRank) return {fmt::format("{} exonerated", short_name(c)), 5};
  }
  return {fmt::format("{} exonerated", joined_names(finding.exonerated, 2)), 5};
}

Part blocked_part(const Finding& finding) {
  if (finding.ranks_blocked.empty()) return {finding.job.empty() ? "" : fmt::format("job {}", finding.job), 6};
  const size_t n = finding.ranks_blocked.size();
  return {fmt::format("{}blocked {} rank{}", finding.job.empty() ? "" : fmt::format("job {} ", cut(finding.job, 24)), n,
                      n == 1 ? "" : "s"),
          1};
}

// --- JSON

void put(ordered_json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}

ordered_json component_json(const Component& c) {
  ordered_json out;
  out["kind"] = std::string(word(c.kind));
  put(out, "node", c.node);
  if (c.rail) out["rail"] = *c.rail;
  put(out, "device", c.device);
  if (c.port) out["port"] = *c.port;
  put(out, "netdev", c.netdev);
  put(out, "gid", c.gid);
  if (c.kind == ComponentKind::kEdge) put(out, "cable", cable_name(c));
  put(out, "switch", c.switch_name);
  put(out, "switch_port", c.switch_port);
  if (c.rank) out["rank"] = *c.rank;
  if (c.pid) out["pid"] = *c.pid;
  if (c.kind == ComponentKind::kEdge && !c.edge_source.empty()) {
    out["edge_source"] = c.edge_source;
    if (c.edge_age_ns) out["edge_age_s"] = static_cast<double>(*c.edge_age_ns / 1'000'000) / 1e3;
    out["edge_present"] = c.edge_present;
  }
  return out;
}

ordered_json components_json(const std::vector<Component>& components) {
  ordered_json out = ordered_json::array();
  for (const Component& c : components) out.push_back(component_json(c));
  return out;
}

ordered_json evidence_json(const std::vector<model::Evidence>& evidence) {
  ordered_json out = ordered_json::array();
  for (const model::Evidence& item : evidence) {
    ordered_json one;
    one["text"] = item.text;
    one["kind"] = item.kind;
    put(one, "node", item.node);
    out.push_back(std::move(one));
  }
  return out;
}

std::string dumped(const ordered_json& value) {
  return model::dump(value);
}

// 64-bit numbers are text: many readers of JSON round them.
ordered_json comm_json(const Finding& finding) {
  return finding.comm_hash ? ordered_json(fmt::format("{:016x}", *finding.comm_hash)) : ordered_json(nullptr);
}

std::string ranks_text(const std::vector<int32_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size() && i < 8; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > 8) out += fmt::format(" and {} more", ranks.size() - 8);
  return out;
}

}  // namespace

std::string one_line(const Incident& incident, int64_t now_wall_ns) {
  const Finding& finding = incident.finding;
  const int64_t end = incident.recovered_wall_ns.value_or(now_wall_ns);
  std::vector<Part> parts = {
      {fmt::format("{} {} {:.2f}", word(finding.cls), word(incident.state), finding.confidence), 0}};
  for (Part& part : culprit_parts(finding)) parts.push_back(std::move(part));
  parts.push_back(
      {fmt::format("{} {:.1f} s", subclass_words(finding), seconds_between(incident.onset_wall_ns, end)), 0});
  parts.push_back(blocked_part(finding));
  parts.push_back(exonerated_part(finding));
  if (!finding.blind.empty()) {
    parts.push_back({fmt::format("blind: {}{}", finding.blind[0],
                                 finding.blind.size() > 1 ? fmt::format(" +{}", finding.blind.size() - 1) : ""),
                     3});
  }
  return fitted(std::move(parts));
}

std::string to_json(const Incident& incident, int64_t now_wall_ns) {
  const Finding& finding = incident.finding;
  ordered_json out;
  out["type"] = "incident";
  out["id"] = incident.id;
  out["class"] = std::string(word(finding.cls));
  out["subclass"] = finding.subclass;
  out["state"] = std::string(word(incident.state));
  out["confidence"] = static_cast<double>(static_cast<int64_t>(finding.confidence * 100 + 0.5)) / 100;
  out["job"] = finding.job;
  out["comm"] = comm_json(finding);
  out["ranks_blocked"] = finding.ranks_blocked;
  out["onset"] = rfc3339(incident.onset_wall_ns);
  out["detected"] = rfc3339(incident.detected_wall_ns);
  out["updated"] = rfc3339(incident.updated_wall_ns);
  out["recovered"] =
      incident.recovered_wall_ns ? ordered_json(rfc3339(*incident.recovered_wall_ns)) : ordered_json(nullptr);
  out["culprit"] = components_json(finding.culprit);
  out["path"] = finding.culprit.size() == 1 ? path_of(finding.culprit[0]) : std::string();
  out["evidence_for"] = evidence_json(finding.evidence_for);
  out["evidence_against"] = evidence_json(finding.evidence_against);
  out["alternatives"] = ordered_json::array();
  out["exonerated"] = components_json(finding.exonerated);
  out["blind"] = finding.blind;
  out["line"] = one_line(incident, now_wall_ns);
  return dumped(out);
}

std::string wait_line(const Finding& finding, int64_t now_wall_ns) {
  const double since = seconds_between(finding.onset_wall_ns, now_wall_ns);
  if (finding.subclass == "cycle" || finding.culprit.empty()) {
    return cut(
        fmt::format("ranks {} wait for each other since {:.1f} s ({})", ranks_text(finding.ranks_blocked), since,
                    finding.evidence_against.empty() ? "their rails are being probed" : "their rails answer probes"),
        kMaxLine);
  }
  std::string how;
  if (!finding.evidence_for.empty() && finding.evidence_for[0].kind == "process") {
    how = fmt::format(" ({})", finding.evidence_for[0].text);
  }
  const Component& on = finding.culprit[0];
  return cut(fmt::format("waiting for {} on {} since {:.1f} s{}", short_name(on), on.node, since, how), kMaxLine);
}

std::string wait_to_json(const Finding& finding, int64_t now_wall_ns) {
  ordered_json out;
  out["type"] = "wait";
  out["class"] = std::string(word(finding.cls));
  out["subclass"] = finding.subclass;
  out["job"] = finding.job;
  out["comm"] = comm_json(finding);
  out["ranks_blocked"] = finding.ranks_blocked;
  out["onset"] = rfc3339(finding.onset_wall_ns);
  out["culprit"] = components_json(finding.culprit);
  out["evidence_for"] = evidence_json(finding.evidence_for);
  out["evidence_against"] = evidence_json(finding.evidence_against);
  out["blind"] = finding.blind;
  out["line"] = wait_line(finding, now_wall_ns);
  return dumped(out);
}

}  // namespace railwitness::exporter
