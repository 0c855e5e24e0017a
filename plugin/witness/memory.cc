#include "plugin/witness/memory.h"

#include "plugin/witness/knobs.h"
#include "plugin/witness/layout.h"
#include "railwitness/base/shared_word.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef F_GET_SEALS  // glibc shows it under _GNU_SOURCE, which g++ defines; older headers lack it
#define F_GET_SEALS 1034
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_GROW 0x0004
#endif

namespace railwitness::witness {
namespace {

constexpr int kNames = 3;  // of a memory, see Detail

Part describe(void* base, const railwitness_segment_header& h, bool is_read) {
  char* b = static_cast<char*>(base);
  Part p{};
  p.base = b;
  p.bytes = h.segment_bytes;
  p.number = h.part;
  p.is_read = is_read;
  p.writer = reinterpret_cast<railwitness_writer*>(b + h.writer_offset);
  p.identities = reinterpret_cast<railwitness_identity*>(b + h.identities_offset);
  p.states = reinterpret_cast<railwitness_state*>(b + h.states_offset);
  p.histograms = reinterpret_cast<railwitness_histogram*>(b + h.histograms_offset);
  p.records = reinterpret_cast<railwitness_record*>(b + h.records_offset);
  return p;
}

// Null: no memory; the part is unmapped then. `h` is the checked copy: what stands in the segment may have changed since.
Memory* make_memory(const Part& first, const railwitness_segment_header& h) {
  auto* m = static_cast<Memory*>(calloc(kNames, sizeof(Memory)));
  if (!m) return unmap_part(first), nullptr;
  m->threads = first.base + h.threads_offset;
  m->control_capacity = h.control_capacity;
  m->rails = reinterpret_cast<railwitness_rail*>(first.base + h.rails_offset);
  m->comms = reinterpret_cast<railwitness_comm*>(first.base + h.comms_offset);
  m->control = reinterpret_cast<railwitness_control*>(first.base + h.control_offset);
  m->writer = first.writer;
  m->identities = first.identities;
  m->states = first.states;
  m->histograms = first.histograms;
  m->records = first.records;
  m->base = m;
  for (int i = 1; i < kNames; i++) {
    m[i] = *m;
    m[i].detail = static_cast<Detail>(i);
  }
  m->part_count = 1;
  m->parts[0] = first;
  return m;
}

// Of our own making.
bool map_own(int fd, int flags, const railwitness_segment_header& header, Part& part) {
  void* base = mmap(nullptr, header.segment_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED) return false;
  memcpy(base, &header, sizeof header);
  store_release(static_cast<railwitness_segment_header*>(base)->magic, RAILWITNESS_SEGMENT_MAGIC);
  part = describe(base, header, fd >= 0);
  return true;
}

bool map_private(const railwitness_segment_header& header, Part& part) {
  return map_own(-1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, header, part);
}

bool may_be_as_large(uint64_t bytes) {
  rlimit most{};
  return getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur >= bytes;
}

Status map_file(int fd, const railwitness_segment_header& header, Part& part) {
  // First of all: beyond this limit the kernel ends the job with SIGXFSZ.
  if (!may_be_as_large(header.segment_bytes))
    return Status::failed("segment file cannot be sized; RAILWITNESS_SEGMENT_FILE needs an RLIMIT_FSIZE of 4 MiB or more");
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(header.segment_bytes)))  // a full disk: not SIGBUS
    return Status::failed("segment file cannot be sized; RAILWITNESS_SEGMENT_FILE needs 4 MiB or more on its file system", error);
  if (!map_own(fd, MAP_SHARED, header, part)) return Status::failed("segment file cannot be mapped; raise RLIMIT_AS", errno);
  return Status::ok();
}

