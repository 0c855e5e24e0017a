// Flows beyond the first segment: in private memory, in further segments, refused, and over a sidecar's restart.
#include "plugin/witness/keeper.h"
#include "plugin/witness/layout.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_sidecar.h"
#include "tests/plugin/poster.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <sys/wait.h>

namespace railwitness::test {
namespace {

using witness::current;
using witness::lines_of;

struct Parts : testing::Test {
  Parts() {
    witness::forget_everything();
    witness::start(witness::map_private());
  }
  ~Parts() override { witness::forget_everything(); }
};

TEST_F(Parts, OfFlowsOnlyPassTheirOwnCheckAndNoOther) {
  for (uint32_t part = 0; part < RAILWITNESS_PARTS; part++) {
    auto h = witness::make_header(part);
    h.magic = RAILWITNESS_SEGMENT_MAGIC;
    EXPECT_TRUE(witness::check_header(h, h.segment_bytes, part).is_ok()) << part;
    EXPECT_FALSE(witness::check_header(h, h.segment_bytes, (part + 1) % RAILWITNESS_PARTS).is_ok()) << part;
    EXPECT_LE(h.segment_bytes, witness::kMaxSegmentBytes);
    EXPECT_EQ(witness::first_flow_of(part) + h.flow_capacity, witness::first_flow_of(part + 1));
    EXPECT_EQ(witness::part_of(witness::first_flow_of(part)), part);
    EXPECT_EQ(witness::part_of(witness::first_flow_of(part + 1) - 1), part);
    h.flow_capacity--;
    EXPECT_FALSE(witness::check_header(h, h.segment_bytes, part).is_ok()) << part;
  }
}

TEST_F(Parts, ComeWithThe257thFlow) {
  std::vector<Poster> posters;
  for (uint32_t i = 0; i < 256; i++) posters.emplace_back(1000 + i);
  EXPECT_EQ(current()->part_count, 1u);
  Poster next(5000);
  ASSERT_NE(next.flow, nullptr);
  for (uint64_t i = 0; i < 200; i++) next.post(i), next.complete(i);
  const witness::Memory& m = *current();
  EXPECT_EQ(m.part_count, 2u);
  EXPECT_EQ(m.writer->flows, 256u);
  EXPECT_EQ(m.parts[1].writer->flows, 1u);
  EXPECT_EQ(m.parts[1].writer->pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(m.parts[1].identities[0].qpn, 5000u);
  EXPECT_EQ(m.parts[1].states[0].completed, 200u);
  EXPECT_EQ(m.parts[1].records[199 % witness::kRecords].sequence, 200u);
  EXPECT_EQ(m.writer->unwitnessed_flows, 0u);
}

uint64_t posts_of(uint32_t flow) { return flow % 7 + 1; }

void expect_exact(uint32_t flows) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < flows; i++) {
    const witness::Lines lines = lines_of(*current(), i);
    wrong += lines.identity->qpn != 1000 + i || lines.state->posted != posts_of(i) ||
             lines.state->completed != posts_of(i) || lines.state->posted_bytes != posts_of(i) * 100 ||
             lines.records[0].sequence != 1;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(current()->writer->unwitnessed_flows, 0u);
}

// A rank of a 2304-rank all-to-all: one queue pair to send and one to receive with each.
TEST_F(Parts, Hold4608FlowsExactlyAndTakeThemToTheNextMemory) {
  constexpr uint32_t kFlows = 4608;
  std::vector<Poster> posters;
  for (uint32_t i = 0; i < kFlows; i++) posters.emplace_back(1000 + i);
  for (uint32_t i = 0; i < kFlows; i++)
    for (uint64_t k = 0; k < posts_of(i); k++) posters[i].post(k), posters[i].complete(k);
  EXPECT_EQ(current()->part_count, 5u);
  expect_exact(kFlows);

  witness::Memory* small = witness::map_private();
  EXPECT_FALSE(witness::switch_memory(small)) << "one part is too little for them";
  witness::unmap(small);
  witness::Memory* next = witness::map_private();
  while (next->part_count < witness::parts_in_use()) {
    ASSERT_TRUE(witness::map_private_part(next->part_count, next->parts[next->part_count]));
    next->part_count++;
  }
  ASSERT_TRUE(witness::switch_memory(next));
  witness::settle(true);
  expect_exact(kFlows);
  posters[4607].post(100), posters[4607].complete(100);
  EXPECT_EQ(lines_of(*next, 4607).state->posted, posts_of(4607) + 1);
  EXPECT_EQ(next->parts[4].writer->flows, 4608u - witness::first_flow_of(4));
}

TEST_F(Parts, GiveTheLinesOfDestroyedFlowsAgainOldestFirst) {
  witness::set_growth([](const witness::Memory& m, bool now, witness::Part& part) {
    return now && m.part_count < 2 && witness::map_private_part(1, part);
  });
  std::vector<Poster> posters;
  for (uint32_t i = 0; i < 768; i++) posters.emplace_back(1000 + i);
  EXPECT_FALSE(witness::has_room());
  EXPECT_EQ(Poster(1).flow, nullptr);
  EXPECT_EQ(current()->writer->unwitnessed_flows, 1u);
  for (const uint32_t i : {700u, 3u, 256u}) posters[i].post(1), witness::close_flow(*posters[i].flow);
  EXPECT_TRUE(witness::has_room());
  for (const uint32_t i : {700u, 3u, 256u}) {
    Poster again(9000 + i);
    ASSERT_NE(again.flow, nullptr);
    EXPECT_EQ(again.flow->index, i);
    EXPECT_EQ(lines_of(*current(), i).identity->qpn, 9000 + i);
    EXPECT_EQ(lines_of(*current(), i).state->posted, 0u);
    EXPECT_EQ(lines_of(*current(), i).records[0].sequence, 0u);
    again.post(5);
    EXPECT_EQ(lines_of(*current(), i).state->posted, 1u);
  }
  EXPECT_FALSE(witness::has_room());
  EXPECT_EQ(witness::open_flow(2, false, true), nullptr) << "one that was counted before";
  EXPECT_EQ(current()->writer->unwitnessed_flows, 1u);
}

TEST_F(Parts, AreNotEndlessAndWhatDoesNotFitIsCounted) {
  for (uint32_t i = 0; i < RAILWITNESS_MOST_FLOWS; i++) ASSERT_NE(witness::open_flow(1000 + i, false), nullptr) << i;
  for (uint32_t i = 0; i < 5; i++) EXPECT_EQ(witness::open_flow(90'000 + i, false), nullptr);
  EXPECT_EQ(current()->part_count, RAILWITNESS_PARTS);
  EXPECT_EQ(current()->writer->unwitnessed_flows, 5u);
}

TEST_F(Parts, OpenedByTwoThreadsAtOnceGiveEachFlowALineOfItsOwn) {
  constexpr uint32_t kEach = 1500;
  std::array<std::vector<uint32_t>, 2> lines;
  std::array<std::thread, 2> threads;
  for (uint32_t t = 0; t < 2; t++)
    threads[t] = std::thread([&, t] {
      for (uint32_t i = 0; i < kEach; i++) {
        Poster p(10'000 * (t + 1) + i);
        p.post(1), p.complete(1);
        lines[t].push_back(p.flow->index);
      }
    });
  for (auto& thread : threads) thread.join();
  std::set<uint32_t> all;
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < kEach; i++) {
      all.insert(lines[t][i]);
      EXPECT_EQ(lines_of(*current(), lines[t][i]).identity->qpn, 10'000 * (t + 1) + i);
      EXPECT_EQ(lines_of(*current(), lines[t][i]).state->completed, 1u);
    }
  EXPECT_EQ(all.size(), 2 * kEach);
  EXPECT_EQ(*all.rbegin(), 2 * kEach - 1);
}

// --- with a sidecar ---------------------------------------------------------------------------------------------------

struct Job {
  pid_t pid;

  explicit Job(const std::function<void()>& life) : pid(fork()) {
    if (pid) return;
    alarm(120);
    witness::forget_everything();
    life();
    for (;;) pause();
  }
  ~Job() { end(); }
  void end() {
    if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
    pid = 0;
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; i++) {
    if (holds()) return true;
    usleep(5000);
  }
  return false;
}

// A sidecar that gives further segments, up to `most` parts in all.
struct Giving {
  FakeSidecar sidecar;
  int client = -1;
  std::vector<int> segments;
  uint32_t requests = 0;

  ~Giving() {
    forget();
  }
  void forget() {
    for (int fd : segments) close(fd);
    segments.clear();
    if (client >= 0) close(client);
    client = -1;
  }
  void take_job() {
    client = sidecar.accept(60'000);
    ASSERT_GE(client, 0);
    segments.push_back(FakeSidecar::serve(client));
  }
  // Answers requests until `done` holds.
  bool serve_until(uint32_t most, const std::function<bool()>& done) {
    return eventually([&] {
      pollfd p{client, POLLIN, 0};
      while (poll(&p, 1, 0) == 1 && answer_one(most)) {
      }
      return done();
    });
  }
  bool answer_one(uint32_t most) {
    railwitness_request request{};
    if (recv(client, &request, sizeof request, 0) != ssize_t{sizeof request}) return false;
    EXPECT_EQ(request.magic, RAILWITNESS_REQUEST_MAGIC);
    EXPECT_EQ(request.request_bytes, sizeof request);
    requests++;
    railwitness_welcome w = good_welcome(0);
    w.part = request.part;
    if (request.part >= most) {
      w.status = RAILWITNESS_WELCOME_FULL;
      FakeSidecar::answer(client, w, {});
      return true;
    }
    EXPECT_EQ(request.part, segments.size());
    auto h = witness::make_header(request.part);
    h.magic = RAILWITNESS_SEGMENT_MAGIC;
    w.segment_bytes = h.segment_bytes;
    segments.push_back(make_segment(h, h.segment_bytes));
    FakeSidecar::answer(client, w, {segments.back()});
    return true;
  }
  SegmentCopy copy(size_t part) const { return SegmentCopy::read(segments.at(part)); }
  // How many flows are in the segments with the counts they should have.
  uint32_t count_right(uint32_t flows) const {
    uint32_t right = 0;
    for (size_t p = 0; p < segments.size(); p++) {
      const SegmentCopy s = copy(p);
      const uint32_t first = witness::first_flow_of(static_cast<uint32_t>(p));
      for (uint32_t i = 0; i < s.writer().flows && first + i < flows; i++)
        right += s.identity(i).qpn == 1000 + first + i && s.state(i).posted == posts_of(first + i) &&
                 s.state(i).completed == posts_of(first + i);
    }
    return right;
  }
};

witness::Knobs knobs_for(const FakeSidecar& sidecar) {
  witness::Knobs k{};
  snprintf(k.socket, sizeof k.socket, "%s", sidecar.path.c_str());
  return k;
}

// Opens flows and posts on each; those that find no line do so once there is one, or never.
void open_and_post(uint32_t flows, bool patient) {
  for (uint32_t i = 0; i < flows; i++) {
    Poster p(1000 + i);
    for (; patient && !p.flow; usleep(1000))
      if (witness::has_room()) p.flow = witness::open_flow(1000 + i, false, true);
    if (!p.flow) continue;
    for (uint64_t k = 0; k < posts_of(i); k++) p.post(k), p.complete(k);
  }
}

TEST(PartsOfASidecar, AreAskedForBeforeTheyAreNeeded) {
  Giving giving;
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(1000, true);
  });
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(7, [&] { return giving.count_right(1000) == 1000; }));
  EXPECT_EQ(giving.segments.size(), 3u) << "768 lines were three quarters full with 576, 1792 are not with 1000";
  EXPECT_EQ(giving.requests, 2u);
  EXPECT_EQ(giving.copy(0).writer().unwitnessed_flows, 0u);
  EXPECT_EQ(giving.copy(1).writer().flows, 512u);
  EXPECT_EQ(giving.copy(1).writer().pid, static_cast<uint32_t>(job.pid));
  job.end();
  EXPECT_EQ(giving.count_right(1000), 1000u) << "and stay whole when the job is killed";
}

TEST(PartsOfASidecar, OfALaterOneHoldAllThatWasInTheEarlierOnes) {
  Giving giving;
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(1000, true);
  });
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(7, [&] { return giving.count_right(1000) == 1000; }));
  giving.forget();
  giving.sidecar.close();
  usleep(100'000);
  giving.sidecar.open();
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(7, [&] { return giving.count_right(1000) == 1000; }));
  EXPECT_EQ(giving.segments.size(), 3u) << "as many as 1000 flows need";
  EXPECT_EQ(giving.copy(0).writer().unwitnessed_flows, 0u);
  EXPECT_EQ(giving.copy(0).writer().copied_forward, 1u);
}

