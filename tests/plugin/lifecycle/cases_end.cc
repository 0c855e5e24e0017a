// Unloading, and every way for a process to end.
#include "tests/plugin/lifecycle/loaded.h"

#include <csignal>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

void tell_held(const Held& before, const Held& after) {
  see("threads %ld -> %ld, descriptors %ld -> %ld, mappings %ld -> %ld", before.threads, after.threads, before.descriptors,
      after.descriptors, before.mappings, after.mappings);
}

void reopened_100_times() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Loaded first;
    const std::unique_ptr<Mover> mover = first.make_mover();
    for (int i = 0; i <= 100; i++) {
      NEED(mover->move(2));
      Plugin again;
      again.init();
      again.profiler->finalize(again.init_profiler());
      again.finalize();
      first.plugin.unload();
      first.plugin.handle = again.handle;
      if (i == 0) bed.page->stage = 1;
      if (i == 0 || i == 100)
        while (bed.page->go_on < bed.page->stage) nap_ms(1);
      if (i == 99) bed.page->stage = 2;
    }
    NEED(lines_said() == 1);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  nap_ms(1200);  // until memory of before the hand-over has been given back
  const Held before = look(job.pid);
  bed.page->go_on = 1;
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  nap_ms(100);
  const Held after = look(job.pid);
  bed.page->go_on = 2;
  EXPECT(job.ends_well());
  EXPECT(after.threads == before.threads && after.descriptors == before.descriptors);
  EXPECT(kIsSanitized || after.mappings <= before.mappings + 2);  // of the heap
  EXPECT(sum(SegmentCopy::read(segment)).posted == 202);
  see("101 times dlopen, init, finalize, dlclose under one connection");
  tell_held(before, after);
}

void unloaded_with_flows_open() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Loaded loaded;
    loaded.start_moving(3);
    loaded.plugin.unload();
    const uint64_t before = bed.moved();
    while (bed.moved() < before + 300) nap_ms(1);
    loaded.stop();  // which closes what is open
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == bed.moved());
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  see("3 threads go on over the dlclose; segment %lu of %lu transfers", sums.posted, bed.moved());
}

// Of 2.28.3 to 2.29.7, communicator after communicator; the real ones are in tests/matrix/communicators_in_turn.py.
void unloaded_as_nccl_does() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    for (int i = 0; i < 20; i++) {
      Plugin profiler, net;  // two handles of one library
      net.init();
      Verbs verbs;
      verbs.open();
      void* profiling = profiler.init_profiler();
      {
        VerbsMover mover(verbs);
        NEED(mover.move(10));
      }
      profiler.profiler->finalize(profiling);
      profiler.unload();
      verbs.close();
      net.finalize();
      net.unload();
    }
    NEED(lines_said() == 1);
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
  });
  const int client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  const SegmentCopy s = SegmentCopy::read(segment);
  EXPECT(sum(s).posted == 200);
  EXPECT(s.writer().comms == 20 && s.writer().contexts == 20);
  EXPECT(look(job.pid).threads == 2 || kIsSanitized);
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  see("20 communicators, each with its own dlopen and dlclose of net and profiler: %lu of 200 transfers, %u communicators",
      sum(s).posted, s.writer().comms);
}

// --- the end of the process ------------------------------------------------------------------------------------------

struct Ending {
  const char* name;
  void (*end)();
  int status;
};

const Ending kEndings[] = {{"exit", [] { exit(3); }, 3 << 8},
                           {"quick_exit", [] { quick_exit(4); }, 4 << 8},
                           {"_exit", [] { _exit(5); }, 5 << 8},
                           {"abort", [] { signal(SIGABRT, SIG_DFL), abort(); }, SIGABRT}};

void ended_while_moving() {
  const int rounds = kIsSanitized ? 2 : 8;
  int right = 0, of = 0;
  for (const Ending& ending : kEndings)
    for (int i = 0; i < rounds; i++) {
      FakeSidecar sidecar;
      use_sidecar(sidecar);
      for (auto& m : bed.page->moved) m = 0;
      Job job([&] {
        Loaded loaded;
        loaded.start_moving(3);
        nap_ms(i);
        ending.end();
      });
      const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
      const int status = job.wait();
      const bool as_meant = (status & ~0x80) == ending.status;  // but for the core
      if (!as_meant) see("%s: %s", ending.name, describe_status(status).c_str());
      const Sums sums = sum(SegmentCopy::read(segment));
      const bool is_whole = sums.posted >= bed.moved() && sums.posted <= bed.moved() + 3;
      if (!is_whole) see("%s: segment %lu of %lu", ending.name, sums.posted, bed.moved());
      right += as_meant && is_whole, of++;
      close(client), close(segment);
    }
  EXPECT(right == of);
  see("exit, quick_exit, _exit, abort while 3 threads move: %d of %d end as meant, segment whole to the last transfer", right, of);
}

