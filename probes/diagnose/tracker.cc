#include "probes/diagnose/tracker.h"

#include <algorithm>
#include <chrono>

#include "fmt/chrono.h"
#include "fmt/format.h"

namespace railwitness::diagnose {
namespace {

using model::Class;
using model::Component;
using model::ComponentKind;
using model::Finding;
using model::Incident;
using model::IncidentState;

constexpr size_t kMaxOpen = 1024;

enum class Family { kFabric, kProcess, kOther };

Family family_of(Class cls) {
  switch (cls) {
    case Class::kLink:
    case Class::kSwitch:
    case Class::kCongestion:
    case Class::kUnknown:
      return Family::kFabric;
    case Class::kRankDead:
    case Class::kRankHung:
      return Family::kProcess;
    default:
      return Family::kOther;
  }
}

bool same(const Component& a, const Component& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case ComponentKind::kNode:
      return a.node == b.node;
    case ComponentKind::kRank:
      return a.node == b.node && a.rank == b.rank && a.pid == b.pid;
    case ComponentKind::kEdge:
      return a.node == b.node && a.device == b.device && a.port == b.port && a.gid == b.gid;
    case ComponentKind::kSwitch:
      return a.switch_name == b.switch_name && (!a.switch_name.empty() || a.rail == b.rail);
    case ComponentKind::kGpu:
      return a.node == b.node && a.rank == b.rank;
  }
  return false;
}

// The same component, or a part of it: an edge and the switch it leads to.
bool related(const Component& a, const Component& b) {
  if (same(a, b)) return true;
  if (a.kind == ComponentKind::kSwitch && b.kind == ComponentKind::kEdge) {
    return a.switch_name.empty() ? a.rail == b.rail : a.switch_name == b.switch_name;
  }
  return a.kind == ComponentKind::kEdge && b.kind == ComponentKind::kSwitch && related(b, a);
}

bool contains(const std::vector<Component>& set, const Component& item) {
  return std::any_of(set.begin(), set.end(), [&](const Component& c) { return same(c, item); });
}

bool subset(const std::vector<Component>& a, const std::vector<Component>& b) {
  return std::all_of(a.begin(), a.end(), [&](const Component& c) { return contains(b, c); });
}

bool same_set(const std::vector<Component>& a, const std::vector<Component>& b) {
  return subset(a, b) && subset(b, a);
}

bool overlap(const std::vector<Component>& a, const std::vector<Component>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Component& c) {
    return std::any_of(b.begin(), b.end(), [&](const Component& d) { return related(c, d); });
  });
}

bool same_job(const Finding& a, const Finding& b) {
  if (a.comm_hash && b.comm_hash) return *a.comm_hash == *b.comm_hash;
  return !a.job.empty() && a.job == b.job;
}

bool share_node(const Finding& a, const Finding& b) {
  return std::any_of(a.culprit.begin(), a.culprit.end(), [&](const Component& c) {
    return std::any_of(b.culprit.begin(), b.culprit.end(),
                       [&](const Component& d) { return !c.node.empty() && c.node == d.node; });
  });
}

// The same cause as `incident`'s, seen better or worse.
bool continues(const Finding& finding, const Incident& incident) {
  const Finding& known = incident.finding;
  if (family_of(finding.cls) == family_of(known.cls)) {
    if (overlap(finding.culprit, known.culprit)) return true;
    // A stall of unknown cause and a suspicion in the same job are one stall.
    const bool unknown = finding.cls == Class::kUnknown || known.cls == Class::kUnknown;
    return unknown && same_job(finding, known);
  }
  // What was a suspicion turns out to be something else on one of the suspected nodes.
  return incident.state == IncidentState::kSuspected && finding.state == IncidentState::kConfirmed &&
         same_job(finding, known) && share_node(finding, known);
}

// Facts fluctuate: probes grow old, evidence scrolls by. What was known better before stays.
bool is_weaker(const Finding& finding, const Incident& incident) {
  if (finding.state == IncidentState::kConfirmed) return false;
  if (incident.state == IncidentState::kConfirmed) return true;
  const std::vector<Component>& known = incident.finding.culprit;
  return !known.empty() && known.size() < finding.culprit.size() && subset(known, finding.culprit);
}

// True if that is worth saying.
bool sharpen(Incident& incident, const Finding& finding, int64_t now_wall_ns) {
  incident.updated_wall_ns = now_wall_ns;
  if (is_weaker(finding, incident)) return false;
  const bool changed = incident.state != finding.state || incident.finding.cls != finding.cls ||
                       incident.finding.subclass != finding.subclass ||
                       !same_set(incident.finding.culprit, finding.culprit);
  incident.state = finding.state;
  incident.finding = finding;
  if (finding.onset_wall_ns > 0) incident.onset_wall_ns = std::min(incident.onset_wall_ns, finding.onset_wall_ns);
  return changed;
}

bool is_incident(const Finding& finding) {
  return finding.cls != Class::kWait && finding.cls != Class::kNone;
}

