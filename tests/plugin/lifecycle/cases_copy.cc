// More than one plugin in a process, and contexts that were there before it.
#include "tests/plugin/lifecycle/loaded.h"

#include <filesystem>

#include <dlfcn.h>
#include <sys/socket.h>

namespace railwitness::lifecycle {
namespace {

namespace fs = std::filesystem;
using test::SegmentCopy;

constexpr int kTransfers = 200;

// A second installation; `with_stub`: with a tap-verbs.so of its own, else with a link to the first one's.
std::string install_copy(bool with_stub) {
  const fs::path original = bed.plugin, folder = fs::path(bed.folder) / "copy";
  fs::create_directory(folder);
  fs::copy_file(original, folder / original.filename());
  const fs::path stub = original.parent_path() / "tap-verbs.so";
  if (with_stub)
    fs::copy_file(stub, folder / "tap-verbs.so");
  else
    fs::create_symlink(stub, folder / "tap-verbs.so");
  return folder / original.filename();
}

// Segments of the two copies: a file each, by the variable that each reads at its init.
struct Both {
  Sums first, second;
};

enum class First { kStub, kTable, kLate };

// What the first copy has tapped must not be tapped by the second, by none of its ways.
void use_both(const std::string& copy, First first_by) {
  const std::string a = bed.folder + "/a", b = bed.folder + "/b";
  Job job([&] {
    std::unique_ptr<Verbs> verbs;
    ibv_context* early = nullptr;
    if (first_by == First::kTable) NEED(dlopen("libibverbs.so", RTLD_NOW));
    if (first_by == First::kLate) {
      void* nccl = dlopen(bed.fake_nccl.c_str(), RTLD_NOW);
      NEED(nccl);
      early = reinterpret_cast<ibv_context* (*)()>(dlsym(nccl, "fake_nccl_open"))();
    }
    setenv("RAILWITNESS_SEGMENT_FILE", a.c_str(), 1);
    Plugin one;
    if (first_by != First::kLate) one.init();
    if (early) one.init_profiler();
    const int said = lines_said();
    setenv("RAILWITNESS_SEGMENT_FILE", b.c_str(), 1);
    Plugin two(copy);
    NEED((one.net == two.net) == (copy.find("/copy/") == std::string::npos));
    if (!early) {
      two.init();
      verbs = std::make_unique<Verbs>();
      verbs->open();
    } else {
      verbs = std::make_unique<Verbs>("libibverbs.so.1");
      verbs->context = early;
    }
    one.init_profiler();
    two.init_profiler();  // looks for contexts, too
    NEED(VerbsMover(*verbs).move(kTransfers));
    bed.page->number[0] = static_cast<uint64_t>(lines_said() - said);
    verbs->close();
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const Sums first = sum(read_file(a + "." + std::to_string(pid))), second = sum(read_file(b + "." + std::to_string(pid)));
  EXPECT(first.posted == kTransfers && first.completed == kTransfers);
  EXPECT(second.posted == 0);
  std::string said = bed.page->text;
  said = said.substr(0, said.size() - 1);
  const std::string last = said.substr(said.rfind('\n') == std::string::npos ? 0 : said.rfind('\n') + 1);
  const bool is_another = copy.find("/copy/") != std::string::npos;
  EXPECT(bed.page->number[0] == (is_another ? 1u : 0u));
  if (is_another) EXPECT(last.find("another copy of the plugin is at work") != std::string::npos);
  see("%d transfers: the first counts %lu, the second %lu; %s%s", kTransfers, first.posted, second.posted,
      is_another ? "it said: " : "it is the same library", is_another ? last.c_str() : "");
}

void two_copies_one_stub() { use_both(install_copy(false), First::kStub); }
void two_installations() { use_both(install_copy(true), First::kStub); }
void two_installations_name_taken() {
  if (!dlopen("libibverbs.so", RTLD_NOW)) skip("no libibverbs.so in the loader's path");
  use_both(install_copy(true), First::kTable);
}
void two_installations_late() { use_both(install_copy(true), First::kLate); }

void same_by_symlink() {
  const std::string link = bed.folder + "/libnccl-net-other.so";
  fs::create_symlink(bed.plugin, link);
  use_both(link, First::kStub);
}

void opened_before_us() {
  const std::string path = use_segment_file();
  Job job([] {
    void* nccl = dlopen(bed.fake_nccl.c_str(), RTLD_NOW);
    NEED(nccl);
    Verbs verbs("libibverbs.so.1");
    verbs.context = reinterpret_cast<ibv_context* (*)()>(dlsym(nccl, "fake_nccl_open"))();
    VerbsMover before(verbs);
    NEED(before.move(30));  // nobody sees these
    Plugin plugin;
    plugin.init_profiler();
    NEED(was_said("tap by late attach, contexts 1"));
    VerbsMover after(verbs);
    NEED(before.move(50) && after.move(50));
    for (int i = 0; i < 20; i++) plugin.profiler->finalize(plugin.init_profiler());
    NEED(before.move(50) && after.move(50));
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const SegmentCopy s = read_file(path + "." + std::to_string(pid));
  EXPECT(sum(s).posted == 200 && s.writer().contexts == 1);
  see("late attach counts %lu of the 200 transfers after it, over 21 communicators, %u context", sum(s).posted, s.writer().contexts);
}

}  // namespace

std::vector<Case> copy_cases() {
  return {{"two_copies_one_stub", "a copy of the plugin beside the first one's tap-verbs.so", {Mode::kTap}, two_copies_one_stub},
          {"two_installations", "a second installation, with a tap-verbs.so of its own", {Mode::kTap}, two_installations},
          {"two_installations_name_taken", "the same where libibverbs.so was open before", {Mode::kTap}, two_installations_name_taken},
          {"two_installations_late", "the same where the first attached late", {Mode::kTap}, two_installations_late},
          {"same_by_symlink", "the plugin again by a symbolic link", {Mode::kTap}, same_by_symlink},
          {"opened_before_us", "a context that was open before, and in use", {Mode::kTap}, opened_before_us}};
}

}  // namespace railwitness::lifecycle
