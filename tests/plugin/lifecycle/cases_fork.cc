// Children of a job: that go on without exec, that exec, that come by vfork or as daemons.
#include "tests/plugin/lifecycle/loaded.h"

#include <csignal>

#include <dirent.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

extern char** environ;

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

constexpr int kMovers = 3;

// Of the numbers in the page, by which parent and child tell what they did.
enum Number { kByChild, kChildSaid, kByParent };

bool is_closed(int client, int timeout_ms) {
  pollfd p{client, POLLIN, 0};
  char byte;
  return poll(&p, 1, timeout_ms) == 1 && recv(client, &byte, 1, MSG_DONTWAIT) == 0;
}

int wait_for(pid_t child) {
  int status = -1;
  NEED(waitpid(child, &status, 0) == child);
  return status;
}

// What the child does with what it inherited, in the job's mode. Connections of libfabric cannot be used by a child at all,
// whoever made them.
void use_in_child(Loaded& loaded, Mover* idle, Mover* used) {
  if (bed.mode == Mode::kOfi) return;
  if (bed.mode == Mode::kTap) {
    NEED(used->move(500));  // with its parent's counts in it
    bed.page->number[kByChild] += 500;
  }
  NEED(idle->move(100));
  bed.page->number[kByChild] += 100;
  const std::unique_ptr<Mover> own = loaded.make_mover();
  NEED(own->move(100));
  bed.page->number[kByChild] += 100;
}

void fork_and_use(bool by_exit) {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([&] {
    Loaded loaded;
    NEED(was_said("sidecar connected"));
    const std::unique_ptr<Mover> idle = loaded.make_mover(), used = loaded.make_mover();
    NEED(used->move(50));
    loaded.start_moving(kMovers);
    const int said = lines_said();
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      use_in_child(loaded, idle.get(), used.get());
      loaded.plugin.init();
      loaded.plugin.finalize();
      loaded.plugin.profiler->finalize(loaded.plugin.init_profiler());
      bed.page->number[kChildSaid] = static_cast<uint64_t>(lines_said() - said);
      if (by_exit) exit(0);
      _exit(0);
    }
    NEED(wait_for(child) == 0);
    const uint64_t before = bed.moved();
    while (bed.moved() < before + 100) nap_ms(1);
    loaded.stop();
    NEED(used->move(50));
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }, 40'000));
  const Sums sums = sum(SegmentCopy::read(segment));
  const uint64_t parents = bed.moved() + 100;
  EXPECT(sums.posted == parents);
  EXPECT(sums.completed == parents);
  EXPECT(!is_closed(client, 0));
  EXPECT(sidecar.accept(0) < 0);
  EXPECT(bed.page->number[kChildSaid] == 0);
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  see("the parent moved %lu, its segment has %lu; the child moved %lu, said %lu lines, asked for no segment", parents, sums.posted,
      bed.page->number[kByChild].load(), bed.page->number[kChildSaid].load());
}

void child_goes_on_and_exits() { fork_and_use(true); }
void child_goes_on_and_exits_at_once() { fork_and_use(false); }

