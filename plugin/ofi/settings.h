// The knobs of mode ofi, read once; docs/job-owner.md lists them for people.
#ifndef RAILWITNESS_PLUGIN_OFI_SETTINGS_H_
#define RAILWITNESS_PLUGIN_OFI_SETTINGS_H_

#include "railwitness/nccl/common.h"

#include <cstdint>

namespace railwitness::ofi {

enum class Wait { kAuto, kSpin, kSleep };

struct Settings {
  char provider[33];          // RAILWITNESS_OFI_PROVIDER; empty: the first that is there, see devices.cc
  char interfaces[512];       // RAILWITNESS_OFI_IFNAME, else NCCL_SOCKET_IFNAME; NCCL's syntax
  uint32_t connect_timeout_s; // RAILWITNESS_OFI_CONNECT_TIMEOUT, 0: none
  Wait wait;                  // RAILWITNESS_OFI_WAIT: auto, spin, sleep
  bool prefers_ipv6;          // NCCL_SOCKET_FAMILY=AF_INET6
};

Settings read_settings();

// Whether `name` is wanted by a list in NCCL_SOCKET_IFNAME's syntax: names separated by commas, each a prefix; "=" before
// the list: whole names; "^" before it: all but these. An empty list wants everything.
bool is_wanted(const char* list, const char* name);

// NCCL's logger once init() has given one; before that nothing is said. The text is cut at 480 characters.
void set_logger(nccl::Logger log);
[[gnu::format(printf, 2, 3)]] void say(nccl::LogLevel level, const char* format, ...);

// A number of this boot of this host: what runs on the same processors has the same.
uint64_t host_id();
uint64_t random_64();

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_SETTINGS_H_
