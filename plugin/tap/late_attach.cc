// Late attach: contexts that NCCL had opened before the plugin could get in between (a taken name, verbs linked in,
// NCCL_IBVERBS_LIB, the profiler slot alone), or that a chained plugin opened past the stub (it asked for libibverbs.so.1
// or is linked to it). Variables of libraries whose name has nccl or rccl in it (NCCL's own, and its plugins' by the rule
// for their names) are searched for pointers to an ibv_context; what lies on the heap is not found. Addresses are tried
// through /proc/self/mem, where a bad one is an error, no fault.
//
// Each candidate must have the extended ABI's mark, a plausible size in front, a device of libibverbs' own list, and
// functions that lie in the text of one library. To be called at profiler init: devices are open, nothing is posted yet.
#include "plugin/tap/context.h"
#include "plugin/tap/place.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/tap/tap.h"

#include <cstring>

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

namespace railwitness::tap {
namespace {

constexpr int kRanges = 16;
constexpr size_t kLargestContext = 4096;  // of struct verbs_context; 640 in rdma-core 44

struct Ranges {
  struct {
    uintptr_t begin, end;
  } range[kRanges];
  int count;
};

constinit char ours;  // our own variables hold contexts that are tapped already

int collect(dl_phdr_info* info, size_t, void* data) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  if (!strstr(name, "nccl") && !strstr(name, "rccl")) return 0;
  Ranges& ranges = *static_cast<Ranges*>(data);
  for (int i = 0; i < info->dlpi_phnum && ranges.count < kRanges; i++) {
    const ElfW(Phdr)& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD || !(h.p_flags & PF_W)) continue;
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr, here = reinterpret_cast<uintptr_t>(&ours);
    if (begin <= here && here < begin + h.p_memsz) continue;
    ranges.range[ranges.count++] = {(begin + 7) & ~uintptr_t{7}, begin + h.p_memsz};
  }
  return 0;
}

struct Search {
  int memory;  // /proc/self/mem
  ibv_device** devices;
  int device_count;
};

bool is_listed(const Search& s, const ibv_device* device) {
  for (int i = 0; i < s.device_count; i++)
    if (s.devices[i] == device) return true;
  return false;
}

bool is_context(const Search& s, uintptr_t address) {
  struct {
    size_t size;  // "immediately before struct ibv_context", says verbs.h
    ibv_context context;
  } c;
  if (address % 8 || address < 0x10000 || address >> 47) return false;
  if (pread(s.memory, &c, sizeof c, static_cast<off_t>(address - sizeof c.size)) != ssize_t{sizeof c}) return false;
  if (c.context.abi_compat != __VERBS_ABI_IS_EXTENDED) return false;
  if (c.size <= sizeof(ibv_context) || c.size > kLargestContext || !is_listed(s, c.context.device)) return false;
  const Place place = locate(reinterpret_cast<void*>(c.context.ops.post_send));
  return (place.flags & PF_X) && is_text_of(reinterpret_cast<void*>(c.context.ops.poll_cq), place) &&
         is_text_of(reinterpret_cast<void*>(c.context.ops.post_recv), place);
}

int tap_those_behind(const Search& s, uintptr_t begin, uintptr_t end) {
  int found = 0;
  uintptr_t words[512];
  for (uintptr_t at = begin; at < end; at += sizeof words) {
    const size_t want = end - at < sizeof words ? (end - at) & ~size_t{7} : sizeof words;
    const ssize_t got = pread(s.memory, words, want, static_cast<off_t>(at));  // a copy: unmapped pages end it early
    for (ssize_t i = 0; i < got / 8; i++) {
      if (!is_context(s, words[i])) continue;
      auto* context = reinterpret_cast<ibv_context*>(words[i]);
      if (is_tapped(context) || !tap_context(context)) continue;
      if (Slot* slot = find_slot(context)) add_rails(*slot);
      found++;
    }
  }
  return found;
}

}  // namespace

int attach_late() {
  if (!find_real_verbs()) return 0;
  Ranges ranges{};
  dl_iterate_phdr(collect, &ranges);
  if (!ranges.count) return 0;
  Search s{};
  s.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (s.memory < 0) return 0;
  int found = 0;
  s.devices = real_verbs.get_device_list(&s.device_count);
  if (s.devices && s.device_count > 0)
    for (int i = 0; i < ranges.count; i++) found += tap_those_behind(s, ranges.range[i].begin, ranges.range[i].end);
  if (s.devices) real_verbs.free_device_list(s.devices);  // libibverbs keeps the devices while the kernel has them
  close(s.memory);
  return found;
}

}  // namespace railwitness::tap