// The sidecar takes the connection and answers late, never, or hangs up; main returns meanwhile.
void returned_while_connecting() {
  const int rounds = kIsSanitized ? 10 : 60;
  int right = 0;
  for (int i = 0; i < rounds; i++) {
    FakeSidecar sidecar;
    use_sidecar(sidecar);
    Job job([&] {
      const std::string page = std::to_string(i);
      use_mode();
      execl("/proc/self/exe", "lifecycle", "--return", bed.plugin.c_str(), page.c_str(), static_cast<char*>(nullptr));
    });
    const int client = sidecar.accept();
    if (i % 3 == 0) nap_ms(i), FakeSidecar::hear(client), close(client);
    int segment = -1;
    if (i % 3 == 1) {
      nap_ms(i);
      FakeSidecar::hear(client);
      const railwitness_segment_header h = test::good_header();
      segment = test::make_segment(h, h.segment_bytes);
      pollfd p{client, POLLIN, 0};
      if (poll(&p, 1, 0) == 0) FakeSidecar::answer(client, test::good_welcome(h.segment_bytes), {segment});
    }
    right += job.ends_well();
    if (i % 3) close(client);
    if (segment >= 0) close(segment);
  }
  EXPECT(right == rounds);
  see("main returns 0 to 60 ms after init, with a sidecar that answers late, never or hangs up: %d of %d end with 0", right, rounds);
}

// --- destructors of the job that use what is witnessed ---------------------------------------------------------------

struct Late {  // as a static object of the application
  std::unique_ptr<Mover> mover;
  int number;
  Late(std::unique_ptr<Mover> given, int which) : mover(std::move(given)), number(which) {}
  ~Late() {
    NEED(mover->move(10));
    bed.page->number[number] += 10;
    mover.reset();
  }
};

std::unique_ptr<Late> before_all;  // destroyed after everything that main constructs

void used_in_destructors() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    atexit([] {  // registered before the plugin is loaded
      NEED(before_all->mover->move(10));
      bed.page->number[0] += 10;
    });
    auto* loaded = new Loaded;  // stays: its verbs are used to the very end
    before_all = std::make_unique<Late>(loaded->make_mover(), 1);
    static Late after_all(loaded->make_mover(), 2);
    loaded->plugin.unload();
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  const int status = job.wait();
  EXPECT(status == 0);
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == 30);
  EXPECT(bed.page->number[0] == 10 && bed.page->number[1] == 10 && bed.page->number[2] == 10);
  see("destructors and an atexit handler, older and younger than the plugin, move 30 after its dlclose and exit(): %s, segment %lu",
      describe_status(status).c_str(), sums.posted);
}

}  // namespace

int main_returns(int argc, char** argv);

int main_returns(int, char** argv) {
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bed.page = static_cast<Page*>(page);
  bed.plugin = argv[2];
  if (getenv("RAILWITNESS_MODE")) bed.mode = Mode::kChain;  // which is not used here
  Plugin plugin(bed.plugin);
  plugin.init();
  nap_ms(atoi(argv[3]));
  return 0;
}

std::vector<Case> end_cases() {
  const std::vector<Mode> all{Mode::kTap, Mode::kChain, Mode::kOfi};
  return {{"reopened_100_times", "dlopen, init, finalize, dlclose 100 times while a flow moves", all, reopened_100_times},
          {"dlclose_with_flows_open", "dlclose while 3 threads move", all, unloaded_with_flows_open},
          {"dlclose_as_nccl_2_28_3", "profiler and net opened and closed around each of 20 communicators", {Mode::kTap},
           unloaded_as_nccl_does},
          {"ends_while_moving", "exit(), quick_exit(), _exit(), abort() while other threads move", {Mode::kTap, Mode::kChain},
           ended_while_moving},
          {"returns_while_connecting", "return from main while the helper thread talks to a sidecar that is slow", {Mode::kTap},
           returned_while_connecting},
          {"used_in_destructors", "static objects and atexit handlers move data after exit()", {Mode::kTap, Mode::kChain},
           used_in_destructors}};
}

}  // namespace railwitness::lifecycle
