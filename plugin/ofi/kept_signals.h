// Keeps the job's signal handlers while libfabric is loaded: Debian's libfabric pulls in PSM's libraries, whose
// constructors take SIGTERM, SIGINT, SIGSEGV and others for themselves and end the process with status 1, and its shm
// provider takes some as well. A job that saves its state on SIGTERM would be lost.
#ifndef RAILWITNESS_PLUGIN_OFI_KEPT_SIGNALS_H_
#define RAILWITNESS_PLUGIN_OFI_KEPT_SIGNALS_H_

#include <csignal>

namespace railwitness::ofi {

// Puts back, when it ends, every handler that was changed since it began. A handler that another thread of the job sets
// in between is lost; loading takes some milliseconds, once a process.
class KeptSignals {
 public:
  KeptSignals() noexcept {
    for (int signal = 1; signal < kSignals; signal++) known_[signal] = sigaction(signal, nullptr, &before_[signal]) == 0;
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;
  ~KeptSignals() {
    for (int signal = 1; signal < kSignals; signal++) {
      struct sigaction now;
      if (!known_[signal] || sigaction(signal, nullptr, &now) != 0) continue;
      if (now.sa_sigaction != before_[signal].sa_sigaction || now.sa_flags != before_[signal].sa_flags)
        sigaction(signal, &before_[signal], nullptr);
    }
  }

 private:
  static constexpr int kSignals = 32;  // those with names; nobody takes the real-time ones by a constructor
  struct sigaction before_[kSignals];
  bool known_[kSignals];
};

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_KEPT_SIGNALS_H_
