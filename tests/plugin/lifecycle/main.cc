// lifecycle --list                    every case and mode, a line each: CASE MODE WHAT WAS DONE
// lifecycle CASE MODE PLUGIN LOOP FAKE_NCCL
//                                     runs one; says `seen: ...`, and `wrong: ...` if it was. Exit 0 right, 1 wrong, 77 skip
//
// lifecycle.py runs all of them.
#include "tests/plugin/lifecycle/bed.h"

#include <sys/mman.h>

namespace railwitness::lifecycle {

bool run_as_helper(int argc, char** argv, int& status);  // of the cases that start this program again

namespace {

const char* name_of(Mode mode) { return mode == Mode::kTap ? "tap" : mode == Mode::kChain ? "chain" : "ofi"; }

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* some : {take_cases, fork_cases, end_cases, signal_cases, scarce_cases, many_cases, copy_cases, change_cases})
    for (Case& c : some()) all.push_back(c);
  return all;
}

int run_case(const Case& c) {
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  bed.page = static_cast<Page*>(page);
  char folder[] = "/tmp/railwitness-life-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  bed.folder = folder;
  c.run();
  std::string command = "rm -rf " + bed.folder;
  if (system(command.c_str())) fprintf(stderr, "%s stays\n", folder);
  printf("seen: %s\n", bed.seen.c_str());
  if (!bed.wrong.empty()) printf("wrong: %s\nsaid: %s", bed.wrong.c_str(), bed.page->text);
  return bed.wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace railwitness::lifecycle

int main(int argc, char** argv) {
  using namespace railwitness::lifecycle;
  bed.self = "/proc/self/exe";
  int status = 0;
  if (run_as_helper(argc, argv, status)) return status;
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    for (const Case& c : all_cases())
      for (const Mode mode : c.modes) printf("%s %s %s\n", c.name, name_of(mode), c.done);
    return 0;
  }
  if (argc != 6) return fprintf(stderr, "lifecycle CASE MODE PLUGIN LOOP FAKE_NCCL, or --list\n"), 2;
  bed.plugin = argv[3], bed.loop = argv[4], bed.fake_nccl = argv[5];
  for (const Case& c : all_cases())
    for (const Mode mode : c.modes)
      if (!strcmp(c.name, argv[1]) && !strcmp(name_of(mode), argv[2])) return bed.mode = mode, run_case(c);
  return fprintf(stderr, "no case %s in mode %s; --list has all\n", argv[1], argv[2]), 2;
}
