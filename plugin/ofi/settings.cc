#include "plugin/ofi/settings.h"

#include "railwitness/base/fnv1a.h"
#include "railwitness/base/knobs.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

namespace railwitness::ofi {
namespace {

const char* value_of(const char* name) {
  const char* value = getenv(name);
  return value && *value ? value : nullptr;
}

// A wrong value is told by the banner; the default is taken.
uint32_t number_of(const char* name) {
  const knobs::Knob* knob = knobs::find(name);
  const char* value = value_of(name);
  int64_t number = 0;
  if (!value || !knobs::parse_number(*knob, value, number)) knobs::parse_number(*knob, knob->standard, number);
  return static_cast<uint32_t>(number);
}

constinit std::atomic<nccl::Logger> logger{nullptr};

}  // namespace

Settings read_settings() {
  Settings s{};
  if (const char* provider = value_of("RAILWITNESS_OFI_PROVIDER")) snprintf(s.provider, sizeof s.provider, "%s", provider);
  const char* interfaces = value_of("RAILWITNESS_OFI_IFNAME");
  if (!interfaces) interfaces = value_of("NCCL_SOCKET_IFNAME");
  if (interfaces) snprintf(s.interfaces, sizeof s.interfaces, "%s", interfaces);
  s.connect_timeout_s = number_of("RAILWITNESS_OFI_CONNECT_TIMEOUT");
  const char* wait = value_of("RAILWITNESS_OFI_WAIT");
  s.wait = wait && !strcasecmp(wait, "spin") ? Wait::kSpin : wait && !strcasecmp(wait, "sleep") ? Wait::kSleep : Wait::kAuto;
  const char* family = value_of("NCCL_SOCKET_FAMILY");
  s.prefers_ipv6 = family && !strcasecmp(family, "AF_INET6");
  return s;
}

bool is_wanted(const char* list, const char* name) {
  const bool excludes = *list == '^';
  if (excludes) list++;
  const bool whole = *list == '=';
  if (whole) list++;
  if (!*list) return true;
  const size_t length = strlen(name);
  while (*list) {
    const size_t n = strcspn(list, ",");
    if (n > 0 && !strncmp(list, name, n) && (!whole || n == length)) return !excludes;
    list += n;
    if (*list == ',') list++;
  }
  return excludes;
}

void set_logger(nccl::Logger log) {
  if (log) logger.store(log, std::memory_order_relaxed);
}

void say(nccl::LogLevel level, const char* format, ...) {
  const nccl::Logger log = logger.load(std::memory_order_relaxed);
  if (!log) return;
  char text[480];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log(level, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, "NET/railwitness ofi: %s", text);
}

uint64_t host_id() {
  char text[64] = {};
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
  if (fd >= 0) close(fd);
  if (n <= 0 && gethostname(text, sizeof text - 1) == 0) n = static_cast<ssize_t>(strlen(text));
  return fnv1a_64(text, n > 0 ? static_cast<size_t>(n) : 0);
}

uint64_t random_64() {
  uint64_t value = 0;
  if (getrandom(&value, sizeof value, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof value)) return value;
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return (static_cast<uint64_t>(t.tv_nsec) << 32 ^ static_cast<uint64_t>(t.tv_sec)) * 6364136223846793005u +
         static_cast<uint64_t>(getpid());
}

}  // namespace railwitness::ofi
