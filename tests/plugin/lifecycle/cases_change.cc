// What the job changes under us: environment, descriptors, root, user, folder, the three standard descriptors.
#include "tests/plugin/lifecycle/loaded.h"

#include <cerrno>
#include <filesystem>

#include <dlfcn.h>
#include <grp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

void environment_set_during_init() {
#if defined(__SANITIZE_THREAD__)
  skip("ThreadSanitizer reports every reading of the environment beside a setenv, as this case has them");
#endif
  const int rounds = kIsSanitized ? 5 : 30;
  int right = 0;
  use_no_sidecar();
  for (int i = 0; i < rounds; i++) {
    Job job([] {
      Plugin plugin;
      for (int k = 0; k < 50; k++) setenv(("SOME_NAME_" + std::to_string(k)).c_str(), "x", 1);
      std::atomic<bool> over{false};
      std::atomic<int> changes{0};
      // Values only: a new name may move the whole table, under which no getenv of any library is safe with this libc.
      std::thread setter([&] {
        for (int k = 0; !over; k++, changes++) setenv(("SOME_NAME_" + std::to_string(k % 50)).c_str(), std::to_string(k).c_str(), 1);
      });
      while (changes < 10) sched_yield();
      plugin.init();
      for (int k = 0; k < 20; k++) plugin.profiler->finalize(plugin.init_profiler());
      over = true;
      setter.join();
      NEED(lines_said() == 1);
    });
    right += job.ends_well();
  }
  EXPECT(right == rounds);
  see("%d of %d jobs initialise while another thread sets variables", right, rounds);
}