TEST(PartsOfASidecar, ThatAreRefusedAreCountedAndNotAskedForAgainAtOnce) {
  Giving giving;
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(300, false);
  });
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(1, [&] {
    return giving.requests > 0 && giving.copy(0).writer().unwitnessed_flows == 44;
  }));
  EXPECT_EQ(giving.requests, 1u);
  EXPECT_EQ(giving.count_right(300), 256u);
}

TEST(PartsOfASidecar, AreNotAskedForWhereItDoesNotKnowThem) {
  Giving giving;
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(300, false);
  });
  giving.client = giving.sidecar.accept(60'000);
  FakeSidecar::hear(giving.client);
  const auto h = good_header();
  giving.segments.push_back(make_segment(h, h.segment_bytes));
  railwitness_welcome w = good_welcome(h.segment_bytes);
  w.abi_minor = 2;
  FakeSidecar::answer(giving.client, w, {giving.segments[0]});
  ASSERT_TRUE(eventually([&] { return giving.copy(0).writer().unwitnessed_flows == 44; }));
  pollfd p{giving.client, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 100), 0) << "not a word";
  EXPECT_EQ(giving.count_right(300), 256u);
}

TEST(PartsOfASidecar, ThatRefusesLeaveTheRestToTheNextOne) {
  Giving giving;
  giving.sidecar.close();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(1000, false);
    if (write(ready[1], "x", 1) != 1) _exit(2);
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  giving.sidecar.open();
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(2, [&] { return giving.count_right(1000) == 768; }));
  ASSERT_TRUE(giving.serve_until(2, [&] { return giving.copy(0).writer().unwitnessed_flows == 232; }));
  giving.forget();
  giving.sidecar.close();
  usleep(100'000);
  giving.sidecar.open();
  giving.take_job();
  ASSERT_TRUE(giving.serve_until(7, [&] { return giving.count_right(1000) == 1000; }));
  EXPECT_TRUE(eventually([&] { return giving.copy(0).writer().unwitnessed_flows == 0; }));
  close(ready[0]), close(ready[1]);
}

