#include "plugin/shim/collnet_calls.h"

namespace railwitness::shim {
namespace {

constinit bool is_open = false, is_out = false;
constinit void* shared_context = nullptr;  // of the versions without contexts

}  // namespace

bool has_collnet() noexcept { return is_open && collnet(); }

Result coll_init(void** context, uint64_t comm_id, nccl::Logger log) noexcept {
  start(log);
  // Without devices the context stays null: NCCL 2.28.3 then forgets our table but calls finalize through it, and
  // crashes, for every context that is not.
  if (context) *context = nullptr;
  if (!collnet() || is_out) return nccl::kSuccess;
  void* theirs = nullptr;
  const Result result = collnet()->init(&theirs, comm_id, log);
  if (context) *context = theirs;
  if (is_open) return result;
  is_open = result == nccl::kSuccess;
  is_out = !is_open;
  return nccl::kSuccess;
}

Result coll_init_shared(nccl::Logger log) noexcept {
  return shared_context ? nccl::kSuccess : coll_init(&shared_context, 0, log);
}

Result coll_finalize(void* context) noexcept {
  return collnet() && context ? collnet()->finalize(context) : nccl::kSuccess;
}

Result coll_devices(int* count) noexcept {
  if (has_collnet()) return collnet()->devices(count);
  if (count) *count = 0;
  return nccl::kSuccess;
}

Result coll_listen_shared(int device, void* handle, void** listen_comm) noexcept {
  return coll_listen(shared_context, device, handle, listen_comm);
}

}  // namespace railwitness::shim
