#include "probes/cli/correlator.h"

#include <utility>

namespace railwitness::cli {

void Correlator::hear(std::vector<model::Heard> arrived, int64_t now_mono_ns) {
  for (model::Heard& heard : arrived) {
    if (nodes_.size() >= kMaxNodes && nodes_.count(heard.facts.node) == 0) continue;
    const int64_t arrived_mono_ns = now_mono_ns - heard.age_ns;
    Node& node = nodes_[heard.facts.node];
    if (node.arrived_mono_ns > arrived_mono_ns && !node.facts.node.empty()) continue;
    node.facts = std::move(heard.facts);
    node.arrived_mono_ns = arrived_mono_ns;
  }
}

Correlator::Word Correlator::think(int64_t now_mono_ns, int64_t now_wall_ns) {
  std::erase_if(nodes_, [&](const auto& node) { return now_mono_ns - node.second.arrived_mono_ns > kForgetNs; });
  std::vector<model::Heard> heard;
  heard.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) heard.push_back({node.facts, now_mono_ns - node.arrived_mono_ns});
  const std::vector<model::Finding> findings = diagnose::diagnose(heard, thresholds_, now_wall_ns);
  Word word;
  word.changes = tracker_.update(findings, now_wall_ns);
  if (now_mono_ns - last_probe_mono_ns_ < kProbeEveryNs) return word;
  word.pings = diagnose::plan_pings(heard, findings, thresholds_, round_ + 1);
  if (!word.pings.empty()) {
    last_probe_mono_ns_ = now_mono_ns;
    ++round_;
  }
  return word;
}

std::vector<std::string> Correlator::nodes_where(bool silent, int64_t now_mono_ns) const {
  std::vector<std::string> out;
  for (const auto& [name, node] : nodes_) {
    if ((now_mono_ns - node.arrived_mono_ns > thresholds_.node_silent_ns) == silent) out.push_back(name);
  }
  return out;
}

std::vector<std::string> Correlator::speaking(int64_t now_mono_ns) const { return nodes_where(false, now_mono_ns); }
std::vector<std::string> Correlator::silent(int64_t now_mono_ns) const { return nodes_where(true, now_mono_ns); }

}  // namespace railwitness::cli
