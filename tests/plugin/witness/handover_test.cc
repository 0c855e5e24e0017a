// Welcomes of all kinds, against the job's end of the hand-over alone.
#include "plugin/witness/handover.h"

#include "tests/plugin/fake_sidecar.h"

#include <gtest/gtest.h>

namespace railwitness::test {
namespace {

struct Handover : testing::Test {
  FakeSidecar sidecar;
  witness::SidecarLink link;
  witness::Knobs knobs{};
  int client = -1;
  std::vector<int> owned;

  Handover() {
    snprintf(knobs.socket, sizeof knobs.socket, "%s", sidecar.path.c_str());
    snprintf(knobs.job, sizeof knobs.job, "job.7");
  }
  ~Handover() override {
    link.close(), link.sweep();
    for (int fd : owned) close(fd);
    if (client >= 0) close(client);
  }
  int own(int fd) { return owned.push_back(fd), fd; }
  void connect() {
    if (client >= 0) close(client);
    ASSERT_TRUE(link.connect(knobs).is_ok());
    client = sidecar.accept();
    ASSERT_GE(client, 0);
    FakeSidecar::hear(client);
  }
  std::string refused_for(const railwitness_welcome& w, const std::vector<int>& fds, size_t bytes = sizeof(railwitness_welcome)) {
    connect();
    FakeSidecar::answer(client, w, fds, bytes);
    Status status = Status::ok();
    witness::Memory* m = link.await_memory(1000, status);
    EXPECT_EQ(m, nullptr);
    EXPECT_FALSE(link.is_open()) << "a refused welcome ends the connection";
    link.sweep();
    return status.what();
  }
  int open_descriptors() {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) != -1;
    return n;
  }
};

TEST_F(Handover, SaysHelloAndTakesTheSegment) {
  ASSERT_TRUE(link.connect(knobs).is_ok());
  client = sidecar.accept();
  const railwitness_hello hello = FakeSidecar::hear(client);
  EXPECT_EQ(hello.magic, RAILWITNESS_HANDOVER_MAGIC);
  EXPECT_EQ(hello.hello_bytes, sizeof hello);
  EXPECT_EQ(hello.pid, static_cast<uint32_t>(getpid()));
  EXPECT_STREQ(hello.job, "job.7");
  const auto h = good_header();
  const int segment = own(make_segment(h, h.segment_bytes));
  FakeSidecar::answer(client, good_welcome(h.segment_bytes), {segment});
  Status status = Status::ok();
  const int before = open_descriptors();
  witness::Memory* m = link.await_memory(1000, status);
  ASSERT_NE(m, nullptr) << status.what();
  EXPECT_EQ(open_descriptors(), before) << "the descriptor is closed, the mapping stays";
  m->writer->pid = 4711;
  EXPECT_EQ(SegmentCopy::read(segment).writer().pid, 4711u);
  witness::unmap(m);
}

TEST_F(Handover, WithoutASidecarFailsAtOnce) {
  sidecar.close();
  EXPECT_FALSE(link.connect(knobs).is_ok());
  EXPECT_FALSE(link.is_open());
}

TEST_F(Handover, WaitsNoLongerThanAsked) {
  connect();
  Status status = Status::ok();
  EXPECT_EQ(link.await_memory(20, status), nullptr);
  EXPECT_TRUE(status.is_ok()) << "nothing yet is no failure";
  EXPECT_TRUE(link.is_open());
}

TEST_F(Handover, NoticesTheEnd) {
  connect();
  using News = witness::SidecarLink::News;
  witness::Part part{};
  EXPECT_EQ(link.await_news(1, part), News::kNone);
  send(client, "hey", 3, 0);
  EXPECT_EQ(link.await_news(1000, part), News::kNone) << "an unexpected message is no end";
  close(client);
  client = -1;
  EXPECT_EQ(link.await_news(1000, part), News::kEnd);
}

TEST_F(Handover, RefusesHostileWelcomes) {
  const auto h = good_header();
  const uint64_t bytes = h.segment_bytes;
  const int good = own(make_segment(h, bytes));
  const int before = open_descriptors();
  railwitness_welcome w = good_welcome(bytes);
  w.magic ^= 1;
  EXPECT_EQ(refused_for(w, {good}), "sidecar's answer is not understood");
  EXPECT_EQ(refused_for(good_welcome(bytes), {good}, 32), "sidecar's answer is not understood");
  EXPECT_EQ(refused_for(good_welcome(bytes), {good}, 200), "sidecar's answer is not understood");
  w = good_welcome(bytes);
  w.abi_major++;
  EXPECT_EQ(refused_for(w, {good}), "sidecar is of another version");
  w = good_welcome(bytes);
  w.status = RAILWITNESS_WELCOME_FULL;
  EXPECT_EQ(refused_for(w, {}), "sidecar serves no more processes");
  w.status = 1234;
  EXPECT_EQ(refused_for(w, {good}), "sidecar refused");
  EXPECT_EQ(refused_for(good_welcome(bytes), {}), "sidecar gave no segment");
  EXPECT_EQ(refused_for(good_welcome(bytes), {good, good}), "sidecar gave no segment");
  EXPECT_EQ(refused_for(good_welcome(bytes), std::vector<int>(12, good)), "sidecar's answer is not understood");
  EXPECT_EQ(refused_for(good_welcome(bytes + 4096), {good}), "segment has another size than was said");
  EXPECT_EQ(refused_for(good_welcome(~0ull), {good}), "segment has another size than was said");
  close(client);
  client = -1;
  EXPECT_EQ(open_descriptors(), before) << "no descriptor is kept";
}

TEST_F(Handover, RefusesDescriptorsThatCouldHarm) {
  const auto h = good_header();
  const uint64_t bytes = h.segment_bytes;
  EXPECT_EQ(refused_for(good_welcome(bytes), {own(make_segment(h, bytes, 0))}), "segment is not sealed");
  EXPECT_EQ(refused_for(good_welcome(bytes), {own(make_segment(h, bytes, F_SEAL_SHRINK))}), "segment is not sealed");
  EXPECT_EQ(refused_for(good_welcome(bytes), {own(make_segment(h, bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))}),
            "segment cannot be mapped");
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  own(pipe_ends[0]), own(pipe_ends[1]);
  EXPECT_EQ(refused_for(good_welcome(bytes), {pipe_ends[0]}), "segment is no sealed memory");
  const int file = own(open((sidecar.folder + "/file").c_str(), O_RDWR | O_CREAT, 0600));
  unlink((sidecar.folder + "/file").c_str());
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
  EXPECT_NE(refused_for(good_welcome(bytes), {file}), "ok");
  auto bad = h;
  bad.states_offset = ~0ull - 63;
  EXPECT_EQ(refused_for(good_welcome(bytes), {own(make_segment(bad, bytes))}), "segment has a table beyond its end");
  bad = h;
  bad.abi_major++;
  EXPECT_EQ(refused_for(good_welcome(bytes), {own(make_segment(bad, bytes))}), "segment has another abi_major");
  bad = h;
  bad.segment_bytes = 64;
  EXPECT_EQ(refused_for(good_welcome(64), {own(make_segment(bad, 64))}), "segment header cannot be read");
}

}  // namespace
}  // namespace railwitness::test
