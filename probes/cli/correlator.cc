#include "probes/cli/correlator.h"

#include <utility>

namespace railwitness::cli {

void Correlator::note_voice(const model::NodeFacts& facts, int64_t now_mono_ns) {
  if (voices_.size() >= kMaxNodes && !voices_.contains(facts.node)) return;
  Voices& voices = voices_[facts.node];
  const Voice now{facts.boot_id, facts.sidecar_start_mono_ns};
  if (now == voices.last) return;
  if (now == voices.before) voices.doubled_mono_ns = now_mono_ns;
  voices.before = std::exchange(voices.last, now);
}

void Correlator::hear(std::vector<model::Heard> arrived, int64_t now_mono_ns) {
  for (model::Heard& heard : arrived) {
    note_voice(heard.facts, now_mono_ns);
    const int64_t arrived_mono_ns = now_mono_ns - heard.age_ns;
    const auto known = index_.find(heard.facts.node);
    if (known == index_.end()) {
      if (heard_.size() >= kMaxNodes) {
        crowded_mono_ns_ = now_mono_ns;
        continue;
      }
      index_.emplace(heard.facts.node, heard_.size());
      heard_.push_back(std::move(heard));
      arrived_mono_ns_.push_back(arrived_mono_ns);
      said_again_.push_back(false);
    } else if (arrived_mono_ns_[known->second] <= arrived_mono_ns) {
      heard_[known->second] = std::move(heard);
      arrived_mono_ns_[known->second] = arrived_mono_ns;
      said_again_[known->second] = true;
    }
  }
}

void Correlator::forget_old(int64_t now_mono_ns) {
  std::map<std::string, size_t> index;
  size_t kept = 0;
  const bool is_full = heard_.size() >= kMaxNodes;
  for (size_t i = 0; i < heard_.size(); ++i) {
    const int64_t silent_ns = now_mono_ns - arrived_mono_ns_[i];
    if (silent_ns > kForgetNs || (is_full && !said_again_[i] && silent_ns > kSaidOnceNs)) {
      voices_.erase(heard_[i].facts.node);
      continue;
    }
    if (kept != i) heard_[kept] = std::move(heard_[i]);
    arrived_mono_ns_[kept] = arrived_mono_ns_[i];
    said_again_[kept] = said_again_[i];
    index.emplace(heard_[kept].facts.node, kept);
    ++kept;
  }
  if (kept == heard_.size()) return;
  heard_.resize(kept);
  arrived_mono_ns_.resize(kept);
  said_again_.resize(kept);
  index_ = std::move(index);
}

Correlator::Word Correlator::think(int64_t now_mono_ns, int64_t now_wall_ns) {
  forget_old(now_mono_ns);
  for (size_t i = 0; i < heard_.size(); ++i) heard_[i].age_ns = now_mono_ns - arrived_mono_ns_[i];
  const std::vector<model::Finding> findings = diagnose::diagnose(heard_, thresholds_, now_wall_ns);
  Word word;
  word.changes = tracker_.update(findings, now_wall_ns);
  if (now_mono_ns - last_probe_mono_ns_ < kProbeEveryNs) return word;
  word.pings = diagnose::plan_pings(heard_, findings, thresholds_, round_ + 1);
  if (!word.pings.empty()) {
    last_probe_mono_ns_ = now_mono_ns;
    ++round_;
  }
  return word;
}

std::vector<std::string> Correlator::nodes_where(bool silent, int64_t now_mono_ns) const {
  std::vector<std::string> out;
  for (const auto& [name, i] : index_) {
    if ((now_mono_ns - arrived_mono_ns_[i] > thresholds_.node_silent_ns) == silent) out.push_back(name);
  }
  return out;
}

std::vector<std::string> Correlator::doubled(int64_t now_mono_ns) const {
  std::vector<std::string> out;
  for (const auto& [name, voices] : voices_) {
    if (voices.doubled_mono_ns != 0 && now_mono_ns - voices.doubled_mono_ns < kTellDoubledNs) out.push_back(name);
  }
  return out;
}

bool Correlator::is_crowded(int64_t now_mono_ns) const {
  return crowded_mono_ns_ != 0 && now_mono_ns - crowded_mono_ns_ < kTellCrowdedNs;
}

std::vector<std::string> Correlator::speaking(int64_t now_mono_ns) const {
  return nodes_where(false, now_mono_ns);
}
std::vector<std::string> Correlator::silent(int64_t now_mono_ns) const {
  return nodes_where(true, now_mono_ns);
}

}  // namespace railwitness::cli