// While recording threads, and hand-over from one sidecar to the next, may hold any lock.
void forks_while_all_is_busy() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  constexpr int kForks = kIsSanitized ? 30 : 200;
  Job job([] {
    Loaded loaded;
    const std::unique_ptr<Mover> idle = loaded.make_mover();
    loaded.start_moving(kMovers);
    std::atomic<bool> over{false};
    std::thread opener([&] {  // takes the mutexes
      while (!over) loaded.make_mover()->move(1);
    });
    int hung = 0;
    for (int i = 0; i < kForks; i++) {
      if (i % 20 == 0) nap_ms(kIsSanitized ? 100 : 250);  // 1 s lies between two attempts to find a sidecar
      const pid_t child = fork();
      if (child == 0) {
        alarm(10);
        if (bed.mode == Mode::kTap) {
          NEED(idle->move(3));
          NEED(loaded.make_mover()->move(3));
          Verbs another;
          another.open();
          NEED(VerbsMover(another).move(3));
          another.close();
        }
        if (bed.mode == Mode::kTap) {  // the chained plugin of the tests has a lock of its own, which is not made for forks
          loaded.plugin.init();
          loaded.plugin.finalize();
        }
        loaded.plugin.profiler->finalize(loaded.plugin.init_profiler());
        _exit(0);
      }
      const int status = wait_for(child);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) hung++;
      NEED(status == 0 || hung);
    }
    over = true;
    opener.join();
    loaded.stop();
    NEED(idle->move(3));
    bed.page->number[0] = static_cast<uint64_t>(hung);
    bed.page->stage = 1;
  });
  int segments = 0;
  while (bed.page->stage == 0) {  // a sidecar that goes as soon as it has given a segment
    const int client = sidecar.accept(200);
    if (client < 0) {
      if (job.has_ended()) break;
      continue;
    }
    const int segment = FakeSidecar::serve(client);
    segments++;
    nap_ms(50);
    close(client), close(segment);
  }
  EXPECT(job.ends_well());
  EXPECT(bed.page->number[0] == 0);
  EXPECT(segments >= 1);
  see("%d children of a job with %d busy threads, over %d hand-overs: %lu hung", kForks, kMovers + 1, segments,
      bed.page->number[0].load());
}

// `lifecycle --descriptors`: how many this process has from whoever started it.
int count_own_descriptors() { return static_cast<int>(look(getpid()).descriptors); }

int count_inherited_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) {
    const int flags = fcntl(fd, F_GETFD);
    count += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return count;
}

pid_t start_by_vfork(char* const* arguments) {
  const pid_t child = vfork();
  if (child == 0) {
    execv(arguments[0], arguments);
    _exit(98);
  }
  return child;
}

void exec_by_vfork_and_spawn() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  const int known = count_inherited_descriptors();
  Job job([&] {
    Loaded loaded;
    loaded.start_moving(kMovers);
    char program[] = "/proc/self/exe", argument[] = "--descriptors";
    char* arguments[] = {program, argument, nullptr};
    for (int i = 0; i < 20; i++) {
      pid_t child = 0;
      if (i % 2)
        NEED(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
      else
        child = start_by_vfork(arguments);
      const int status = wait_for(child);
      NEED(WIFEXITED(status) && WEXITSTATUS(status) < 90);
      bed.page->number[0] += static_cast<uint64_t>(WEXITSTATUS(status) - known);
    }
    loaded.stop();
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }, 40'000));
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == bed.moved());
  EXPECT(bed.page->number[0] == 0);
  EXPECT(!is_closed(client, 0));
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  see("20 programs started by vfork and posix_spawn inherit %lu descriptors of ours; segment %lu of %lu transfers",
      bed.page->number[0].load(), sums.posted, bed.moved());
}

// Initialised, and then a daemon: the job is the grandchild, which is not witnessed, and whose first process has ended.
void daemon_after_init() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Loaded loaded;
    const std::unique_ptr<Mover> idle = loaded.make_mover();
    NEED(idle->move(50));
    if (fork()) _exit(0);
    setsid();
    if (fork()) _exit(0);
    alarm(30);
    NEED(idle->move(100));
    loaded.plugin.init();
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
    NEED(idle->move(100));
    bed.page->stage = 2;
    _exit(0);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(job.ends_well());
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  EXPECT(is_closed(client, 2000));
  EXPECT(sidecar.accept(0) < 0);
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == 50);
  bed.page->go_on = 1;
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  see("the daemon moves 200 more, unwitnessed; the segment has the %lu of before; the sidecar sees the first process end while "
      "the daemon lives", sums.posted);
}

