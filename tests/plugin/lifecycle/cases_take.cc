// What the library takes of a process and leaves as it was: docs/job-owner.md tells it.
#include "tests/plugin/lifecycle/loaded.h"

#include <csignal>
#include <filesystem>

#include <dlfcn.h>
#include <sys/stat.h>

extern char** environ;

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;

struct Pages {
  long size_kib, resident_kib;
};

Pages pages() {
  long size = 0, resident = 0;
  FILE* statm = fopen("/proc/self/statm", "re");
  NEED(statm && fscanf(statm, "%ld %ld", &size, &resident) == 2);
  fclose(statm);
  const long kib = sysconf(_SC_PAGESIZE) / 1024;
  return {size * kib, resident * kib};
}

struct Kept {  // what is the job's alone
  struct sigaction actions[65] = {};
  sigset_t mask{};
  mode_t file_mask = 0;
  std::string folder, environment;

  static Kept now() {
    Kept k;
    for (int s = 1; s < 65; s++) sigaction(s, nullptr, &k.actions[s]);
    pthread_sigmask(SIG_SETMASK, nullptr, &k.mask);
    umask(k.file_mask = umask(0));
    k.folder = std::filesystem::current_path();
    for (char** e = environ; *e; e++) k.environment += std::string(*e) + "\n";
    return k;
  }
  bool is_as(const Kept& other) const {
    for (int s = 1; s < 65; s++)
      if (actions[s].sa_sigaction != other.actions[s].sa_sigaction || sigismember(&mask, s) != sigismember(&other.mask, s)) return false;
    return file_mask == other.file_mask && folder == other.folder && environment == other.environment;
  }
};

enum Number { kThreads, kDescriptors, kAddressKib, kResidentKib, kPrinted, kLowest };

int lowest_new_descriptor(const std::vector<bool>& before) {
  for (int fd = 0; fd < 1024; fd++)
    if (fcntl(fd, F_GETFD) >= 0 && !before[static_cast<size_t>(fd)]) return fd;
  return -1;
}

// Judged between load and the first connection of the job, so that what is seen is the library's alone.
void what_it_takes() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  const std::string printed = bed.folder + "/printed";
  Job job([&] {
    const int out = open(printed.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    NEED(out >= 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2);
    if (bed.mode == Mode::kTap) NEED(dlopen("libibverbs.so.1", RTLD_NOW));  // NCCL's own, which it opens anyway
    if (bed.mode == Mode::kChain) NEED(dlopen(bed.loop.c_str(), RTLD_NOW | RTLD_LOCAL));
    Plugin plugin;
    std::vector<bool> descriptors(1024);
    for (int fd = 0; fd < 1024; fd++) descriptors[static_cast<size_t>(fd)] = fcntl(fd, F_GETFD) >= 0;
    const Held before = look(getpid());
    const Pages pages_before = pages();
    const Kept kept = Kept::now();
    plugin.init();
    NEED(kept.is_as(Kept::now()));
    const Pages pages_after = pages();
    const Held after = look(getpid());
    bed.page->number[kThreads] = static_cast<uint64_t>(after.threads - before.threads);
    bed.page->number[kDescriptors] = static_cast<uint64_t>(after.descriptors - before.descriptors);
    bed.page->number[kAddressKib] = static_cast<uint64_t>(pages_after.size_kib - pages_before.size_kib);
    bed.page->number[kResidentKib] = static_cast<uint64_t>(pages_after.resident_kib - pages_before.resident_kib);
    bed.page->number[kLowest] = static_cast<uint64_t>(lowest_new_descriptor(descriptors));
    struct stat file {};
    NEED(!fstat(out, &file));
    bed.page->number[kPrinted] = static_cast<uint64_t>(file.st_size);
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  static_cast<void>(segment);
  EXPECT(job.ends_well());
  const auto& n = bed.page->number;
  EXPECT(kIsSanitized || n[kThreads] == 1);  // ThreadSanitizer has one, too
  EXPECT(n[kDescriptors] == 1 && n[kLowest] >= 100);
  EXPECT(kIsSanitized || n[kAddressKib] <= 8 << 10);
  EXPECT(kIsSanitized || n[kResidentKib] <= 1536);
  EXPECT(n[kPrinted] == 0);
  see("init takes %lu thread, %lu descriptor (number %lu), %lu KiB of addresses, %lu KiB of memory; it prints %lu bytes; signal handlers, "
      "mask, umask, folder and environment are as before", n[kThreads].load(), n[kDescriptors].load(), n[kLowest].load(),
      n[kAddressKib].load(), n[kResidentKib].load(), n[kPrinted].load());
}

}  // namespace

std::vector<Case> take_cases() {
  return {{"what_it_takes", "init beside a sidecar, compared with before", {Mode::kTap, Mode::kChain}, what_it_takes}};
}

}  // namespace railwitness::lifecycle
