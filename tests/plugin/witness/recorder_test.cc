#include "plugin/witness/recorder.h"

#include "plugin/witness/knobs.h"
#include "tests/plugin/poster.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace railwitness::test {
namespace {

using witness::current;

struct Recorder : testing::Test {
  Recorder() {
    witness::forget_everything();
    witness::start(witness::map_private());
  }
};

TEST_F(Recorder, SaysWhoWritesAndByWhichClock) {
  const railwitness_writer& w = *current()->writer;
  EXPECT_EQ(w.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(w.clock, has_invariant_tsc() ? RAILWITNESS_CLOCK_TSC : RAILWITNESS_CLOCK_MONO_NS);
  EXPECT_EQ(w.plugin_version, 1u << 8);
  EXPECT_EQ(w.copied_forward, 0u);
}

TEST_F(Recorder, KeepsTheNewestControlEvents) {
  for (uint64_t i = 0; i < RAILWITNESS_CONTROL_CAPACITY + 10; i++)
    witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT, .value = {i, 0, 0}});
  EXPECT_EQ(current()->writer->control_reserved, uint64_t{RAILWITNESS_CONTROL_CAPACITY} + 10);
  EXPECT_EQ(current()->control[3].value[0], uint64_t{RAILWITNESS_CONTROL_CAPACITY} + 3);
  EXPECT_EQ(current()->control[3].sequence, uint64_t{RAILWITNESS_CONTROL_CAPACITY} + 4);
  EXPECT_EQ(current()->control[3].rail, 0xFFFF);
}

TEST_F(Recorder, ControlEventsOfManyThreadsAreAllThere) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; t++)
    threads.emplace_back([t] {
      for (uint64_t i = 0; i < 100; i++) witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT, .value = {t, i, 0}});
    });
  for (auto& t : threads) t.join();
  uint64_t seen[8] = {};
  for (uint64_t i = 0; i < 800; i++) {
    ASSERT_EQ(current()->control[i].sequence, i + 1);
    EXPECT_EQ(current()->control[i].value[1], seen[current()->control[i].value[0]]++);
  }
}

TEST_F(Recorder, KnowsCommunicatorsUntilTheyClose) {
  const uint64_t a = witness::open_comm(0xABC, 3, 8, 2, "world");
  const uint64_t b = witness::open_comm(0xDEF, 0, 4, 1, nullptr);
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_EQ(current()->writer->comms, 2u);
  const railwitness_comm& c = current()->comms[0];
  EXPECT_EQ(c.comm_hash, 0xABCu);
  EXPECT_EQ(c.rank, 3);
  EXPECT_EQ(c.nranks, 8);
  EXPECT_EQ(c.nnodes, 2);
  EXPECT_STREQ(c.name, "world");
  EXPECT_EQ(c.open, 1u);
  witness::close_comm(a);
  EXPECT_EQ(c.open, 2u);
  EXPECT_NE(c.closed_ticks, 0u);
  witness::close_comm(0), witness::close_comm(~0ull);  // never given
}

TEST_F(Recorder, CommunicatorsBeyondTheTableTakeTheLinesOfClosedOnes) {
  std::vector<uint64_t> tokens;
  for (uint64_t i = 0; i < RAILWITNESS_COMM_CAPACITY; i++) tokens.push_back(witness::open_comm(i, 0, 1, 1, ""));
  const uint64_t none = witness::open_comm(1000, 0, 1, 1, "no room");
  EXPECT_NE(none, 0u);
  witness::close_comm(none);
  witness::close_comm(tokens[7]), witness::close_comm(tokens[5]);
  witness::open_comm(2000, 0, 1, 1, "");
  EXPECT_EQ(current()->comms[7].comm_hash, 2000u);
  EXPECT_EQ(current()->comms[7].open, 1u);
}

TEST_F(Recorder, RailsBeyondTheTableAreNone) {
  railwitness_rail rail{};
  for (int i = 0; i < RAILWITNESS_RAIL_CAPACITY; i++) {
    snprintf(rail.device, sizeof rail.device, "nic_%d", i);
    EXPECT_EQ(witness::add_rail(rail), static_cast<uint32_t>(i));
    EXPECT_EQ(witness::add_rail(rail), static_cast<uint32_t>(i)) << "again";
  }
  snprintf(rail.device, sizeof rail.device, "nic_x");
  EXPECT_EQ(witness::add_rail(rail), witness::kNoRail);
  EXPECT_EQ(witness::find_rail("nic_3", 0), 3u);
}