// A mode that is changed after the first init is not half taken.
void mode_set_after_init() {
  const std::string path = use_segment_file();
  Job job([] {
    Loaded loaded;
    const std::unique_ptr<Mover> mover = loaded.make_mover();
    NEED(mover->move(10));
    setenv("RAILWITNESS_MODE", "off", 1);
    loaded.plugin.init();
    loaded.plugin.profiler->finalize(loaded.plugin.init_profiler());
    setenv("RAILWITNESS_MODE", "ofi", 1);
    void* context = nullptr;
    nccl::NetCommConfigV11 config{};
    NEED(loaded.plugin.net->init(&context, 9, &config, nullptr, nullptr) == nccl::kSuccess);
    int devices = -1;
    NEED(loaded.plugin.net->devices(&devices) == nccl::kSuccess && devices == 0);
    NEED(mover->move(10));
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const SegmentCopy s = read_file(path + "." + std::to_string(pid));
  EXPECT(sum(s).posted == 20 && s.writer().comms == 1);
  see("RAILWITNESS_MODE changed twice after init: the mode stays, %lu of 20 transfers, %u communicator", sum(s).posted, s.writer().comms);
}

// The job closes what it did not open, and takes the numbers for sockets of its own, with data in them.
struct OwnSockets {
  static constexpr int kPairs = 300;
  int ends[kPairs][2];
  void open() {
    for (auto& pair : ends) NEED(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
    for (const auto& pair : ends)
      for (const int end : pair) NEED(send(end, "mine", 5, 0) == 5);
  }
  // How many are closed, or have lost or got a message.
  int count_harmed() {
    int harmed = 0;
    for (const auto& pair : ends)
      for (const int end : pair) {
        char text[512] = {};
        const bool has_its_own = recv(end, text, sizeof text, MSG_DONTWAIT) == 5 && !strcmp(text, "mine");
        harmed += !has_its_own || recv(end, text, sizeof text, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
      }
    return harmed;
  }
};

void closed_all_descriptors() {
#if defined(__SANITIZE_THREAD__)
  skip("ThreadSanitizer reports what the job does here: it closes a descriptor that another thread uses");
#endif
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Loaded loaded;
    std::vector<std::unique_ptr<Mover>> movers;
    const auto move_one_more = [&] {
      movers.push_back(loaded.make_mover());
      NEED(movers.back()->move(1));
    };
    for (int i = 0; i < 150; i++) move_one_more();
    while (bed.page->go_on < 1) nap_ms(1);  // until the judge has what was written so far
    closefrom(3);
    OwnSockets own;
    own.open();
    // Lines run out: the sidecar is asked for more, by the number that was ours.
    for (int i = 150; i < 400; i++) move_one_more();
    bed.page->stage = 1;
    while (bed.page->go_on < 2) nap_ms(1);
    bed.page->number[0] = static_cast<uint64_t>(own.count_harmed());
    for (auto& mover : movers) NEED(mover->move(1));
    bed.page->stage = 2;
    while (bed.page->go_on < 3) nap_ms(1);
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  EXPECT(eventually([&] { return sum(SegmentCopy::read(segment)).posted == 150; }));
  bed.page->go_on = 1;
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  const int again = sidecar.accept(14'000);  // the helper looks every 5 s
  EXPECT(again >= 0);
  const int next = again >= 0 ? FakeSidecar::serve(again) : -1;
  if (next >= 0)  // and further ones, for 400 flows
    for (pollfd p{again, POLLIN, 0}; poll(&p, 1, 500) == 1;) {
      railwitness_request request{};
      if (recv(again, &request, sizeof request, 0) != ssize_t{sizeof request}) break;
      railwitness_welcome w = test::good_welcome(0);
      w.part = request.part;
      w.status = RAILWITNESS_WELCOME_FULL;
      FakeSidecar::answer(again, w, {});
    }
  bed.page->go_on = 2;
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  EXPECT(bed.page->number[0] == 0);
  const Sums sums = next >= 0 ? sum(SegmentCopy::read(next)) : Sums{};
  EXPECT(sums.posted == 512);
  bed.page->go_on = 3;
  EXPECT(job.ends_well());
  see("after closefrom(3) and 600 sockets of the job's own, with a message each: %lu harmed; the witness is connected again with "
      "%lu of the 512 transfers of the first 256 flows", bed.page->number[0].load(), sums.posted);
}

// Standard descriptors that are closed are numbers that the next open gets.
void started_without_stdio() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  const std::string data = bed.folder + "/data";
  Job job([&] {
    close(0), close(1), close(2);
    Loaded loaded;
    void* profiling = loaded.plugin.init_profiler();
    int ours = 0;
    for (int fd = 0; fd < 3; fd++) ours += fcntl(fd, F_GETFD) >= 0;
    bed.page->number[0] = static_cast<uint64_t>(ours);
    while (open(data.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600) < 2) {  // data files, 2 among them
    }
    const std::unique_ptr<Mover> mover = loaded.make_mover();
    NEED(mover->move(100));
    loaded.plugin.profiler->finalize(profiling);
    loaded.plugin.finalize();
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
    NEED(mover->move(100));
  });
  int client = sidecar.accept();
  close(FakeSidecar::serve(client));
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  close(client);  // a line about the loss would come now
  client = sidecar.accept();
  const int segment = FakeSidecar::serve(client);
  nap_ms(100);
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  struct stat file {};
  EXPECT(!stat(data.c_str(), &file) && file.st_size == 0);
  EXPECT(bed.page->number[0] == 0);
  EXPECT(sum(SegmentCopy::read(segment)).posted == 200);
  see("%lu of the numbers 0 to 2 are ours; %ld bytes in the job's data file that is descriptor 2", bed.page->number[0].load(),
      static_cast<long>(file.st_size));
}

// The next sidecar is found, or is not; the job goes on.
void change_and_go_on(const std::function<void()>& change, bool finds_the_next) {
  FakeSidecar sidecar;
  EXPECT(!chmod(sidecar.folder.c_str(), 0755) && !chmod(sidecar.path.c_str(), 0777));
  const std::string short_path = "sidecar.sock";
  const std::string before = std::filesystem::current_path();
  EXPECT(!chdir(sidecar.folder.c_str()));
  setenv("RAILWITNESS_SOCKET", short_path.c_str(), 1);
  Job job([&] {
    Loaded loaded;
    NEED(was_said("sidecar connected"));
    loaded.start_moving(2);
    change();
    bed.page->stage = 1;
    while (bed.page->go_on < 1) nap_ms(1);
    loaded.stop();
    loaded.plugin.init();
  });
  int client = sidecar.accept();
  int segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  close(client);
  client = sidecar.accept(finds_the_next ? 8000 : 1500);
  EXPECT((client >= 0) == finds_the_next);
  if (client >= 0) segment = FakeSidecar::serve(client);
  nap_ms(150);
  bed.page->go_on = 1;
  EXPECT(job.ends_well());
  const Sums sums = sum(SegmentCopy::read(segment));
  EXPECT(sums.posted == bed.moved());
  EXPECT(!chdir(before.c_str()));
  see("segment %lu of %lu transfers; the next sidecar is %s", sums.posted, bed.moved(), client >= 0 ? "found" : "out of reach");
}

void folder_changed() {
  change_and_go_on([] { NEED(!chdir("/")); }, true);
}
void root_changed() {
  if (geteuid()) skip("chroot needs root");
  change_and_go_on([] { NEED(!chroot(bed.folder.c_str()) && !chdir("/")); }, false);
}
void user_changed() {
  if (geteuid()) skip("setuid needs root");
  change_and_go_on([] { NEED(!setgroups(0, nullptr) && !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534)); }, true);
}
void namespaces_changed() {
  if (geteuid()) skip("unshare needs root");
  change_and_go_on([] { NEED(!unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_FILES | CLONE_FS)); }, true);
}

}  // namespace

std::vector<Case> change_cases() {
  const std::vector<Mode> both{Mode::kTap, Mode::kChain};
  return {{"environment_set_during_init", "setenv in another thread during init and 20 communicators", both, environment_set_during_init},
          {"mode_set_after_init", "RAILWITNESS_MODE is set to off, then ofi, after the first init", {Mode::kTap}, mode_set_after_init},
          {"closed_all_descriptors", "closefrom(3), then 600 sockets of the job's own under the same numbers", {Mode::kTap},
           closed_all_descriptors},
          {"started_without_stdio", "descriptors 0, 1, 2 closed before load, data files in their places", {Mode::kTap},
           started_without_stdio},
          {"folder_changed", "chdir after init, with a relative RAILWITNESS_SOCKET", {Mode::kTap}, folder_changed},
          {"root_changed", "chroot into an empty folder after init", {Mode::kTap}, root_changed},
          {"user_changed", "setresuid to nobody after init, beside 3 threads", {Mode::kTap}, user_changed},
          {"namespaces_changed", "unshare of mounts, network, descriptors and folder after init", {Mode::kTap}, namespaces_changed}};
}

}  // namespace railwitness::lifecycle
