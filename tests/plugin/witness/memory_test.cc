// Segment files, and what another process with the same name for its own may do to them.
#include "plugin/witness/memory.h"

#include "plugin/witness/knobs.h"
#include "tests/plugin/fake_sidecar.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>

namespace railwitness::test {
namespace {

struct SegmentFile : testing::Test {
  std::string folder;
  SegmentFile() {
    char name[] = "/tmp/railwitness-test-XXXXXX";
    folder = mkdtemp(name);
  }
  ~SegmentFile() override { std::filesystem::remove_all(folder); }
};

// Two containers that share a folder have processes with the same number.
TEST_F(SegmentFile, OfAnotherJobWithTheSameNumberIsNotCutUnderIt) {
  const std::string path = folder + "/segment.7";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t job = fork();
  if (job == 0) {
    alarm(60);
    Status status = Status::ok();
    witness::Memory* m = witness::map_file(path.c_str(), status);
    if (!m || write(ready[1], "x", 1) != 1) _exit(1);
    for (volatile uint64_t& word = m->writer->unwitnessed_events;;) word = word + 1;
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  for (int i = 0; i < 50; i++) {
    Status status = Status::ok();
    witness::Memory* m = witness::map_file(path.c_str(), status);
    ASSERT_NE(m, nullptr) << status.what();
    usleep(1000);
    ASSERT_EQ(m->writer->unwitnessed_events, 0u) << "two jobs write into one file";
    witness::unmap(m);
  }
  int status = 0;
  EXPECT_EQ(waitpid(job, &status, WNOHANG), 0) << "the other job ended, with signal " << WTERMSIG(status);
  kill(job, SIGKILL);
  waitpid(job, &status, 0);
  close(ready[0]), close(ready[1]);
}

TEST_F(SegmentFile, ThatALinkStandsForIsNotWritten) {
  const std::string path = folder + "/segment.7", target = folder + "/target";
  std::ofstream(target) << "precious";
  ASSERT_EQ(symlink(target.c_str(), path.c_str()), 0);
  Status status = Status::ok();
  witness::Memory* m = witness::map_file(path.c_str(), status);
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
  if (m) witness::unmap(m);
}

TEST_F(SegmentFile, WithALongNameKeepsTheNumberOfItsProcess) {
  const std::string long_folder = folder + "/" + std::string(200, 'a') + "/" + std::string(200, 'b');
  std::filesystem::create_directories(long_folder);
  const std::string base = long_folder + "/" + std::string(200, 'c');
  setenv("RAILWITNESS_SEGMENT_FILE", base.c_str(), 1);
  const witness::Knobs knobs = witness::read_knobs();
  EXPECT_EQ(knobs.segment_file, base + "." + std::to_string(getpid()));
  Status status = Status::ok();
  witness::Memory* m = witness::map_file(knobs.segment_file, status);
  EXPECT_NE(m, nullptr) << status.what();
  if (m) witness::unmap(m);
  witness::Part part{};
  EXPECT_TRUE(witness::map_file_part(knobs.segment_file, 1, part).is_ok());
  EXPECT_TRUE(std::filesystem::exists(std::string(knobs.segment_file) + ".1"));
  witness::unmap_part(part);
  unsetenv("RAILWITNESS_SEGMENT_FILE");
}

TEST_F(SegmentFile, WithANameThatNoFileCanHaveIsRefusedAndNotCut) {
  const std::string base = folder + std::string(5000, '/') + "segment";
  setenv("RAILWITNESS_SEGMENT_FILE", base.c_str(), 1);
  const witness::Knobs knobs = witness::read_knobs();
  unsetenv("RAILWITNESS_SEGMENT_FILE");
  Status status = Status::ok();
  EXPECT_EQ(witness::map_file(knobs.segment_file, status), nullptr);
  EXPECT_FALSE(status.is_ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace railwitness::test