TEST_F(Recorder, AThousandThreadsShareTheLinesThatThereAre) {
  std::atomic<int> entered{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Poster>> posters;
  for (uint32_t i = 0; i < 200; i++) posters.push_back(std::make_unique<Poster>(100 + i));
  for (uint32_t i = 0; i < 1000; i++)
    threads.emplace_back([&, i] {
      witness::enter_thread();
      witness::count_poll();
      if (i < 200) posters[i]->post(i), posters[i]->complete(i);
      entered++;
      go.wait(false);  // one that looks every millisecond takes both processors, with a thousand of them
    });
  while (entered < 1000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(current()->writer->threads, RAILWITNESS_THREAD_CAPACITY - 1u);
  go = true;
  go.notify_all();
  for (auto& t : threads) t.join();
  for (uint32_t i = 0; i < 200; i++) EXPECT_EQ(posters[i]->flow->state->completed, 1u);
  uint32_t tid = 0;
  std::thread([&] {
    posters[0]->post(1);
    tid = static_cast<uint32_t>(gettid());
    const auto* line = witness::this_thread.line;
    EXPECT_EQ(line->tid, tid) << "the line of a thread that has ended is free again";
    EXPECT_EQ(line->posts, 1u);
  }).join();
}

TEST_F(Recorder, AForkedChildDoesNothingAndDoesNotHang) {
  Poster p(1);
  p.post(1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    const bool quiet = !witness::may_record() && !witness::open_flow(2, false) && witness::add_rail({}) == witness::kNoRail;
    witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT});
    _exit(quiet ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// --- changing the memory --------------------------------------------------------------------------------------------

TEST_F(Recorder, TakesEverythingAlongToTheNextMemory) {
  witness::add_rail({.device = "nic_0", .guid = 1, .port = 1, .link_layer = 1, .state = 4, .active_speed = 0, .active_width = 0,
                     .reserved0 = 0, .lid = 9, .gid = {}, .reserved = {}});
  const uint64_t comm = witness::open_comm(5, 1, 2, 1, "c");
  Poster busy(10), silent(11);
  const uint8_t port = 1;
  const uint32_t peer = 77;
  witness::learn(*silent.flow, {.port = &port, .peer_qpn = &peer, .device = "nic_0"});
  for (uint64_t i = 0; i < 200; i++) busy.post(i), busy.complete(i);
  silent.post(1);
  const uint64_t events = current()->writer->control_reserved;

  witness::switch_memory(witness::map_private());
  EXPECT_EQ(current()->writer->copied_forward, 1u);
  EXPECT_EQ(current()->writer->pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(current()->writer->control_reserved, events);
  EXPECT_EQ(current()->control[0].sequence, 1u);
  EXPECT_STREQ(current()->rails[0].device, "nic_0");
  EXPECT_EQ(current()->comms[0].comm_hash, 5u);
  EXPECT_EQ(current()->identities[1].peer_qpn, 77u);
  EXPECT_EQ(current()->states[1].posted, 1u) << "a silent flow is there without an event of its own";
  EXPECT_EQ(current()->records[witness::kRecords].sequence, 1u);
  busy.post(1000), busy.complete(1000);
  EXPECT_EQ(current()->states[0].completed, 201u);
  EXPECT_EQ(reinterpret_cast<railwitness_thread*>(current()->threads)->posts, 202u);
  witness::close_comm(comm);
  EXPECT_EQ(current()->comms[0].open, 2u);

  // Further on, past a flow that slept through a whole memory.
  for (int i = 0; i < 4; i++) {
    witness::switch_memory(witness::map_private());
    busy.post(2000), busy.complete(2000);
  }
  silent.complete(1);
  EXPECT_EQ(current()->states[1].completed, 1u);
  EXPECT_EQ(current()->states[0].completed, 205u);
}

TEST_F(Recorder, SettlesFlowsThatFellSilentDuringTheChange) {
  Poster p(10);
  p.post(1);
  const witness::Memory* before = current();
  witness::switch_memory(witness::map_private());
  // As if the thread had been in the middle of an event: it ends in the old memory, and nothing follows.
  before->states[0].posted = 2;
  before->states[0].records = 2;
  witness::settle(false);
  EXPECT_EQ(current()->states[0].posted, 2u);
  p.post(2);
  EXPECT_EQ(current()->states[0].posted, 3u);
  before->states[0].posted = 99;
  witness::settle(false);
  EXPECT_EQ(current()->states[0].posted, 3u) << "a flow that has come along is left alone";
}

TEST_F(Recorder, GivesOldMemoryBackAndSurvivesAStoreIntoIt) {
  Poster sleeper(10), busy(11);
  sleeper.post(1), busy.post(1);
  const witness::Memory* before = current();
  for (int i = 0; i < 3; i++) {
    witness::switch_memory(witness::map_private());
    busy.complete(static_cast<uint64_t>(i + 1)), busy.post(static_cast<uint64_t>(i + 2));
    witness::settle(true);
  }
  EXPECT_EQ(before->writer->pid, 0u) << "its pages are gone";
  before->states[0].posted = 5;  // a thread that was stopped for minutes
  sleeper.complete(1);
  sleeper.post(2);
  EXPECT_EQ(current()->states[0].posted, 2u);
  EXPECT_EQ(current()->states[0].completed, 1u);
  EXPECT_EQ(current()->states[1].completed, 3u);
}

TEST_F(Recorder, LosesNothingWhileFourThreadsPostAndTheMemoryChanges) {
  constexpr int kThreads = 4, kFlowsEach = 4;
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Poster>> posters;
  std::vector<uint64_t> done(kThreads * kFlowsEach);
  for (uint32_t i = 0; i < kThreads * kFlowsEach; i++) posters.push_back(std::make_unique<Poster>(100 + i));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; !stop || round < 100; round++) {
        for (int f = 0; f < kFlowsEach; f++) {
          const auto i = static_cast<size_t>(t * kFlowsEach + f);
          // Now and then more outstanding than the ring holds.
          const uint64_t burst = round % 50 == 0 ? 150 : 3;
          for (uint64_t k = 0; k < burst; k++) posters[i]->post(done[i] + k, 7);
          for (uint64_t k = 0; k < burst; k++) posters[i]->complete(done[i]++);
        }
        witness::count_poll();
        if (round % 64 == 0) witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT});
        std::this_thread::yield();
      }
    });
  for (int i = 0; i < 25; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    witness::switch_memory(witness::map_private());
    witness::settle(false);
  }
  stop = true;
  for (auto& t : threads) t.join();
  witness::settle(true);
  uint64_t posts = 0, completions = 0, expected = 0;
  for (size_t i = 0; i < done.size(); i++) {
    const railwitness_state& s = current()->states[i];
    EXPECT_EQ(s.posted, done[i]);
    EXPECT_EQ(s.completed, done[i]);
    EXPECT_EQ(s.posted_bytes, done[i] * 7);
    EXPECT_EQ(s.completed_bytes, done[i] * 7);
    EXPECT_EQ(s.records, done[i]);
    EXPECT_EQ(s.oldest_post_ticks, 0u);
    uint64_t counted = 0;
    for (uint32_t b : current()->histograms[i].bucket) counted += b;
    EXPECT_EQ(counted, done[i]);
    for (uint64_t r = done[i] - witness::kRecords; r < done[i]; r++) {
      const railwitness_record& record = current()->records[i * witness::kRecords + r % witness::kRecords];
      ASSERT_EQ(record.sequence, r + 1);
      ASSERT_EQ(record.posted_through, r + 1);
    }
    expected += done[i];
  }
  for (uint32_t i = 0; i < current()->writer->threads; i++) {
    posts += reinterpret_cast<railwitness_thread*>(current()->threads)[i].posts;
    completions += reinterpret_cast<railwitness_thread*>(current()->threads)[i].completions;
  }
  EXPECT_EQ(posts, expected);
  EXPECT_EQ(completions, expected);
}

