#include "plugin/shim/banner.h"

#include "plugin/shim/start.h"
#include "railwitness/base/knobs.h"
#include "railwitness/base/version.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace railwitness::shim {

namespace {

int add(char* text, size_t bytes, const char* format, ...) __attribute__((format(printf, 3, 4)));
int add(char* text, size_t bytes, const char* format, ...) {
  const size_t length = strnlen(text, bytes);
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(text + length, bytes - length, format, arguments);
  va_end(arguments);
  return n;
}

}  // namespace

void format_banner(char* text, size_t bytes, const Started& s, int late_contexts) {
  const char* sidecar = s.sidecar ? s.sidecar : "no sidecar";
  const char* why = s.why_not ? s.why_not : "no reason is known";
  text[0] = 0;
  add(text, bytes, "railwitness %s: ", kVersionText);
  if (s.is_off) {
    add(text, bytes, "off by RAILWITNESS_MODE");
    return;
  }
  if (s.transport) add(text, bytes, "%s, ", s.transport);
  if (s.no_tap)
    add(text, bytes, "%s", sidecar);
  else if (late_contexts > 0)  // NCCL had its devices open already, whatever else would have been possible
    add(text, bytes, "tap by late attach, contexts %d, %s", late_contexts, sidecar);
  else if (s.how == RAILWITNESS_ATTACH_STUB)
    add(text, bytes, "tap by stub, %s", sidecar);
  else if (s.how == RAILWITNESS_ATTACH_TABLE)
    add(text, bytes, "tap by provider table (%s), %s", why, sidecar);
  else
    add(text, bytes, "nothing tapped yet: %s; %s", why, sidecar);
}

void say_banner(nccl::Logger log, const Started& started, int late_contexts) {
  static std::atomic<bool> said{false};
  if (!log || said.exchange(true)) return;
  char text[512];
  format_banner(text, sizeof text, started, late_contexts);
  log(nccl::kLogInfo, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, "%s", text);
  // A warning: the job was told to run over something else than it will, and nothing else says so.
  if (started.no_transport)
    log(nccl::kLogWarn, nccl::kLogInit | nccl::kLogNet, "railwitness", 0,
        "railwitness: RAILWITNESS_MODE can't be had: %s. No devices are offered, so NCCL takes its own transport; "
        "NCCL_NET=railwitness makes that an error", started.no_transport);
  say_problems(log, environ);
}

void start(nccl::Logger log) noexcept { say_banner(log, wiring.start(), 0); }

// Told as information, not as a warning of NCCL's: a warning would stay in ncclGetLastError and be shown by frameworks
// as the reason of whatever fails later.
void say_problems(nccl::Logger log, const char* const* environment) {
  char problems[512];
  if (knobs::describe_problems(environment, knobs::kJob, problems, sizeof problems))
    log(nccl::kLogInfo, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, "railwitness: warning: %s", problems);
}

}  // namespace railwitness::shim
