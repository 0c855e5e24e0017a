// Signals of the job: none is handled on our thread, none makes anything fail; and none of ours.
#include "tests/plugin/lifecycle/loaded.h"

#include <csignal>
#include <filesystem>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

std::atomic<uint64_t> handled{0}, on_helper{0};
std::atomic<pid_t> helper{0};

void handler(int) {
  handled++;
  if (static_cast<pid_t>(syscall(SYS_gettid)) == helper) on_helper++;
}

// Threads of this process with our name.
std::vector<pid_t> find_helpers() {
  std::vector<pid_t> found;
  DIR* tasks = opendir("/proc/self/task");
  for (const dirent* e = tasks ? readdir(tasks) : nullptr; e; e = readdir(tasks)) {
    char name[32] = {};
    FILE* comm = fopen(("/proc/self/task/" + std::string(e->d_name) + "/comm").c_str(), "re");
    if (comm && fgets(name, sizeof name, comm) && !strcmp(name, "railwitness\n")) found.push_back(atoi(e->d_name));
    if (comm) fclose(comm);
  }
  if (tasks) closedir(tasks);
  return found;
}

uint64_t blocked_by(pid_t thread) {
  uint64_t mask = 0;
  FILE* status = fopen(("/proc/self/task/" + std::to_string(thread) + "/status").c_str(), "re");
  for (char line[256]; status && fgets(line, sizeof line, status);) sscanf(line, "SigBlk: %lx", &mask);
  if (status) fclose(status);
  return mask;
}

constexpr uint64_t bit_of(int signal) { return 1ull << (signal - 1); }
// Two that no thread can block, and three of glibc's own.
constexpr uint64_t kAllBlockable = ~(bit_of(SIGKILL) | bit_of(SIGSTOP) | bit_of(32) | bit_of(33) | bit_of(34));

void handlers_never_run_on_our_thread() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Loaded loaded;
    NEED(eventually([] { return find_helpers().size() == 1; }));
    helper = find_helpers()[0];
    NEED((blocked_by(helper) & kAllBlockable) == kAllBlockable);
    constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGSEGV, SIGALRM};
    for (const int s : kSignals) signal(s, handler);
    loaded.start_moving(2);
    for (int i = 0; i < 3000; i++) NEED(kill(getpid(), kSignals[i % 6]) == 0);
    // With the others blocking them, ours is the only thread left: they stay pending.
    sigset_t set, before;
    sigemptyset(&set);
    for (const int s : kSignals) sigaddset(&set, s);
    loaded.stop();
    pthread_sigmask(SIG_BLOCK, &set, &before);
    for (const int s : kSignals) kill(getpid(), s);
    nap_ms(50);
    NEED(on_helper == 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    bed.page->number[0] = handled.load();
    bed.page->number[1] = on_helper.load();
    bed.page->stage = 1;
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  EXPECT(job.ends_well());
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == bed.moved());
  EXPECT(bed.page->number[1] == 0 && bed.page->number[0] > 10);
  see("every signal that can be blocked is blocked on our thread; handlers ran %lu times, %lu of them on it", bed.page->number[0].load(),
      bed.page->number[1].load());
}

// 1 kHz and 1 kHz of processor time, on whatever thread the kernel takes.
void start_storm(bool restarts) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = restarts ? SA_RESTART : 0;
  NEED(!sigaction(SIGALRM, &action, nullptr) && !sigaction(SIGPROF, &action, nullptr));
  const itimerval each{{0, 1000}, {0, 1000}};
  NEED(!setitimer(ITIMER_REAL, &each, nullptr) && !setitimer(ITIMER_PROF, &each, nullptr));
}

void stop_storm() {
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  setitimer(ITIMER_PROF, &none, nullptr);
}