std::string stamp(int64_t wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(std::max<int64_t>(wall_ns, 0) / 1'000'000'000);
  return fmt::format("{:%Y%m%dT%H%M%S}", fmt::gmtime(seconds));
}

}  // namespace

Incident Tracker::open_new(const Finding& finding, int64_t now_wall_ns) {
  Incident incident;
  incident.id = fmt::format("{}-{}-{:04}", stamp(now_wall_ns), id_prefix_, ++counter_);
  incident.finding = finding;
  incident.state = finding.state;
  incident.onset_wall_ns = finding.onset_wall_ns > 0 ? finding.onset_wall_ns : now_wall_ns;
  incident.detected_wall_ns = incident.updated_wall_ns = now_wall_ns;
  return incident;
}

Changes Tracker::update(const std::vector<Finding>& findings, int64_t now_wall_ns) {
  Changes changes;
  std::vector<char> continued(open_.size(), 0);
  std::vector<char> taken(findings.size(), 0);
  // Exactly the same cause first, so that of two faults with overlapping suspects each keeps its incident.
  for (const bool exact : {true, false}) {
    for (size_t f = 0; f < findings.size(); ++f) {
      if (taken[f] || !is_incident(findings[f])) continue;
      for (size_t i = 0; i < continued.size(); ++i) {
        if (continued[i]) continue;
        const bool match =
            exact ? open_[i].finding.cls == findings[f].cls && same_set(open_[i].finding.culprit, findings[f].culprit)
                  : continues(findings[f], open_[i]);
        if (!match) continue;
        continued[i] = taken[f] = 1;
        if (sharpen(open_[i], findings[f], now_wall_ns)) changes.incidents.push_back(open_[i]);
        break;
      }
    }
  }
  for (size_t f = 0; f < findings.size(); ++f) {
    if (taken[f] || !is_incident(findings[f]) || open_.size() >= kMaxOpen) continue;
    if (!has_persisted(findings[f], now_wall_ns)) continue;
    open_.push_back(open_new(findings[f], now_wall_ns));
    changes.incidents.push_back(open_.back());
  }
  std::erase_if(pending_, [&](const Pending& pending) { return now_wall_ns - pending.last_wall_ns >= kPersistNs; });
  close_quiet(findings, now_wall_ns, changes);
  update_waits(findings, now_wall_ns, changes);
  return changes;
}

bool Tracker::has_persisted(const Finding& finding, int64_t now_wall_ns) {
  if (finding.state == IncidentState::kConfirmed) return true;
  for (Pending& pending : pending_) {
    const bool same_cause =
        family_of(finding.cls) == family_of(pending.finding.cls) && overlap(finding.culprit, pending.finding.culprit);
    if (!same_cause) continue;
    pending.finding = finding;
    pending.last_wall_ns = now_wall_ns;
    return now_wall_ns - pending.first_wall_ns >= kPersistNs;
  }
  if (pending_.size() < kMaxOpen) pending_.push_back({finding, now_wall_ns, now_wall_ns});
  return false;
}

void Tracker::close_quiet(const std::vector<Finding>& findings, int64_t now_wall_ns, Changes& changes) {
  for (Incident& incident : open_) {
    if (now_wall_ns - incident.updated_wall_ns < kQuietNs) continue;
    const bool still_stuck =
        std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return same_job(f, incident.finding); });
    const bool recovered = incident.state == IncidentState::kConfirmed || !still_stuck;
    incident.state = recovered ? IncidentState::kRecovered : IncidentState::kWithdrawn;
    if (recovered) incident.recovered_wall_ns = incident.updated_wall_ns;
    incident.updated_wall_ns = now_wall_ns;
    changes.incidents.push_back(incident);
  }
  std::erase_if(open_, [](const Incident& incident) {
    return incident.state == IncidentState::kRecovered || incident.state == IncidentState::kWithdrawn;
  });
}

void Tracker::update_waits(const std::vector<Finding>& findings, int64_t now_wall_ns, Changes& changes) {
  std::erase_if(waits_, [&](const SeenWait& wait) { return now_wall_ns - wait.seen_wall_ns >= kQuietNs; });
  for (const Finding& finding : findings) {
    if (finding.cls != Class::kWait) continue;
    const auto known = std::find_if(waits_.begin(), waits_.end(), [&](const SeenWait& wait) {
      return (finding.subclass == "cycle") == (wait.finding.subclass == "cycle") &&
             same_set(wait.finding.culprit, finding.culprit);
    });
    if (known == waits_.end()) {
      if (waits_.size() < kMaxOpen) waits_.push_back({finding, now_wall_ns, now_wall_ns, false});
      continue;
    }
    known->finding = finding;
    known->seen_wall_ns = now_wall_ns;
    if (known->said || now_wall_ns - known->first_wall_ns < kSeenAgainNs) continue;
    known->said = true;
    changes.waits.push_back(finding);
  }
}

}  // namespace railwitness::diagnose
