#include "plugin/tap/provider_table.h"

#include "plugin/tap/context.h"
#include "plugin/tap/place.h"
#include "plugin/tap/real_verbs.h"
#include "railwitness/base/shared_word.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

struct verbs_context;

namespace railwitness::tap {
namespace {

struct ListNode {
  ListNode *next, *previous;
};

// struct verbs_device_ops; only its first members, those behind differ between versions.
struct ProviderTable {
  const char* name;
  uint32_t min_abi, max_abi;
  const void* match_table;
  void* rest[8];  // PABI 21 on: static_providers, match_device, alloc_context, ...; 17-20: match_device, alloc_context, ...
};
constexpr size_t kTableBytes = 96;  // more than any version's has (80)
static_assert(sizeof(ProviderTable) <= kTableBytes);

struct Device {  // struct verbs_device, which begins with the public ibv_device
  ibv_device device;
  ProviderTable* table;
  int references;
  ListNode entry;
  void* sysfs;
};

using AllocContext = void* (*)(ibv_device* device, int command_fd, void* private_data);

struct Hook {
  ProviderTable* table;
  AllocContext original;
};
constexpr int kHooks = 32;
Hook hooks[kHooks];  // filled from the front; hook_count is stored with release after the line
int hook_count;

// rdma-core numbers its private ABI in a symbol version: one per release at first, few later.
int find_private_abi(void* library) {
  char version[32];
  for (int v = 17; v < 100; v++) {
    snprintf(version, sizeof version, "IBVERBS_PRIVATE_%d", v);
    if (dlvsym(library, "verbs_set_ops", version)) return v;
  }
  return 0;
}

bool is_device(const Device* d, ibv_device* const* list) {
  if (d->references < 2 || d->references > 100000) return false;  // libibverbs' own and the list's
  if (strncmp(d->device.dev_name, "uverbs", 6)) return false;
  if (!d->sysfs || !d->entry.next || !d->entry.previous || reinterpret_cast<uintptr_t>(d->entry.next) % 8) return false;
  // All devices are in one circle: following it from here leads through exactly these and its head, and back.
  size_t count = 0, steps = 0;
  while (list[count]) count++;
  const ListNode* node = &d->entry;
  do {
    if (!node->next || node->next->previous != node) return false;
    node = node->next;
  } while (node != &d->entry && ++steps <= count);
  return node == &d->entry && steps == count;
}

// Where the public ibv_context begins depends on the version, but "sz" is immediately before it (verbs.h).
ibv_context* find_context(void* extended, ibv_device* device, int command_fd) {
  char* start = static_cast<char*>(extended);
  for (size_t at = 8; at < 1024; at += 8) {
    auto* c = reinterpret_cast<ibv_context*>(start + at);
    size_t size;
    memcpy(&size, start + at - 8, sizeof size);
    if (size != at + sizeof(ibv_context)) continue;
    if (c->device == device && c->cmd_fd == command_fd && c->abi_compat == __VERBS_ABI_IS_EXTENDED) return c;
  }
  return nullptr;
}

void* alloc_context(ibv_device* device, int command_fd, void* private_data) {
  const ProviderTable* table = reinterpret_cast<Device*>(device)->table;
  for (int i = 0, n = load_acquire(hook_count); i < n; i++) {
    if (hooks[i].table != table) continue;
    void* context = hooks[i].original(device, command_fd, private_data);
    if (context)
      if (ibv_context* c = find_context(context, device, command_fd)) tap_context(c);  // rails follow with the first flow
    return context;
  }
  errno = ENODEV;  // cannot happen: the table that led here is in the list
  return nullptr;
}

bool write_pointer(void** at, void* value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(at) & ~(page - 1));
  const bool is_relro = locate(at).is_relro;
  if (is_relro && mprotect(begin, page, PROT_READ | PROT_WRITE)) return false;
  store_release(*at, value);
  if (is_relro) mprotect(begin, page, PROT_READ);
  return true;
}

bool has_odd_name(const char* name) {
  const size_t length = strnlen(name, 24);
  for (size_t i = 0; i < length; i++)
    if (!isalnum(static_cast<unsigned char>(name[i])) && name[i] != '_') return true;
  return length == 0 || length == 24;
}

bool fits_file(const char* name, const char* file) {  // "mlx5" in libmlx5.so.1 or libmlx5-rdmav34.so, or linked in
  char stem[24];
  snprintf(stem, sizeof stem, "%.23s", name);
  for (const char* ending : {"_vfio", "_re"})
    if (char* at = strstr(stem, ending)) *at = 0;
  return strstr(file, stem) || strstr(file, "ibverbs");
}

}  // namespace

