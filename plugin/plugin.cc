// libnccl-net-railwitness.so: wires the shims to the witness and the tap. Nothing runs at load or unload: all state is
// constant-initialised, there are no destructors, and -z nodelete keeps the code where NCCL's threads may still be in it.
#include "plugin/chain/chain.h"
#include "plugin/engine/collnet.h"
#include "plugin/engine/engine.h"
#include "plugin/ofi/ofi.h"
#include "plugin/shim/wiring.h"
#include "plugin/tap/tap.h"
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/shared_word.h"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

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

// As the environment was at the first init: what the job sets later does not change half of what runs already, and the
// environment is read while a job is least likely to write to it.
constinit witness::Knobs kept_knobs{};
constinit pthread_once_t once = PTHREAD_ONCE_INIT;

const witness::Knobs& settled_knobs() {
  pthread_once(&once, [] { kept_knobs = witness::read_knobs(); });
  return kept_knobs;
}

// The transport that RAILWITNESS_MODE names, if it is one: opened once, by whoever comes first.
struct Chosen {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool is_made = false;
  const char* transport = nullptr;
  const char* why_not = nullptr;
};
constinit Chosen chosen;

void open_transport() {
  engine::Transport* transport = nullptr;
  if (settled_knobs().mode == witness::Mode::kOfi) {
    transport = ofi::open(&chosen.why_not);
  } else {
    const chain::Opened opened = chain::open(settled_knobs().plugin);
    transport = opened.transport;
    chosen.why_not = opened.why_not;
    if (opened.collnet) engine::choose_collnet(opened.collnet);
  }
  if (!transport) return;
  engine::choose_transport(transport);
  chosen.transport = transport->description();
  chosen.why_not = nullptr;
  witness::note_attached(settled_knobs().mode == witness::Mode::kOfi ? RAILWITNESS_ATTACH_OFI : RAILWITNESS_ATTACH_CHAIN);
}

void choose_transport(shim::Started& started) {
  if (settled_knobs().mode != witness::Mode::kOfi && settled_knobs().mode != witness::Mode::kChain) return;
  if (!load_acquire(chosen.is_made)) {
    static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;  // a child may inherit it locked, by a thread that it has not
    pthread_once(&fork_handler, [] { pthread_atfork(nullptr, nullptr, [] { chosen.mutex = PTHREAD_MUTEX_INITIALIZER; }); });
    pthread_mutex_lock(&chosen.mutex);
    if (!chosen.is_made) open_transport();
    store_release(chosen.is_made, true);
    pthread_mutex_unlock(&chosen.mutex);
  }
  started.transport = chosen.transport;
  started.no_transport = chosen.transport ? nullptr : chosen.why_not ? chosen.why_not : "no reason is known";
}

shim::Started start() {
  if (settled_knobs().mode == witness::Mode::kOff)
    return {.is_off = true, .how = RAILWITNESS_ATTACH_NONE, .why_not = nullptr, .sidecar = nullptr};
  const Status status = witness::begin(settled_knobs());
  shim::Started started{.is_off = false, .how = RAILWITNESS_ATTACH_NONE, .why_not = nullptr,
                        .sidecar = "no segment",
                        .no_tap = settled_knobs().mode == witness::Mode::kOfi};
  if (!status.is_ok()) {
    started.why_not = status.what();  // nothing is witnessed; the transport works all the same
  } else {
    started.sidecar = witness::describe_sidecar();
    char stub[4096];
    tap::Attached attached{RAILWITNESS_ATTACH_NONE, "the plugin's path is too long; install it elsewhere"};
    if (!started.no_tap && find_stub(stub, sizeof stub)) attached = tap::attach(stub);
    started.how = attached.how;
    started.why_not = attached.why_not;
  }
  // After the tap, so that a chained plugin that uses verbs finds it in its way.
  choose_transport(started);
  return started;
}

int attach_late() {
  if (settled_knobs().mode == witness::Mode::kOfi) return 0;
  const int contexts = tap::attach_late();
  if (contexts > 0) witness::note_attached(RAILWITNESS_ATTACH_LATE);
  return contexts;
}

}  // namespace

constinit const shim::Wiring shim::wiring{start, attach_late};

extern "C" __attribute__((visibility("default"))) const char railwitness_plugin[];
const char railwitness_plugin[] = "railwitness";

}  // namespace railwitness
