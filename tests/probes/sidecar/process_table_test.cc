#include "probes/sidecar/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "probes/sidecar/clock.h"
#include "railwitness/abi/segment.h"
#include "tests/probes/ring/mapped_segment.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace railwitness::sidecar {
namespace {

using model::ProcessState;
using testing::IsEmpty;
using testing::SizeIs;

// A child process that lives until it is killed, and writes into its segment all the time if it is told to.
class Child {
 public:
  explicit Child(int segment_fd = -1) : pid_(fork()) {
    if (pid_ == 0) run(segment_fd);
  }
  ~Child() { end(); }
  pid_t pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void run(int segment_fd) {
    if (segment_fd < 0) {
      while (true) pause();
    }
    const ring::MappedSegment segment(segment_fd);
    segment.writer().clock = RAILWITNESS_CLOCK_MONO_NS;
    segment.identity(0).sequence = 2;
    segment.identity(0).qpn = 17;
    std::atomic_ref(segment.writer().flows).store(1, std::memory_order_release);
    for (uint64_t i = 1;; ++i) {
      std::atomic_ref(segment.state(0).posted).store(i, std::memory_order_release);
      std::atomic_ref(segment.state(0).completed).store(i, std::memory_order_release);
    }
  }
  pid_t pid_;
};

class ProcessTableTest : public testing::Test {
 protected:
  HandOver hand_over(int32_t pid, uint64_t connection) {
    EXPECT_TRUE(seats_.try_take(1000));
    return {connection, pid, 1000, "job", *ring::make_segment(1, "")};
  }
  model::Process only() const {
    const auto facts = table_.facts();
    EXPECT_THAT(facts, SizeIs(1));
    return facts.at(0);
  }
  void read_until(ProcessState wanted) {
    for (int i = 0; i < 300 && only().state != wanted; ++i) {
      const timespec pause{0, 10'000'000};
      nanosleep(&pause, nullptr);
      table_.read(now_mono_ns());
    }
    EXPECT_EQ(only().state, wanted);
  }

  Seats seats_{64};
  ServiceManager manager_;
  ProcessTable table_{"/proc", seats_, manager_};
};

TEST_F(ProcessTableTest, JoinsASegmentWithItsProcess) {
  const Child child;
  table_.add(hand_over(child.pid(), 1), now_mono_ns());
  EXPECT_EQ(only().pid, child.pid());
  EXPECT_GT(only().start_time, 0u);
  EXPECT_EQ(only().job, "job");
  read_until(ProcessState::kSleeping);
  EXPECT_TRUE(only().cpu_ns.has_value());
  EXPECT_TRUE(table_.take_changed());
  EXPECT_FALSE(table_.take_changed());
}

TEST_F(ProcessTableTest, DoesNotTakeAProcessForAnEarlierOneThatHadItsNumber) {
  const int64_t before = now_mono_ns() - kNsPerSecond;
  const Child victim;
  table_.add(hand_over(victim.pid(), 1), now_mono_ns());
  HandOver forged = hand_over(victim.pid(), 2);
  forged.connected_mono_ns = before;
  EXPECT_EQ(table_.add(std::move(forged), now_mono_ns()), std::nullopt) << "nobody's connection is replaced";
  const auto facts = table_.facts();
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].pid, victim.pid());
  EXPECT_EQ(facts[1].pid, 0);
  EXPECT_EQ(facts[1].start_time, 0u);
}

TEST_F(ProcessTableTest, KnowsAProcessThatConnectsAtOnce) {
  for (int i = 0; i < 20; ++i) {
    const Child child;
    HandOver arrived = hand_over(child.pid(), 1);
    arrived.connected_mono_ns = now_mono_ns();
    ProcessTable table("/proc", seats_, manager_);
    table.add(std::move(arrived), now_mono_ns());
    EXPECT_EQ(table.facts().at(0).pid, child.pid());
  }
}

TEST_F(ProcessTableTest, SeesAStoppedProcess) {
  const Child child;
  table_.add(hand_over(child.pid(), 1), now_mono_ns());
  read_until(ProcessState::kSleeping);
  table_.take_changed();
  EXPECT_FALSE(table_.restless(now_mono_ns()));
  child.signal(SIGSTOP);
  read_until(ProcessState::kStopped);
  EXPECT_TRUE(table_.take_changed());
  EXPECT_TRUE(table_.restless(now_mono_ns()));
}

TEST_F(ProcessTableTest, GoesOnWatchingALivingProcessThatClosedItsSocket) {
  const Child child;
  table_.add(hand_over(child.pid(), 1), now_mono_ns());
  table_.lose_connection(1, now_mono_ns());
  EXPECT_NE(only().state, ProcessState::kGone);
  child.signal(SIGSTOP);
  read_until(ProcessState::kStopped);
}

