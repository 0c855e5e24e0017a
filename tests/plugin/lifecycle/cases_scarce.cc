// What the job's process may lack: space, descriptors, threads, memory, system calls, /proc, a writable root.
#include "tests/plugin/lifecycle/loaded.h"

#include <csignal>

#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

// The line of the banner, without what is before the comma that ends the tap's part.
std::string said_line() {
  std::string text = bed.page->text;
  return text.substr(0, text.find('\n'));
}

void move_some() {
  const Loaded loaded;
  NEED(loaded.make_mover()->move(100));
  bed.page->number[0] = 100;
}

void expect_said(Job& job, const char* what, const char* way_out) {
  const int status = job.wait();
  EXPECT(status == 0);
  EXPECT(bed.page->number[0] == 100);
  EXPECT(was_said(what));
  EXPECT(was_said(way_out));
  see("%s after 100 transfers; said: %s", describe_status(status).c_str(), said_line().c_str());
}

// Mounts of the judge's own from here on.
void need_mounts() {
  if (geteuid()) skip("mounts need root");
  if (unshare(CLONE_NEWNS) || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr)) skip("no mount namespace: %s", strerror(errno));
}

void full_memory_file_system() {
  need_mounts();
  const std::string path = use_segment_file();
  EXPECT(!mount("tmpfs", bed.folder.c_str(), "tmpfs", 0, "size=1m"));
  Job job(move_some);
  const pid_t pid = job.pid;
  expect_said(job, "segment file cannot be sized", "RAILWITNESS_SEGMENT_FILE");
  EXPECT(access((path + "." + std::to_string(pid)).c_str(), F_OK) != 0);
  umount(bed.folder.c_str());
}

void full_dev_shm() {  // sidecars give sealed memory, which no mount bounds
  need_mounts();
  EXPECT(!mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k"));
  const int filler = open("/dev/shm/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  while (write(filler, block.data(), block.size()) > 0) {
  }
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job(move_some);
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  expect_said(job, "sidecar connected", "");
  EXPECT(sum(SegmentCopy::read(segment)).posted == 100);
}

void limit(__rlimit_resource what, rlim_t value) {
  rlimit now{};
  NEED(!getrlimit(what, &now));
  now.rlim_cur = value;
  NEED(!setrlimit(what, &now));
}

void file_size_limit() {
  use_segment_file();
  Job job([] {
    signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_FSIZE, 0);
    move_some();
  });
  expect_said(job, "segment file", "RLIMIT_FSIZE");
}

void file_size_limit_and_sidecar() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_FSIZE, 0);
    move_some();
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  expect_said(job, "sidecar connected", "");
  EXPECT(sum(SegmentCopy::read(segment)).posted == 100);
}

void take_descriptors() {
  limit(RLIMIT_NOFILE, 64);
  while (dup(2) >= 0) {
  }
}

void no_descriptors() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    const Plugin early;  // the libraries are loaded while there are some
    NEED(dlopen("libibverbs.so.1", RTLD_NOW));
    take_descriptors();
    const Loaded loaded;
    NEED(loaded.make_mover()->move(100));
    bed.page->number[0] = 100;
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  const int client = sidecar.accept(1000);
  bed.page->go_on = 1;
  if (client >= 0) close(client);
  expect_said(job, "no descriptor is free", "RLIMIT_NOFILE");
}

// --- system calls that a filter refuses ------------------------------------------------------------------------------

void refuse(const std::vector<std::pair<long, int>>& calls) {
#if defined(__x86_64__)
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
  for (const auto& [number, error] : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
#else
  static_cast<void>(calls);
#endif
}

void need_filters() {
#if !defined(__x86_64__)
  skip("the filter is written for x86-64");
#endif
  if (kIsSanitized) skip("the sanitizer's runtime needs the calls that are refused");
}

void no_sockets() {
  need_filters();
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    refuse({{SYS_socket, EPERM}, {SYS_memfd_create, EPERM}, {SYS_process_vm_readv, EPERM}, {SYS_process_vm_writev, EPERM},
            {SYS_tgkill, EPERM}, {SYS_unshare, EPERM}, {SYS_close_range, EPERM}, {SYS_fallocate, EPERM}});
    move_some();
  });
  expect_said(job, "no socket", "seccomp");
}

void no_threads() {
  need_filters();
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    refuse({{SYS_clone3, ENOSYS}, {SYS_clone, EAGAIN}});
    move_some();
  });
  const int client = sidecar.accept(1000);
  const int segment = client >= 0 ? FakeSidecar::serve(client) : -1;
  expect_said(job, "no thread", "RLIMIT_NPROC");
  if (segment >= 0) EXPECT(sum(SegmentCopy::read(segment)).posted == 100);
}

