// Whether to log one more line that jobs cause: a line each for a job that starts or has something to be said of, a number for
// a flood, which otherwise would fill the log of the node. One thread.
#ifndef RAILWITNESS_PROBES_SIDECAR_LINE_BUDGET_H_
#define RAILWITNESS_PROBES_SIDECAR_LINE_BUDGET_H_

#include <cstdint>
#include <utility>

namespace railwitness::sidecar {

class LineBudget {
 public:
  // True: worth a line of its own.
  bool take(int64_t now_mono_ns) {
    if (untold_ == 0 && now_mono_ns - begin_mono_ns_ >= kSpanNs) begin(now_mono_ns);
    if (lines_ < kLinesASpan) return ++lines_, true;
    ++untold_;
    return false;
  }
  // How many got none, once in a span; 0: nothing to say now.
  uint64_t take_untold(int64_t now_mono_ns) {
    if (untold_ == 0 || now_mono_ns - begin_mono_ns_ < kSpanNs) return 0;
    begin(now_mono_ns);
    return std::exchange(untold_, 0);
  }

  static constexpr int64_t kSpanNs = 10'000'000'000;
  static constexpr uint32_t kLinesASpan = 16;  // two jobs of eight ranks

 private:
  void begin(int64_t now_mono_ns) {
    begin_mono_ns_ = now_mono_ns;
    lines_ = 0;
  }
  int64_t begin_mono_ns_ = 0;
  uint32_t lines_ = 0;
  uint64_t untold_ = 0;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_LINE_BUDGET_H_
