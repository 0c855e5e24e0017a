// The handed fixtures of InfiniBand tools, each with the conclusion that stands in their LOG.tsv: lists file, expected, seen.
// fixtures_infiniband [WORD]: only files whose name has WORD. RAILWITNESS_TEST_FIXTURES names their folder; without it the run
// counts as skipped (77).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/probes/fabric/readers/fixtures_infiniband.h"

int main(int argc, char** argv) {
  using namespace railwitness::fabric;
  const char* folder = std::getenv("RAILWITNESS_TEST_FIXTURES");
  if (folder == nullptr) {
    std::puts("fixtures_infiniband: skipped: RAILWITNESS_TEST_FIXTURES names no folder");
    return 77;
  }
  const std::string word = argc > 1 ? argv[1] : "";
  size_t right = 0, all = 0;
  for (const Row& row : rows()) {
    if (row.file.find(word) == std::string::npos) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / row.file;
    std::stringstream bytes;
    bytes << std::ifstream(path).rdbuf();
    const auto begin = std::chrono::steady_clock::now();
    const auto facts = row.read(path.filename().string(), bytes.str());
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    const std::string seen = facts.ok() ? row.see(*facts) : "refused: " + std::string(facts.status().message());
    const bool is_right = seen == row.expected;
    ++all;
    right += is_right;
    std::printf("%s %s (%ld ms)\n  expected: %s\n  seen:     %s\n", is_right ? "right" : "WRONG", row.file.c_str(),
                static_cast<long>(took.count()), row.expected.c_str(), seen.c_str());
  }
  std::printf("fixtures_infiniband: %zu of %zu right\n", right, all);
  return right == all && all > 0 ? 0 : 1;
}
