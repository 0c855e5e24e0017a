// libnccl-net-railwitness.so: wires the shims to the witness and the tap. Nothing runs at load or unload: all state is
// constant-initialised, there are no destructors, and -z nodelete keeps the code where NCCL's threads may still be in it.
#include "plugin/shim/wiring.h"
#include "plugin/tap/tap.h"
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>

namespace railwitness {
namespace {

// tap-verbs.so lies beside this library.
bool find_stub(char* path, size_t bytes) {
  Dl_info self;
  if (!dladdr(reinterpret_cast<void*>(&find_stub), &self) || !self.dli_fname) return false;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - self.dli_fname) + 1 : 0;
  const int n = snprintf(path, bytes, "%.*stap-verbs.so", folder, self.dli_fname);
  return n > 0 && static_cast<size_t>(n) < bytes;
}

shim::Started start() {
  const witness::Knobs knobs = witness::read_knobs();
  if (knobs.off) return {.is_off = true, .how = RAILWITNESS_ATTACH_NONE, .why_not = nullptr, .sidecar = nullptr};
  const Status status = witness::begin(knobs);
  if (!status.is_ok())
    return {.is_off = false, .how = RAILWITNESS_ATTACH_NONE, .why_not = status.what(), .sidecar = "no segment"};
  char stub[4096];
  tap::Attached attached{RAILWITNESS_ATTACH_NONE, "the plugin's path is too long; install it elsewhere"};
  if (find_stub(stub, sizeof stub)) attached = tap::attach(stub);
  return {.is_off = false, .how = attached.how, .why_not = attached.why_not, .sidecar = witness::describe_sidecar(),
          .mode_unknown = knobs.mode_unknown};
}

int attach_late() {
  const int contexts = tap::attach_late();
  if (contexts > 0) witness::note_attached(RAILWITNESS_ATTACH_LATE);
  return contexts;
}

}  // namespace

constinit const shim::Wiring shim::wiring{start, attach_late};

}  // namespace railwitness