TEST_F(ProcessTableTest, KeepsTheLastFactsOfAProcessKilledWhileItWrote) {
  HandOver given = hand_over(0, 1);
  Child child(given.segment.fd.get());
  given.pid = child.pid();
  table_.add(std::move(given), now_mono_ns());
  for (int i = 0; i < 500 && (only().flows.empty() || only().flows[0].posted < 1000); ++i) {
    const timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
    table_.read(now_mono_ns());
  }
  child.end();
  const int64_t gone = now_mono_ns();
  table_.lose_connection(1, gone);
  EXPECT_EQ(only().state, ProcessState::kGone);
  EXPECT_EQ(only().state_since_mono_ns, gone);
  EXPECT_EQ(only().segment_problem, "");
  EXPECT_EQ(only().job, "job");
  ASSERT_THAT(only().flows, SizeIs(1));
  EXPECT_GE(only().flows[0].posted, 1000u);
  EXPECT_LE(only().flows[0].posted - only().flows[0].completed, 1u);
  EXPECT_EQ(seats_.taken(), 0u);
  table_.read(gone + ProcessTable::kKeepGoneNs - 1);
  EXPECT_THAT(table_.facts(), SizeIs(1));
  table_.read(gone + ProcessTable::kKeepGoneNs);
  EXPECT_THAT(table_.facts(), IsEmpty());
}

TEST_F(ProcessTableTest, SeesTheEndOfAProcessWhoseSocketAChildHoldsOpen) {
  Child child;
  table_.add(hand_over(child.pid(), 1), now_mono_ns());
  child.end();
  table_.read(now_mono_ns());
  EXPECT_EQ(only().state, ProcessState::kGone);
}

TEST_F(ProcessTableTest, LetsTheSocketDecideWhereProcCannotTell) {
  table_.add(hand_over(0, 7), now_mono_ns());
  table_.read(now_mono_ns());
  EXPECT_EQ(only().state, ProcessState::kUnknown);
  EXPECT_EQ(only().start_time, 0u);
  table_.lose_connection(7, now_mono_ns());
  EXPECT_EQ(only().state, ProcessState::kGone);
}

TEST_F(ProcessTableTest, GivesAProcessOneSegmentAtATime) {
  EXPECT_FALSE(table_.add(hand_over(getpid(), 1), now_mono_ns()).has_value());
  EXPECT_EQ(table_.add(hand_over(getpid(), 2), now_mono_ns()), 1u);
  EXPECT_THAT(table_.facts(), SizeIs(1));
  EXPECT_EQ(seats_.taken(), 1u);
  table_.lose_connection(1, now_mono_ns());
  EXPECT_NE(only().state, ProcessState::kGone);
}

TEST_F(ProcessTableTest, ForgetsTheGoneWhenThereAreTooMany) {
  for (uint64_t i = 0; i < ProcessTable::kMaxGone + 20; ++i) {
    table_.add(hand_over(0, i), now_mono_ns());
    table_.lose_connection(i, now_mono_ns());
  }
  table_.read(now_mono_ns());
  EXPECT_THAT(table_.facts(), SizeIs(ProcessTable::kMaxGone));
  EXPECT_EQ(seats_.taken(), 0u);
}

// A segment that says it has `flows` flows, all in use; of every tenth a request is outstanding.
ring::Segment full_segment(uint32_t part, uint32_t flows) {
  ring::Segment segment = *ring::make_segment(1, "", part);
  const ring::MappedSegment mapped(segment.fd.get(), segment.geometry);
  if (!mapped.is_mapped()) std::abort();
  mapped.writer().clock = RAILWITNESS_CLOCK_MONO_NS;
  mapped.writer().flows = flows;
  for (uint32_t i = 0; i < flows; ++i) {
    mapped.identity(i).sequence = 2;
    mapped.identity(i).qpn = i;
    if (i % 10 == 0) mapped.state(i).posted = mapped.state(i).oldest_post_ticks = 1;
  }
  return segment;
}