// The sidecar takes 20 ms to answer, so that signals come in between.
void storm_during_hand_over() {
  const int rounds = kIsSanitized ? 2 : 6;
  int right = 0;
  uint64_t signals = 0;
  for (int i = 0; i < rounds; i++) {
    FakeSidecar sidecar;
    use_sidecar(sidecar);
    for (auto& m : bed.page->moved) m = 0;
    bed.page->stage = bed.page->go_on = 0;
    Job job([&] {
      start_storm(i % 2);
      Loaded loaded;
      NEED(kIsSanitized || was_said("sidecar connected"));
      loaded.start_moving(2);
      bed.page->stage = 1;
      while (bed.page->go_on < 1) nap_ms(1);
      loaded.stop();
      stop_storm();
      bed.page->number[0] = handled.load();
    });
    int client = sidecar.accept();
    nap_ms(20);
    int segment = FakeSidecar::serve(client);
    bool is_right = eventually([] { return bed.page->stage == 1; });
    close(client), close(segment);  // and the next one, in the middle of it
    client = sidecar.accept();
    nap_ms(5);
    if (is_right) segment = FakeSidecar::serve(client);
    nap_ms(100);
    bed.page->go_on = 1;
    is_right = job.ends_well() && is_right && sum(SegmentCopy::read(segment)).posted == bed.moved();
    right += is_right;
    signals += bed.page->number[0];
    if (!is_right) see("round %d: segment %lu of %lu", i, sum(SegmentCopy::read(segment)).posted, bed.moved());
    close(client), close(segment);
  }
  EXPECT(right == rounds);
  see("%d jobs under 1 kHz of SIGALRM and SIGPROF, half with SA_RESTART (%lu signals): %d take the segment at init, the next "
      "sidecar's too, and count every transfer", rounds, signals, right);
}

// Laying out a file of 4 MiB takes longer than the next signal.
void storm_during_segment_file() {
  char folder[] = "/dev/shm/railwitness-life-XXXXXX";  // not every file system lets itself be interrupted; memory does
  if (!mkdtemp(folder)) skip("no /dev/shm");
  const std::string path = std::string(folder) + "/segment";
  setenv("RAILWITNESS_SEGMENT_FILE", path.c_str(), 1);
  int right = 0;
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; i++) {
    for (auto& m : bed.page->moved) m = 0;
    Job job([&] {
      start_storm(i % 2);
      Loaded loaded;
      NEED(was_said("segment file instead of a sidecar"));
      loaded.start_moving(1);
      loaded.stop();
      stop_storm();
    });
    const pid_t pid = job.pid;
    right += job.ends_well() && sum(read_file(path + "." + std::to_string(pid))).posted == bed.moved();
  }
  EXPECT(right == kRounds);
  std::filesystem::remove_all(folder);
  see("%d of %d jobs under the same storm make their segment file", right, kRounds);
}

// SIGPIPE's default is to end the job.
void sidecar_dies_while_we_send() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    signal(SIGPIPE, SIG_DFL);
    Loaded loaded;
    std::vector<std::unique_ptr<Mover>> movers;
    const auto move_more = [&](int count) {
      for (int i = 0; i < count; i++) {
        movers.push_back(loaded.make_mover());
        NEED(movers.back()->move(1));
      }
    };
    move_more(150);
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
    move_more(250);  // lines run out: the sidecar, which reads no more, is asked for further ones
    bed.page->stage = 2;
    while (bed.page->go_on < 2) nap_ms(1);
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  shutdown(client, SHUT_RD);  // a send to it fails with EPIPE, as to one that has died a moment ago
  bed.page->go_on = 1;
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  EXPECT(SegmentCopy::read(segment).writer().unwitnessed_flows == 144);
  int connections = 0;
  for (close(client); connections < 3; connections++) {  // and ones that die in the middle of the greeting
    const int next = sidecar.accept(8000);
    if (next < 0) break;
    if (connections == 1) FakeSidecar::hear(next);
    close(next);
  }
  EXPECT(connections == 3);
  bed.page->go_on = 2;
  const int status = job.wait();
  EXPECT(status == 0);
  see("asked while it reads no more, closed %d times while it is greeted: %s, no SIGPIPE", connections, describe_status(status).c_str());
}

}  // namespace

std::vector<Case> signal_cases() {
  return {{"signals_not_on_our_thread", "SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGSEGV, SIGALRM handlers of the job, 3000 signals",
           {Mode::kTap, Mode::kChain}, handlers_never_run_on_our_thread},
          {"storm_during_hand_over", "1 kHz SIGALRM and SIGPROF, with and without SA_RESTART, at init and while sidecars change",
           {Mode::kTap, Mode::kChain}, storm_during_hand_over},
          {"storm_during_segment_file", "the same storm while a segment file is made", {Mode::kTap}, storm_during_segment_file},
          {"no_sigpipe", "the sidecar closes while the job greets it and asks for more segments", {Mode::kTap},
           sidecar_dies_while_we_send}};
}

}  // namespace railwitness::lifecycle
