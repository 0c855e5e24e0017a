// How far a loop was behind its schedule lately: what a starved sidecar says about probes is worth nothing.
#ifndef RAILWITNESS_PROBES_SIDECAR_LATENESS_H_
#define RAILWITNESS_PROBES_SIDECAR_LATENESS_H_

#include <algorithm>
#include <cstdint>

namespace railwitness::sidecar {

// The longest of the last five to ten seconds, in two halves, so that nothing has to be kept per turn.
class Lateness {
 public:
  void note(int64_t late_ns, int64_t now_mono_ns) {
    roll(now_mono_ns);
    current_ns_ = std::max(current_ns_, late_ns);
  }
  int64_t longest(int64_t now_mono_ns) {
    roll(now_mono_ns);
    return std::max(current_ns_, previous_ns_);
  }

 private:
  static constexpr int64_t kHalfNs = 5'000'000'000;

  void roll(int64_t now_mono_ns) {
    if (now_mono_ns - begin_mono_ns_ < kHalfNs) return;
    previous_ns_ = now_mono_ns - begin_mono_ns_ < 2 * kHalfNs ? current_ns_ : 0;
    current_ns_ = 0;
    begin_mono_ns_ = now_mono_ns;
  }

  int64_t begin_mono_ns_ = 0;
  int64_t current_ns_ = 0, previous_ns_ = 0;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_LATENESS_H_
