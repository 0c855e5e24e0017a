#include "plugin/witness/memory.h"

#include "plugin/witness/layout.h"
#include "railwitness/base/shared_word.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
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

Memory* describe(void* base, const railwitness_segment_header& h) {
  auto* m = static_cast<Memory*>(calloc(1, sizeof(Memory)));
  if (!m) return nullptr;
  char* b = static_cast<char*>(base);
  m->base = b;
  m->bytes = h.segment_bytes;
  m->control_capacity = h.control_capacity;
  m->threads = b + h.threads_offset;
  m->writer = reinterpret_cast<railwitness_writer*>(b + h.writer_offset);
  m->rails = reinterpret_cast<railwitness_rail*>(b + h.rails_offset);
  m->comms = reinterpret_cast<railwitness_comm*>(b + h.comms_offset);
  m->identities = reinterpret_cast<railwitness_identity*>(b + h.identities_offset);
  m->states = reinterpret_cast<railwitness_state*>(b + h.states_offset);
  m->histograms = reinterpret_cast<railwitness_histogram*>(b + h.histograms_offset);
  m->records = reinterpret_cast<railwitness_record*>(b + h.records_offset);
  m->control = reinterpret_cast<railwitness_control*>(b + h.control_offset);
  return m;
}

Memory* map_own(int fd, int flags) {
  const railwitness_segment_header header = make_header();
  void* base = mmap(nullptr, header.segment_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED) return nullptr;
  memcpy(base, &header, sizeof header);
  store_release(static_cast<railwitness_segment_header*>(base)->magic, RAILWITNESS_SEGMENT_MAGIC);
  Memory* m = describe(base, header);
  if (!m) munmap(base, header.segment_bytes);
  return m;
}

}  // namespace

Memory* map_private() { return map_own(-1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE); }

Memory* map_file(const char* path, Status& status) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return status = Status::failed("segment file cannot be made", errno), nullptr;
  Memory* m = nullptr;
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(make_header().segment_bytes)))  // a full disk: not SIGBUS
    status = Status::failed("segment file cannot be sized", error);
  else if (!(m = map_own(fd, MAP_SHARED)))
    status = Status::failed("segment file cannot be mapped", errno);
  close(fd);
  return m;
}

Memory* map_sidecar(int fd, uint64_t segment_bytes, Status& status) {
  auto refuse = [&](const char* why, int error = 0) {
    status = Status::failed(why, error);
    return nullptr;
  };
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
  railwitness_segment_header header;
  if (pread(fd, &header, sizeof header, 0) != ssize_t{sizeof header}) return refuse("segment header cannot be read");
  status = check_header(header, segment_bytes);
  if (!status.is_ok()) return nullptr;
  void* base = mmap(nullptr, segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return refuse("segment cannot be mapped", errno);
  Memory* m = describe(base, header);
  if (!m) return munmap(base, segment_bytes), refuse("no memory");
  return m;
}

void empty(const Memory& memory) {
  if (memory.is_empty) return;
  memory.is_empty = true;
  // Atomic against the other threads: they see the old pages or zeroes, never a hole.
  (void)mmap(memory.base, memory.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void unmap(const Memory* memory) {
  munmap(memory->base, memory->bytes);
  free(const_cast<Memory*>(memory));
}

}  // namespace railwitness::witness
