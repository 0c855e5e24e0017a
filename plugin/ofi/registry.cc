// NCCL never closes what an abort found half-way through connect; finalize finds it here.
#include "plugin/ofi/comm.h"

namespace railwitness::ofi {
namespace {

constinit std::mutex lock;
constinit Object* first = nullptr;

}  // namespace

void enlist(Object* object) {
  const std::lock_guard guard(lock);
  object->previous = nullptr;
  object->next = first;
  if (first) first->previous = object;
  first = object;
}

void delist(Object* object) {
  const std::lock_guard guard(lock);
  if (object->next) object->next->previous = object->previous;
  if (object->previous)
    object->previous->next = object->next;
  else if (first == object)
    first = object->next;
  object->previous = object->next = nullptr;
}

bool is_listed(const void* object) {
  const std::lock_guard guard(lock);
  const Object* o = first;
  while (o && o != object) o = o->next;
  return o != nullptr;
}

Object* next_of(void* context) {
  const std::lock_guard guard(lock);
  for (Object* o = first; o; o = o->next)
    if (o->context == context) return o;
  return nullptr;
}

Object* connecting_of(void* handle, uint64_t cookie) {
  const std::lock_guard guard(lock);
  for (Object* o = first; o; o = o->next)
    if (o->kind == Object::Kind::kConnecting && o->handle == handle && o->handle_cookie == cookie) return o;
  return nullptr;
}

int objects() {
  const std::lock_guard guard(lock);
  int count = 0;
  for (Object* o = first; o; o = o->next) count++;
  return count;
}

}  // namespace railwitness::ofi