int find_alloc_context(const void* address, int private_abi, const char** why) {
  const auto* table = static_cast<const ProviderTable*>(address);
  auto no = [&](const char* reason) { return *why = reason, -1; };
  const Place home = locate(table);
  if (!(home.flags & PF_W) || reinterpret_cast<uintptr_t>(table) % 8) return no("table is not in a library's data");
  if (kTableBytes > home.end - reinterpret_cast<uintptr_t>(table)) return no("table ends beyond its segment");
  const Place name = locate(table->name);
  if (name.object != home.object || (name.flags & PF_X)) return no("name is elsewhere");
  if (has_odd_name(table->name)) return no("name is odd");
  if (!fits_file(table->name, home.file)) return no("name does not fit the library");
  if (table->min_abi > table->max_abi || table->min_abi > 1000) return no("ABI range is odd");
  if (table->match_table && locate(table->match_table).object != home.object) return no("match table is elsewhere");
  const int at = private_abi >= 21 ? 2 : 1;
  if (at == 2 && table->rest[0] && locate(table->rest[0]).object != home.object)
    return no("static_providers is elsewhere");
  if (table->rest[at - 1] && !is_text_of(table->rest[at - 1], home)) return no("match_device is not its function");
  if (!is_text_of(table->rest[at], home))
    return no(is_of_another_copy(table->rest[at]) ? kAnotherCopy : "alloc_context is not its function");
  int more = 0;  // import_context, free_context, alloc_device, uninit_device: which there are depends on the version
  for (int i = at + 1; i <= at + 3; i++) {
    if (!table->rest[i]) continue;
    if (!is_text_of(table->rest[i], home)) break;
    more++;
  }
  return more >= 1 ? at : no("alloc_device is not its function");
}

namespace {

const char* tap_device(ibv_device** list, int index, int private_abi) {
  auto* d = reinterpret_cast<Device*>(list[index]);
  if (!is_device(d, list)) return "device is not as known";
  for (int i = 0; i < hook_count; i++)
    if (hooks[i].table == d->table) return nullptr;
  const char* why = nullptr;
  const int at = find_alloc_context(d->table, private_abi, &why);
  if (at < 0) return why;
  if (hook_count == kHooks) return "too many providers";
  hooks[hook_count] = {d->table, reinterpret_cast<AllocContext>(d->table->rest[at])};
  store_release(hook_count, hook_count + 1);
  if (write_pointer(&d->table->rest[at], reinterpret_cast<void*>(&alloc_context))) return nullptr;
  store_release(hook_count, hook_count - 1);
  return "table is write-protected";
}

}  // namespace

TableResult tap_provider_tables() {
  void* library = find_real_verbs();
  if (!library) return {0, "libibverbs.so.1 is not there"};
  const int private_abi = find_private_abi(library);
  if (!private_abi) return {0, "libibverbs is of an unknown version"};
  int count = 0;
  ibv_device** list = real_verbs.get_device_list(&count);
  if (!list || count == 0) {
    if (list) real_verbs.free_device_list(list);
    return {0, "there are no verbs devices"};
  }
  TableResult result{0, nullptr};
  for (int i = 0; i < count; i++)
    if (const char* why = tap_device(list, i, private_abi)) result.why = why;
  real_verbs.free_device_list(list);
  result.tapped = hook_count;
  return result;
}

}  // namespace railwitness::tap
