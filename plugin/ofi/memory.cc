#include "plugin/ofi/memory.h"

#include "railwitness/base/shared_word.h"

#include <atomic>
#include <new>

namespace railwitness::ofi {
namespace {

constinit std::atomic<uint64_t> next_key{1};
constinit std::atomic<uint64_t> in_use{0};

void free_memory(Memory* memory) {
  if (memory->registered) fi_close(&memory->registered->fid);
  in_use.fetch_sub(1, std::memory_order_relaxed);
  delete memory;
}

}  // namespace

Result add_memory(Comm* comm, void* data, size_t bytes, Memory** memory, bool always) {
  auto* m = new (std::nothrow) Memory{};
  if (!m) return nccl::kSystemError;
  m->key = next_key.fetch_add(1, std::memory_order_relaxed);
  if (always || needs_registration(*comm->device)) {
    const int r = fi_mr_reg(comm->domain, data, bytes, FI_SEND | FI_RECV, 0, m->key, 0, &m->registered, nullptr);
    if (r != 0) {
      say(nccl::kLogWarn, "%s: registering %zu bytes fails: %s; is the limit of locked memory (ulimit -l) too low?",
          comm->device->name, bytes, comm->devices->library.strerror(-r));
      delete m;
      return nccl::kSystemError;
    }
    m->descriptor = fi_mr_desc(m->registered);
  }
  in_use.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(comm->memory_lock);
  m->next = comm->memory;
  comm->memory = m;
  *memory = m;
  return nccl::kSuccess;
}

void drop_memory(Comm* comm, Memory* memory) {
  const std::lock_guard lock(comm->memory_lock);
  if (memory->registered && load_relaxed(comm->requests_out) > 0) {
    memory->is_dropped = true;
    return;
  }
  for (Memory** at = &comm->memory; *at; at = &(*at)->next) {
    if (*at != memory) continue;
    *at = memory->next;
    free_memory(memory);
    return;
  }
}

void forget_memory(Comm* comm) {
  const std::lock_guard lock(comm->memory_lock);
  while (Memory* memory = comm->memory) {
    comm->memory = memory->next;
    free_memory(memory);
  }
}

uint64_t memory_in_use() { return in_use.load(std::memory_order_relaxed); }

}  // namespace railwitness::ofi