TEST_F(ProcessTableTest, JoinsTheSegmentsOfOneProcess) {
  ASSERT_TRUE(seats_.try_take(7) && seats_.try_take_part(7, 1));
  table_.add({1, 0, 7, "job", full_segment(0, 256)}, now_mono_ns());
  table_.add_part({1, 7, full_segment(1, 100)});
  table_.add_part({99, 7, full_segment(1, 100)});  // of nobody
  table_.read(now_mono_ns());
  EXPECT_THAT(only().flows, SizeIs(356));
  EXPECT_EQ(only().flows.back().index, 355u);
  size_t left_out = 0;
  const auto few = table_.facts(40, left_out);
  ASSERT_THAT(few.at(0).flows, SizeIs(40));
  EXPECT_EQ(left_out, 316u);
  EXPECT_THAT(table_.totals(few), testing::ElementsAre("process 0 has 356 flows, of which 40 are told here"));
  EXPECT_THAT(table_.totals(table_.facts()), IsEmpty());
  for (size_t i = 0; i < 36; ++i) EXPECT_TRUE(few[0].flows[i].oldest_post_mono_ns.has_value()) << i;
  EXPECT_THAT(only().flows, SizeIs(356)) << "the table keeps them";
}

TEST_F(ProcessTableTest, KeepsOfTheGoneWhatMattersAndNoMore) {
  for (uint64_t i = 0; i < ProcessTable::kMaxGone; ++i) {
    ASSERT_TRUE(seats_.try_take(1000));
    table_.add({i, 0, 1000, "job", full_segment(0, 256)}, now_mono_ns());
    table_.lose_connection(i, now_mono_ns());
  }
  table_.read(now_mono_ns());
  size_t flows = 0;
  for (const model::Process& process : table_.facts()) flows += process.flows.size();
  EXPECT_THAT(table_.facts(), SizeIs(ProcessTable::kMaxGone)) << "each is remembered";
  EXPECT_EQ(flows, ProcessTable::kMaxGoneFlows);
  EXPECT_THAT(table_.facts().back().flows, SizeIs(256)) << "the last one with all";
  EXPECT_THAT(table_.facts().front().flows, IsEmpty());
}

TEST_F(ProcessTableTest, ReadsNoMoreLinesThanItHasRoomForAndLeavesSomeToOtherUsers) {
  for (uint64_t i = 0; i < 27; ++i) {
    ASSERT_TRUE(seats_.try_take(1000));
    table_.add({i, 0, 1000, "job", full_segment(0, 0)}, now_mono_ns());
    table_.add_part({i, 1000, full_segment(4, 4096)});
  }
  ASSERT_TRUE(seats_.try_take(1001));
  table_.add({77, 0, 1001, "other", full_segment(0, 256)}, now_mono_ns());
  table_.read(now_mono_ns());
  EXPECT_EQ(table_.lines_not_read(), 27 * 4096u - Shares::most_of_one_user(ProcessTable::kMaxLines));
  EXPECT_THAT(table_.facts().back().flows, SizeIs(256));
}

TEST_F(ProcessTableTest, ReadsManyInSeveralTurnsAndMissesNone) {
  constexpr uint64_t kProcesses = 40;
  for (uint64_t i = 0; i < kProcesses; ++i) {
    ASSERT_TRUE(seats_.try_take(1000));
    table_.add({i, 0, 1000, "job", full_segment(0, 0)}, now_mono_ns());
    table_.add_part({i, 1000, full_segment(4, 1024)});
  }
  int turns = 1;
  while (!table_.read_some(now_mono_ns())) {
    ++turns;
    if (turns == 2) table_.lose_connection(0, now_mono_ns());  // one that was read goes meanwhile
    if (turns == 3) {  // and one comes
      ASSERT_TRUE(seats_.try_take(1000));
      table_.add({kProcesses, 0, 1000, "late", full_segment(0, 256)}, now_mono_ns());
    }
  }
  EXPECT_EQ(turns, 4) << "40 times 1024 + 256, at 16384 a turn";
  EXPECT_EQ(table_.lines_not_read(), 0u);
  size_t all = 0;
  for (const model::Process& process : table_.facts()) all += process.flows.size() == 1024;
  EXPECT_EQ(all, kProcesses - 1) << "the one that is gone keeps fewer";
}

class RestoredProcess : public ProcessTableTest {
 protected:
  StoredSegment stored(const SegmentOwner& owner, ring::Segment segment) {
    return {owner, stored_name(owner, segment), std::move(segment)};
  }
  static SegmentOwner owner_of(int32_t pid, uint64_t start_time) { return {pid, start_time, 1000, "job"}; }
  static uint64_t start_time_of(int32_t pid) { return host::ProcessWatch("/proc", pid).start_time(); }
};