// Sequence and posts of each flow, as a sidecar reads them: what stands under one name.
std::vector<std::pair<uint32_t, uint64_t>> posts_by_name(const witness::Memory& m) {
  std::vector<std::pair<uint32_t, uint64_t>> found;
  for (uint32_t i = 0, n = load_acquire(m.writer->flows); i < n; i++) {
    const uint32_t sequence = load_acquire(m.identities[i].sequence);
    const uint64_t posted = load_acquire(m.states[i].posted);
    found.emplace_back(load_acquire(m.identities[i].sequence) == sequence ? sequence : 1, posted);
  }
  return found;
}

TEST_F(Recorder, GivesAFlowThatCameDuringTheChangeNothingOfTheOneBefore) {
  witness::set_growth([](const witness::Memory&, bool, witness::Part&) { return false; });
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> opened{0};
  const auto open_and_close = [&] {
    Poster p(100);
    for (uint64_t k = 0; k < opened % 5; k++) p.post(k), p.complete(k);
    witness::close_flow(*p.flow);
    opened++;
  };
  // Lines 0 to 15 have one queue pair after the other; all others, which are copied after them, keep the change busy.
  constexpr uint32_t kShort = 16;
  for (uint32_t i = 0; i < kShort; i++) open_and_close();
  for (uint32_t i = kShort; i < witness::first_flow_of(1); i++) Poster(i).post(0);
  std::thread opener([&] {
    while (!stop) open_and_close(), std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
  uint64_t compared = 0, gone_back = 0;
  for (int i = 0; i < 40; i++) {
    witness::switch_memory(witness::map_private());
    const auto first = posts_by_name(*current());
    witness::settle(true);
    const auto then = posts_by_name(*current());
    for (size_t f = 0; f < kShort; f++) {
      if (first[f].first % 2 || first[f].first != then[f].first) continue;
      compared++;
      if (then[f].second < first[f].second) gone_back++;
    }
  }
  stop = true;
  opener.join();
  witness::set_growth(nullptr);
  EXPECT_EQ(gone_back, 0u) << "of " << compared;
  EXPECT_GT(compared, 40u);
}

// --- knobs ----------------------------------------------------------------------------------------------------------

TEST(Knobs, NameTheJobFromSlurmIfNothingElseDoes) {
  unsetenv("RAILWITNESS_JOB");
  setenv("SLURM_JOB_ID", "123", 1);
  EXPECT_STREQ(witness::read_knobs().job, "123");
  setenv("RAILWITNESS_JOB", "llm/7b run<1>", 1);
  EXPECT_STREQ(witness::read_knobs().job, "llm/7b_run_1_");
  setenv("RAILWITNESS_JOB", std::string(500, 'x').c_str(), 1);
  EXPECT_EQ(strlen(witness::read_knobs().job), 63u);
  unsetenv("RAILWITNESS_JOB");
  unsetenv("SLURM_JOB_ID");
  EXPECT_STREQ(witness::read_knobs().job, "");
}

TEST(Knobs, ModeIsTapUnlessItSaysAnother) {
  const auto mode = [](const char* text) {
    setenv("RAILWITNESS_MODE", text, 1);
    return witness::read_knobs();
  };
  EXPECT_EQ(mode("").mode, witness::Mode::kTap);
  EXPECT_EQ(mode("OFF").mode, witness::Mode::kOff);
  EXPECT_EQ(mode("tap").mode, witness::Mode::kTap);
  EXPECT_EQ(mode("ofi").mode, witness::Mode::kOfi);
  EXPECT_EQ(mode("chain").mode, witness::Mode::kChain);
  EXPECT_STREQ(mode("chain").plugin, "");
  EXPECT_EQ(mode("Chain:/opt/Lib.so").mode, witness::Mode::kChain);
  EXPECT_STREQ(mode("Chain:/opt/Lib.so").plugin, "/opt/Lib.so");
  EXPECT_EQ(mode("chained").mode, witness::Mode::kTap);
  unsetenv("RAILWITNESS_MODE");
  EXPECT_EQ(witness::read_knobs().mode, witness::Mode::kTap);
}

TEST(Knobs, TheSegmentFileHasThePidBehindItsName) {
  setenv("RAILWITNESS_SEGMENT_FILE", "/tmp/seg", 1);
  EXPECT_EQ(std::string(witness::read_knobs().segment_file), "/tmp/seg." + std::to_string(getpid()));
  unsetenv("RAILWITNESS_SEGMENT_FILE");
}

}  // namespace
}  // namespace railwitness::test