// The limit itself, which binds every user but root; and then it is raised.
void process_limit() {
  if (geteuid()) skip("another user than root is needed, whose processes are ours alone");
#if defined(__SANITIZE_THREAD__)
  skip("ThreadSanitizer has a thread of its own, which falls under the limit");
#endif
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  EXPECT(!chmod(sidecar.folder.c_str(), 0755) && !chmod(sidecar.path.c_str(), 0777));
  Job job([] {
    constexpr uid_t kNobodys = 47'611;
    const Plugin early;
    NEED(dlopen("libibverbs.so.1", RTLD_NOW));
    NEED(!setresuid(kNobodys, kNobodys, 0));
    rlimit most{};
    NEED(!getrlimit(RLIMIT_NPROC, &most));
    limit(RLIMIT_NPROC, 1);
    Plugin plugin;
    plugin.init();
    NEED(was_said("no thread can be started") && look(getpid()).threads == 1);
    bed.page->number[1] = 1;
    limit(RLIMIT_NPROC, most.rlim_cur);
    plugin.init();
    NEED(look(getpid()).threads == 2);
    move_some();
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  int client = sidecar.accept();
  close(FakeSidecar::serve(client));
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  close(client);
  client = sidecar.accept();  // the thread of the second init looks for the next one
  EXPECT(client >= 0);
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([&] { return sum(SegmentCopy::read(segment)).posted == 100; }));
  bed.page->go_on = 1;
  expect_said(job, "no thread", "RLIMIT_NPROC");
  see("the limit raised, the next init starts the thread, and the next sidecar has the %lu transfers",
      sum(SegmentCopy::read(segment)).posted);
}

// From nothing to enough.
void no_address_space() {
  if (kIsSanitized) skip("the sanitizers map terabytes");
  use_no_sidecar();
  int right = 0, refused = 0, rounds = 0;
  for (const long more_kib : {0L, 64L, 256L, 1024L, 2048L, 3072L, 4096L, 6144L, 8192L, 16384L, 65536L}) {
    bed.page->text[0] = 0;
    bed.page->number[0] = 0;
    Job job([&] {
      Plugin plugin;
      NEED(dlopen("libibverbs.so.1", RTLD_NOW));
      long pages = 0;
      // The job's own needs are met from what it has already: judged is what the library does without.
      mallopt(M_TRIM_THRESHOLD, 64 << 20), mallopt(M_MMAP_THRESHOLD, 16 << 20);
      free(calloc(1, 4 << 20));
      FILE* statm = fopen("/proc/self/statm", "re");
      NEED(statm && fscanf(statm, "%ld", &pages) == 1);
      fclose(statm);
      limit(RLIMIT_AS, static_cast<rlim_t>(pages * 4096 + more_kib * 1024));
      move_some();
    });
    const int status = job.wait();
    right += status == 0 && bed.page->number[0] == 100;
    if (status) see("with %ld KiB: %s", more_kib, describe_status(status).c_str());
    refused += was_said("no memory for the segment") && was_said("RLIMIT_AS");
    rounds++;
  }
  EXPECT(right == rounds);
  EXPECT(refused > 0 && refused < rounds);
  see("%d of %d jobs with 0 to 64 MiB left move 100; %d of them said that there is no memory for the segment", right, rounds, refused);
}

// --- file systems ----------------------------------------------------------------------------------------------------

void no_proc_no_sys() {
  need_mounts();
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  EXPECT(!mount("tmpfs", "/proc", "tmpfs", 0, nullptr));
  EXPECT(!mount("tmpfs", "/sys", "tmpfs", 0, nullptr));
  Job job([] {
    Loaded loaded;
    NEED(loaded.make_mover()->move(100));
    loaded.plugin.profiler->finalize(loaded.plugin.init_profiler());
    bed.page->number[0] = 100;
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  expect_said(job, "sidecar connected", "");
  EXPECT(sum(SegmentCopy::read(segment)).posted == 100);
  umount("/sys"), umount("/proc");
}

void read_only_root() {
  need_mounts();
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  use_segment_file();
  EXPECT(!mount(bed.folder.c_str(), bed.folder.c_str(), nullptr, MS_BIND, nullptr));
  EXPECT(!mount("none", bed.folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr));
  EXPECT(!mount("none", "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr));
  {
    Job job(move_some);
    expect_said(job, "segment file cannot be made", "RAILWITNESS_SEGMENT_FILE");
  }
  unsetenv("RAILWITNESS_SEGMENT_FILE");
  bed.page->text[0] = 0;
  bed.page->number[0] = 0;
  Job job(move_some);
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  expect_said(job, "sidecar connected", "");
  EXPECT(sum(SegmentCopy::read(segment)).posted == 100);
  mount("none", "/", nullptr, MS_REMOUNT | MS_BIND, nullptr);
  umount(bed.folder.c_str());
}

}  // namespace

std::vector<Case> scarce_cases() {
  const std::vector<Mode> both{Mode::kTap, Mode::kChain};
  return {{"full_file_system", "a segment file on a tmpfs of 1 MiB", {Mode::kTap}, full_memory_file_system},
          {"full_dev_shm", "a /dev/shm without a free byte, and a sidecar", {Mode::kTap}, full_dev_shm},
          {"file_size_limit", "RLIMIT_FSIZE 0 (which raises SIGXFSZ) and a segment file", {Mode::kTap}, file_size_limit},
          {"file_size_limit_and_sidecar", "RLIMIT_FSIZE 0 and a sidecar", {Mode::kTap}, file_size_limit_and_sidecar},
          {"no_descriptors", "every descriptor below RLIMIT_NOFILE is in use at init", {Mode::kTap}, no_descriptors},
          {"no_sockets", "seccomp: EPERM for socket, memfd_create, process_vm_*, tgkill, unshare, close_range, fallocate", {Mode::kTap},
           no_sockets},
          {"no_threads", "pthread_create fails with EAGAIN, as at RLIMIT_NPROC", both, no_threads},
          {"process_limit", "RLIMIT_NPROC 1 as another user at init, raised before the next init", {Mode::kTap}, process_limit},
          {"no_address_space", "RLIMIT_AS 0 to 64 MiB above what the loaded job has", {Mode::kTap}, no_address_space},
          {"no_proc_no_sys", "an empty /proc and an empty /sys", both, no_proc_no_sys},
          {"read_only_root", "a root file system that is read-only, with a segment file and with a sidecar", {Mode::kTap}, read_only_root}};
}

}  // namespace railwitness::lifecycle