TEST_F(RestoredProcess, IsReadBeforeItComesOverAndHasOneSeatAfterwards) {
  const Child child;
  const SegmentOwner owner = owner_of(child.pid(), start_time_of(child.pid()));
  ASSERT_TRUE(table_.restore(stored(owner, full_segment(0, 256)), now_mono_ns()));
  ASSERT_TRUE(table_.restore(stored(owner, full_segment(1, 512)), now_mono_ns()));
  table_.read(now_mono_ns());
  EXPECT_NE(only().state, ProcessState::kGone);
  EXPECT_THAT(only().flows, SizeIs(256 + 512));
  EXPECT_EQ(seats_.taken(), 1u);
  EXPECT_EQ(seats_.blocks_taken(), 2u);
  EXPECT_EQ(table_.add(hand_over(child.pid(), 1), now_mono_ns()), std::nullopt) << "no connection is to be closed";
  EXPECT_EQ(only().pid, child.pid());
  EXPECT_EQ(seats_.taken(), 1u);
  EXPECT_EQ(seats_.blocks_taken(), 0u);
}

TEST_F(RestoredProcess, ThatEndedMeanwhileIsToldAsGoneWithWhatItLeft) {
  Child child;
  const SegmentOwner owner = owner_of(child.pid(), start_time_of(child.pid()));
  child.end();
  ASSERT_TRUE(table_.restore(stored(owner, full_segment(0, 256)), now_mono_ns()));
  table_.read(now_mono_ns());
  EXPECT_EQ(only().state, ProcessState::kGone);
  EXPECT_THAT(only().flows, SizeIs(256));
  EXPECT_EQ(seats_.taken(), 0u);
}

TEST_F(RestoredProcess, IsNotAnotherOneThatHasItsNumberNow) {
  const Child child;
  ASSERT_TRUE(table_.restore(stored(owner_of(child.pid(), start_time_of(child.pid()) + 1), full_segment(0, 256)), now_mono_ns()));
  table_.read(now_mono_ns());
  EXPECT_EQ(only().state, ProcessState::kGone);
}

TEST_F(RestoredProcess, IsTheOneOfTheLastSegmentWhereTheStoreHasTwo) {
  const Child child;
  const SegmentOwner owner = owner_of(child.pid(), start_time_of(child.pid()));
  ASSERT_TRUE(table_.restore(stored(owner, full_segment(0, 256)), now_mono_ns()));
  ASSERT_TRUE(table_.restore(stored(owner, full_segment(0, 100)), now_mono_ns()));
  table_.read(now_mono_ns());
  EXPECT_THAT(only().flows, SizeIs(100));
  EXPECT_EQ(seats_.taken(), 1u);
}

TEST_F(RestoredProcess, WithoutASeatOrItsFirstSegmentIsNotTaken) {
  const Child child;
  const SegmentOwner owner = owner_of(child.pid(), start_time_of(child.pid()));
  EXPECT_FALSE(table_.restore(stored(owner, full_segment(1, 512)), now_mono_ns())) << "no first segment";
  while (seats_.try_take(1000)) {
  }
  EXPECT_FALSE(table_.restore(stored(owner, full_segment(0, 256)), now_mono_ns()));
  EXPECT_THAT(table_.facts(), IsEmpty());
  EXPECT_EQ(seats_.blocks_taken(), 0u);
}

TEST_F(RestoredProcess, WasUnwitnessedUntilItWasReadAgain) {
  const Child child;
  const SegmentOwner owner = owner_of(child.pid(), start_time_of(child.pid()));
  ring::Segment segment = full_segment(0, 1);
  railwitness_writer writer{};
  const auto at = static_cast<off_t>(segment.geometry.writer_offset);
  ASSERT_EQ(pread(segment.fd.get(), &writer, sizeof(writer), at), static_cast<ssize_t>(sizeof(writer)));
  writer.clock = RAILWITNESS_CLOCK_MONO_NS;
  const int64_t lost = now_mono_ns();
  writer.alone_begin_ticks = static_cast<uint64_t>(lost);  // and no end: it has not come over
  ASSERT_EQ(pwrite(segment.fd.get(), &writer, sizeof(writer), at), static_cast<ssize_t>(sizeof(writer)));
  const int64_t restored = lost + 1'000'000;
  ASSERT_TRUE(table_.restore(stored(owner, std::move(segment)), restored));
  table_.read(now_mono_ns());
  EXPECT_EQ(only().alone_begin_mono_ns, lost);
  EXPECT_EQ(only().alone_end_mono_ns, restored);
}

TEST(Seats, CountUsersAndAll) {
  Seats seats(4);
  EXPECT_TRUE(seats.try_take(1) && seats.try_take(1) && seats.try_take(1));
  EXPECT_FALSE(seats.try_take(1));
  EXPECT_TRUE(seats.try_take(2));
  EXPECT_FALSE(seats.try_take(3));
  seats.give_back(1);
  seats.give_back(9);
  EXPECT_TRUE(seats.try_take(3));
  Seats one(1);
  EXPECT_TRUE(one.try_take(5));
  EXPECT_FALSE(one.try_take(6));
}

}  // namespace
}  // namespace railwitness::sidecar
