// Which component do the failing paths share and the healthy ones not? Likelihoods over edges and switches from pairs
// of ports that fail and pairs that work; active probes weigh most. docs/diagnosis.md, "Tomography".
#ifndef RAILWITNESS_PROBES_DIAGNOSE_TOMOGRAPHY_H_
#define RAILWITNESS_PROBES_DIAGNOSE_TOMOGRAPHY_H_

#include <cstdint>
#include <vector>

#include "probes/diagnose/view.h"

namespace railwitness::diagnose {

// A pair of ports between which something does not get through. `b` is kNone where nobody knows the other end.
struct BadPair {
  int a = kNone, b = kNone;
  int64_t onset_age = 0;   // oldest, now
  std::vector<int> flows;  // empty: only an active probe failed here
};

struct Suspect {
  bool is_switch = false;
  int index = kNone;
  bool operator==(const Suspect&) const = default;
};

struct Localisation {
  std::vector<Suspect> suspects;   // several: the facts cannot tell which of these
  std::vector<BadPair> explained;  // pairs with flows that it explains
  int64_t onset_age = 0;
  double confidence = 0;
  bool proven = false;        // probes through it fail, and beside it pass
  bool contradicted = false;  // probes through every suspect pass
};

// Pairs without flows in `bad` are ignored: probes are taken from the view.
std::vector<Localisation> localise(const View& view, const std::vector<BadPair>& bad);

// Probes between two ports, either direction, since `onset_age`.
enum class ProbeWord { kNotProbed, kAnswered, kUnanswered };
ProbeWord probed(const View& view, int a, int b, int64_t onset_age);

// Completions just after the oldest unfinished post may have been under way before the fault; and ages of different
// nodes are known to about the interval at which sidecars read and publish.
inline constexpr int64_t kOnsetSlackNs = 200'000'000;

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_PROBES_DIAGNOSE_TOMOGRAPHY_H_