// As launchers do: children that load the plugin themselves are processes of their own.
void forked_before_init() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    pid_t children[2];
    for (pid_t& child : children) {
      child = fork();
      if (child) continue;
      alarm(30);
      Loaded loaded;
      NEED(was_said("sidecar connected"));
      NEED(loaded.make_mover()->move(70));
      bed.page->stage++;
      while (bed.page->go_on < 1) nap_ms(1);
      exit(0);
    }
    for (const pid_t child : children) NEED(wait_for(child) == 0);
  });
  int clients[2], segments[2];
  for (int i = 0; i < 2; i++) clients[i] = sidecar.accept(), segments[i] = FakeSidecar::serve(clients[i]);
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  const Sums a = sum(SegmentCopy::read(segments[0])), b = sum(SegmentCopy::read(segments[1]));
  EXPECT(a.posted == 70 && b.posted == 70);
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  see("two children, two segments, %lu and %lu of 70 transfers", a.posted, b.posted);
}

// While another thread waits for the sidecar in the first init of all, with its locks held. The child, which has inherited
// nothing that is ready, is a process of its own.
void forked_during_init() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Plugin plugin;
    std::thread initialising([&] { plugin.init(); });
    while (bed.page->go_on < 1) nap_ms(1);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bed.page->text[0] = 0;
      const Loaded loaded;
      NEED(loaded.make_mover()->move(70));
      bed.page->number[kByChild] = 70;
      bed.page->stage = 1;
      while (bed.page->go_on < 2) nap_ms(1);
      _exit(0);
    }
    initialising.join();
    NEED(wait_for(child) == 0);
  });
  const int client = sidecar.accept();
  bed.page->go_on = 1;  // the init waits for the answer
  const int childs = sidecar.accept();
  EXPECT(childs >= 0);
  const int segment = FakeSidecar::serve(childs);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  EXPECT(eventually([&] { return sum(SegmentCopy::read(segment)).posted == 70; }));
  bed.page->go_on = 2;
  EXPECT(job.ends_well());
  close(client);
  see("the child initialises by itself and is witnessed: %lu of its %lu transfers in a segment of its own", sum(SegmentCopy::read(segment)).posted,
      bed.page->number[kByChild].load());
}

// `lifecycle --family PLUGIN`: moves 50, and has a child that moves 100; both stay.
int live_with_child(const char* plugin) {
  bed.plugin = plugin;
  bed.page = new Page{};
  Loaded loaded;
  const std::unique_ptr<Mover> mover = loaded.make_mover();
  NEED(mover->move(50));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    NEED(mover->move(100));
    for (;;) pause();
  }
  printf("child %d\n", child);
  fflush(stdout);
  alarm(60);
  for (;;) pause();
}

}  // namespace

bool run_as_helper(int argc, char** argv, int& status);
int main_returns(int argc, char** argv);  // cases_end.cc

bool run_as_helper(int argc, char** argv, int& status) {
  if (argc == 2 && !strcmp(argv[1], "--descriptors")) return status = count_own_descriptors(), true;
  if (argc == 3 && !strcmp(argv[1], "--family")) return status = live_with_child(argv[2]), true;
  if (argc > 2 && !strcmp(argv[1], "--return")) return status = main_returns(argc, argv), true;
  return false;
}

std::vector<Case> fork_cases() {
  const std::vector<Mode> all{Mode::kTap, Mode::kChain, Mode::kOfi};
  return {{"fork_goes_on_and_exits", "fork without exec beside 3 busy threads; the child uses verbs and net calls, then exit()", all,
           child_goes_on_and_exits},
          {"fork_goes_on_and__exits", "the same, the child ends with _exit()", all, child_goes_on_and_exits_at_once},
          {"forks_while_busy", "forks while threads record, open queue pairs, and sidecars come and go", {Mode::kTap, Mode::kChain},
           forks_while_all_is_busy},
          {"vfork_and_spawn", "vfork + exec and posix_spawn beside 3 busy threads", {Mode::kTap}, exec_by_vfork_and_spawn},
          {"daemon_after_init", "double fork and setsid after init", {Mode::kTap}, daemon_after_init},
          {"forked_before_init", "two children that load the plugin themselves", all, forked_before_init},
          {"forked_during_init", "fork while another thread is in the first init; the child initialises too", {Mode::kTap, Mode::kChain},
           forked_during_init}};
}

}  // namespace railwitness::lifecycle
