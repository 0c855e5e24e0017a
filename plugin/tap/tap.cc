#include "plugin/tap/tap.h"

#include "plugin/tap/context.h"
#include "plugin/tap/flows.h"
#include "plugin/tap/provider_table.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/tap/stub.h"
#include "plugin/witness/recorder.h"

#include <dlfcn.h>

namespace railwitness::tap {
namespace {

void opened(ibv_context* context) {
  if (!witness::may_record() || !tap_context(context)) return;
  if (Slot* slot = find_slot(context)) add_rails(*slot);
}

void* closing(ibv_context* context) { return witness::may_record() ? begin_close(context) : nullptr; }

void closed(void* token, int result) {
  auto* slot = static_cast<Slot*>(token);
  end_close(*slot, result == 0);
  if (result == 0) witness::record_event({.kind = RAILWITNESS_CONTROL_CONTEXT_CLOSED});
}

constexpr railwitness_tap_hooks kHooks{opened,        closing,          closed,         flow_created,
                                       flow_modified, flow_destroying, flow_destroyed, async_event};

struct StubAnswer {
  bool is_ready;
  bool may_fall_back;
  const char* why_not;  // and what to do
};

StubAnswer load_stub(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_NODELETE);
  if (!handle) return {false, true, "tap-verbs.so cannot be loaded; it belongs beside the plugin"};
  const auto start = reinterpret_cast<decltype(&railwitness_stub_start)>(dlsym(handle, "railwitness_stub_start"));
  if (!start) return {false, true, "tap-verbs.so is of another version than the plugin; install both together"};
  switch (start(&kHooks)) {
    case RAILWITNESS_STUB_READY:
      return {true, false, nullptr};
    case RAILWITNESS_STUB_NO_VERBS:
      return {false, false, "libibverbs.so.1 is too old; rdma-core is needed"};
    case RAILWITNESS_STUB_NAME_TAKEN:
      return {false, true, "libibverbs.so was opened before NCCL's init; create the communicator earlier"};
    case RAILWITNESS_STUB_SECOND:  // by table it would count every call a second time
      return {false, false, kAnotherCopy};
  }
  return {false, true, "tap-verbs.so is of another version than the plugin; install both together"};
}

}  // namespace

Attached attach(const char* stub_path) {
  static Attached done{RAILWITNESS_ATTACH_NONE, nullptr};
  if (done.how != RAILWITNESS_ATTACH_NONE) return done;
  if (!find_real_verbs()) return {RAILWITNESS_ATTACH_NONE, "libibverbs.so.1 is not there; install rdma-core, or expect no RDMA here"};
  const StubAnswer stub = load_stub(stub_path);
  if (stub.is_ready) {
    done = {RAILWITNESS_ATTACH_STUB, nullptr};
  } else {
    const TableResult tables = stub.may_fall_back ? tap_provider_tables() : TableResult{};
    if (tables.tapped == 0) return {RAILWITNESS_ATTACH_NONE, tables.why == kAnotherCopy ? kAnotherCopy : stub.why_not};
    done = {RAILWITNESS_ATTACH_TABLE, stub.why_not};
  }
  witness::note_attached(done.how);
  return done;
}

}  // namespace railwitness::tap
