// What the shims start. The shims know NCCL but not the tap; plugin.cc knows both and defines `wiring`.
#ifndef RAILWITNESS_PLUGIN_SHIM_WIRING_H_
#define RAILWITNESS_PLUGIN_SHIM_WIRING_H_

#include "railwitness/abi/segment.h"

namespace railwitness::shim {

struct Started {
  bool is_off;
  railwitness_attach how;
  const char* why_not;  // why not by the stub, and what to do about it; null if by the stub
  const char* sidecar;  // in words
  const char* transport = nullptr;     // in words; null: none, NCCL keeps its own
  const char* no_transport = nullptr;  // why RAILWITNESS_MODE's could not be had, and the way out; null: it could
  bool no_tap = false;                 // nothing is to stand before libibverbs
};

struct Wiring {
  Started (*start)();     // idempotent
  int (*attach_late)();   // how many more contexts
};
extern const Wiring wiring;

}  // namespace railwitness::shim

#endif  // RAILWITNESS_PLUGIN_SHIM_WIRING_H_