TEST(PartsOfASidecar, ThatCouldHarmEndTheConnection) {
  Giving giving;
  Job job([&] {
    if (!witness::begin(knobs_for(giving.sidecar)).is_ok()) _exit(1);
    open_and_post(200, false);
    for (uint32_t i = 200; i < 250; i++) Poster(1000 + i), usleep(50'000);  // should the sidecar have come late
  });
  giving.take_job();
  railwitness_request request{};
  ASSERT_EQ(recv(giving.client, &request, sizeof request, 0), ssize_t{sizeof request});
  auto h = witness::make_header(1);
  h.magic = RAILWITNESS_SEGMENT_MAGIC;
  h.records_offset = ~0ull - 63;
  giving.segments.push_back(make_segment(h, h.segment_bytes));
  railwitness_welcome w = good_welcome(h.segment_bytes);
  w.part = 1;
  FakeSidecar::answer(giving.client, w, {giving.segments.back()});
  char rest;
  EXPECT_EQ(recv(giving.client, &rest, 1, 0), 0);
  giving.forget();
  giving.take_job();
  EXPECT_TRUE(giving.serve_until(7, [&] { return giving.count_right(200) == 200; })) << "the next one is taken";
}

TEST(PartsInFiles, HaveTheirNumberBehindTheName) {
  char folder[] = "/tmp/railwitness-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string base = std::string(folder) + "/segment";
  Job job([&] {
    witness::Knobs k{};
    snprintf(k.segment_file, sizeof k.segment_file, "%s", base.c_str());
    if (!witness::begin(k).is_ok()) _exit(1);
    open_and_post(300, false);
    _exit(0);
  });
  int status = -1;
  waitpid(job.pid, &status, 0);
  job.pid = 0;
  EXPECT_EQ(status, 0);
  for (uint32_t part = 0; part < 2; part++) {
    const std::string name = base + (part ? ".1" : "");
    const int fd = open(name.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0) << name;
    const SegmentCopy s = SegmentCopy::read(fd);
    EXPECT_EQ(s.writer().flows, part ? 44u : 256u);
    EXPECT_EQ(s.identity(43).qpn, 1000 + 256 * part + 43);
    close(fd), unlink(name.c_str());
  }
  rmdir(folder);
}

}  // namespace
}  // namespace railwitness::test