Status map_file(const char* path, const railwitness_segment_header& header, Part& part) {
  // Laying out a file begins anew after each signal; under a profiler's it would never end.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status = Status::failed("segment file cannot be made; RAILWITNESS_SEGMENT_FILE needs a folder that the job may write into");
  // A new file, never one that is there cut to nothing: another job may have it mapped, whose number is the same in another
  // container, and would end with SIGBUS. It keeps what it maps, and loses the name.
  unlink(path);
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) {
    status = map_file(fd, header, part);
    if (!status.is_ok()) unlink(path);
    close(fd);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

Status map_sidecar(int fd, uint64_t segment_bytes, uint32_t number, railwitness_segment_header& header, Part& part) {
  auto refuse = [](const char* why, int error = 0) { return Status::failed(why, error); };
  // First of all calls on this descriptor: on anything but shared memory it fails at once, where fstat could hang.
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return refuse("segment is no sealed memory", errno);
  if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW)) return refuse("segment is not sealed");
  struct statfs filesystem;
  if (fstatfs(fd, &filesystem) || filesystem.f_type != TMPFS_MAGIC) return refuse("segment is no ordinary memory");
  struct stat file;
  if (fstat(fd, &file)) return refuse("segment has no size", errno);
  if (file.st_size < 0 || static_cast<uint64_t>(file.st_size) != segment_bytes || segment_bytes > kMaxSegmentBytes)
    return refuse("segment has another size than was said");
  if (pread(fd, &header, sizeof header, 0) != ssize_t{sizeof header}) return refuse("segment header cannot be read");
  const Status checked = check_header(header, segment_bytes, number);
  if (!checked.is_ok()) return checked;
  void* base = mmap(nullptr, segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return refuse("segment cannot be mapped", errno);
  part = describe(base, header, true);
  return Status::ok();
}

}  // namespace

Memory* map_private() {
  const railwitness_segment_header header = make_header();
  Part part{};
  return map_private(header, part) ? make_memory(part, header) : nullptr;
}

bool map_private_part(uint32_t number, Part& part) { return map_private(make_header(number), part); }

Memory* map_file(const char* path, Status& status) {
  const railwitness_segment_header header = make_header();
  Part part{};
  status = map_file(path, header, part);
  return status.is_ok() ? make_memory(part, header) : nullptr;
}

Status map_file_part(const char* path, uint32_t number, Part& part) {
  char name[kSegmentPathBytes + 16];
  snprintf(name, sizeof name, "%s.%u", path, number);
  return map_file(name, make_header(number), part);
}

Memory* map_sidecar(int fd, uint64_t segment_bytes, Status& status) {
  railwitness_segment_header header;
  Part part{};
  status = map_sidecar(fd, segment_bytes, 0, header, part);
  if (!status.is_ok()) return nullptr;
  Memory* m = make_memory(part, header);
  if (!m) status = Status::failed("no memory");
  return m;
}

Status map_sidecar_part(int fd, uint64_t segment_bytes, uint32_t number, Part& part) {
  railwitness_segment_header header;
  return map_sidecar(fd, segment_bytes, number, header, part);
}

namespace {

// Atomic against the other threads: they see the old pages or zeroes, never a hole.
void replace_pages(const Part& part) {
  (void)mmap(part.base, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

void empty(const Memory& memory) {
  if (memory.is_empty) return;
  memory.is_empty = true;
  for (uint32_t i = 0; i < memory.part_count; i++) replace_pages(memory.parts[i]);
}

void leave_to_parent(const Memory& memory) {
  // A part may have been half entered when the parent's other threads were left behind.
  for (uint32_t i = 0; i < memory.part_count && i < kParts; i++)
    if (memory.parts[i].is_read && memory.parts[i].base) replace_pages(memory.parts[i]);
}

void unmap(const Memory* memory) {
  for (uint32_t i = 0; i < memory->part_count; i++) unmap_part(memory->parts[i]);
  free(const_cast<Memory*>(memory));
}

void unmap_part(const Part& part) { munmap(part.base, part.bytes); }

}  // namespace railwitness::witness
