#include "plugin/shim/banner.h"

#include "railwitness/base/knobs.h"
#include "railwitness/base/version.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace railwitness::shim {

void format_banner(char* text, size_t bytes, const Started& s, int late_contexts) {
  const char* sidecar = s.sidecar ? s.sidecar : "no sidecar";
  const char* why = s.why_not ? s.why_not : "no reason is known";
  if (s.is_off)
    snprintf(text, bytes, "railwitness %s: off by RAILWITNESS_MODE", kVersionText);
  else if (late_contexts > 0)  // NCCL had its devices open already, whatever else would have been possible
    snprintf(text, bytes, "railwitness %s: tap by late attach, contexts %d, %s", kVersionText, late_contexts, sidecar);
  else if (s.how == RAILWITNESS_ATTACH_STUB)
    snprintf(text, bytes, "railwitness %s: tap by stub, %s", kVersionText, sidecar);
  else if (s.how == RAILWITNESS_ATTACH_TABLE)
    snprintf(text, bytes, "railwitness %s: tap by provider table (%s), %s", kVersionText, why, sidecar);
  else
    snprintf(text, bytes, "railwitness %s: nothing tapped yet: %s; %s", kVersionText, why, sidecar);
  const size_t length = strnlen(text, bytes);
  if (s.mode_unknown) snprintf(text + length, bytes - length, "; RAILWITNESS_MODE is neither tap nor off, tap is taken");
}

void say_banner(nccl::Logger log, const Started& started, int late_contexts) {
  static std::atomic<bool> said{false};
  if (!log || said.exchange(true)) return;
  char text[512];
  format_banner(text, sizeof text, started, late_contexts);
  log(nccl::kLogInfo, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, "%s", text);
  say_problems(log, environ);
}

// Told as information, not as a warning of NCCL's: a warning would stay in ncclGetLastError and be shown by frameworks
// as the reason of whatever fails later.
void say_problems(nccl::Logger log, const char* const* environment) {
  char problems[512];
  if (knobs::describe_problems(environment, knobs::kJob, problems, sizeof problems))
    log(nccl::kLogInfo, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, "railwitness: warning: %s", problems);
}

}  // namespace railwitness::shim
