#include "probes/ring/segment_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <random>
#include <thread>

#include "tests/probes/ring/hand_segment.h"
#include "tests/probes/ring/mapped_segment.h"

namespace railwitness::ring {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(MakeSegment, SealsItsSizeAndDescribesItselfInTheHeader) {
  const auto segment = make_segment(7, "01234567-89ab-cdef-0123-456789abcdef\n");
  ASSERT_TRUE(segment.ok()) << segment.status();
  const int fd = segment->fd.get();
  EXPECT_EQ(ftruncate(fd, 0), -1);
  EXPECT_EQ(ftruncate(fd, 1 << 30), -1);
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
  struct stat file {};
  ASSERT_EQ(fstat(fd, &file), 0);
  EXPECT_EQ(static_cast<uint64_t>(file.st_size), segment->geometry.segment_bytes);
  railwitness_segment_header header{};
  ASSERT_EQ(pread(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
  EXPECT_EQ(header.magic, RAILWITNESS_SEGMENT_MAGIC);
  EXPECT_EQ(header.generation, 7u);
  EXPECT_EQ(header.boot_id[0], 0x01);
  EXPECT_EQ(header.boot_id[15], 0xef);
  EXPECT_EQ(header.control_offset, segment->geometry.control_offset);
  EXPECT_EQ(header.segment_bytes, segment->geometry.segment_bytes);
}

TEST(MakeSegment, LeavesABootIdThatIsNoneZero) {
  for (const char* text : {"", "x", "01234567-89ab-cdef-0123-456789abcdef00", "0123"}) {
    const auto segment = make_segment(1, text);
    ASSERT_TRUE(segment.ok());
    railwitness_segment_header header{};
    ASSERT_EQ(pread(segment->fd.get(), &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    for (const uint8_t byte : header.boot_id) EXPECT_EQ(byte, 0);
  }
}

class SegmentReaderTest : public testing::Test {
 protected:
  SegmentReaderTest() {
    Segment segment = *make_segment(1, "");
    fd_ = segment.fd.get();
    segment.created_mono_ns = kCreated;
    reader_.emplace(std::move(segment));
  }
  const model::Process& read(int64_t now_mono_ns = kNow) {
    hand_.write_to(fd_);
    EXPECT_TRUE(reader_->read({{1'000'000, kCreated, 0.5}, kStart, now_mono_ns}, buffer_, process_).ok());
    return process_;
  }

  HandSegment hand_;
  int fd_ = -1;
  std::optional<SegmentReader> reader_;
  CopyBuffer buffer_;
  model::Process process_;
};

TEST_F(SegmentReaderTest, GivesNoFactsOfAnUntouchedSegment) {
  EXPECT_TRUE(reader_->read({{}, 0, kNow}, buffer_, process_).ok());
  EXPECT_TRUE(process_.flows.empty());
  EXPECT_EQ(process_.segment_problem, "");
}

TEST_F(SegmentReaderTest, TimesTheChangeOfThreadCounters) {
  hand_.add_thread(11, 5);
  EXPECT_EQ(read(kNow).threads.at(0).last_change_mono_ns, kNow);
  EXPECT_EQ(read(kNow + kSecond).threads.at(0).last_change_mono_ns, kNow);
  hand_.thread(0).polls = 1;
  EXPECT_EQ(read(kNow + 2 * kSecond).threads.at(0).last_change_mono_ns, kNow + 2 * kSecond);
}

TEST_F(SegmentReaderTest, DoesNotTakeCountersFromBeforeTheSegmentForACallNow) {
  hand_.writer().copied_forward = 1;
  hand_.add_thread(11, 5);
  EXPECT_FALSE(read(kNow).threads.at(0).last_change_mono_ns.has_value());
}

TEST_F(SegmentReaderTest, NotesACounterThatGoesBackAndNeverForgetsIt) {
  hand_.add_flow(1);
  hand_.state(0).posted = 10;
  EXPECT_EQ(read().segment_problem, "");
  hand_.state(0).posted = 9;
  EXPECT_EQ(read().segment_problem, "flow 0: posted went back from 10 to 9");
  hand_.state(0).posted = 20;
  EXPECT_EQ(read().segment_problem, "flow 0: posted went back from 10 to 9");
}

TEST_F(SegmentReaderTest, LetsANewQueuePairStartAtZeroInAnOldLine) {
  hand_.add_flow(1);
  hand_.state(0).posted = 10;
  read();
  hand_.identity(0).sequence = 4;
  hand_.identity(0).qpn = 2;
  hand_.state(0).posted = 0;
  EXPECT_EQ(read().segment_problem, "");
}

TEST_F(SegmentReaderTest, NotesAContradictionOnlyWhenItStays) {
  hand_.add_flow(1);
  hand_.state(0).posted = 10;
  hand_.state(0).completed = 10;
  read();
  hand_.state(0).completed = 11;  // a copy between two words can look like this
  EXPECT_EQ(read().segment_problem, "");
  EXPECT_EQ(read().segment_problem, "flow 0: 11 requests completed of 10 posted");
}

TEST_F(SegmentReaderTest, ReadsRecordsOfOneFlowAndRefusesOneThatIsNot) {
  hand_.add_flow(1);
  hand_.state(0).records = 1;
  hand_.record(0, 0).sequence = 1;
  hand_.record(0, 0).bytes = 4096;
  hand_.writer().control_reserved = 1;
  hand_.control(0).sequence = 1;
  hand_.control(0).kind = RAILWITNESS_CONTROL_ATTACHED;
  read();
  const ReadContext context{{1'000'000, kCreated, 0.5}, kStart, kNow};
  const auto records = reader_->read_records(0, context);
  ASSERT_TRUE(records.ok());
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().bytes, 4096u);
  EXPECT_FALSE(reader_->read_records(RAILWITNESS_FLOW_CAPACITY, context).ok());
  const auto events = reader_->read_control(context);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->at(0).kind, RAILWITNESS_CONTROL_ATTACHED);
}

class FurtherSegmentTest : public SegmentReaderTest {
 protected:
  FurtherSegmentTest() {
    Segment segment = *make_segment(2, "", 1);
    further_fd_ = segment.fd.get();
    segment.created_mono_ns = kCreated;
    reader_->add_part(std::move(segment));
    hand_.add_rail("mlx5_7");
    hand_.add_flow(1);
    further_.add_flow(257);
    further_.add_flow(258);
    further_.state(1).posted = 5;
    further_.state(1).records = 1;
    further_.record(1, 0).sequence = 1;
    further_.record(1, 0).bytes = 99;
  }
  const model::Process& read_both(uint32_t most_flows = UINT32_MAX) {
    hand_.write_to(fd_);
    further_.write_to(further_fd_);
    EXPECT_TRUE(reader_->read({{1'000'000, kCreated, 0.5}, kStart, kNow, most_flows}, buffer_, process_).ok());
    return process_;
  }
  HandSegment further_{1};
  int further_fd_ = -1;
};

TEST_F(FurtherSegmentTest, HasFlowsNumberedOnFromTheFirstAndItsRails) {
  const model::Process& process = read_both();
  ASSERT_THAT(process.flows, SizeIs(3));
  EXPECT_EQ(reader_->lines_in_use(), 3u);
  EXPECT_EQ(process.flows[0].index, 0u);
  EXPECT_EQ(process.flows[2].index, 257u);
  EXPECT_EQ(process.flows[2].qpn, 258u);
  EXPECT_EQ(process.flows[2].posted, 5u);
  EXPECT_EQ(process.flows[2].device, "mlx5_7");
  const auto records = reader_->read_records(257, {{1'000'000, kCreated, 0.5}, kStart, kNow});
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->at(0).bytes, 99u);
  EXPECT_FALSE(reader_->read_records(256 + 512, {{1'000'000, kCreated, 0.5}, kStart, kNow}).ok());
}

TEST_F(FurtherSegmentTest, SaysNothingOfTheProcessItself) {
  further_.writer().unwitnessed_flows = 99;
  further_.writer().attach = RAILWITNESS_ATTACH_LATE;
  further_.writer().threads = further_.writer().rails = further_.writer().comms = UINT32_MAX;
  const model::Process& process = read_both();
  EXPECT_EQ(process.unwitnessed_flows, 0u);
  EXPECT_EQ(process.attach, model::Attach::kStub);
  EXPECT_EQ(process.segment_problem, "");
}

TEST_F(FurtherSegmentTest, IsJudgedByWhatItSaidBefore) {
  read_both();
  further_.add_flow(259);
  further_.state(0).posted = 7;
  EXPECT_EQ(read_both().segment_problem, "");
  further_.identity(1).qpn = 4711;  // and the same sequence: not looked at
  further_.state(1).posted = 4;
  EXPECT_EQ(read_both().segment_problem, "flow 257: posted went back from 5 to 4");
  EXPECT_EQ(process_.flows[2].qpn, 258u);
  further_.identity(0).sequence = 3;  // being written: left out, the others stay what they are
  ASSERT_THAT(read_both().flows, SizeIs(3));
  EXPECT_EQ(process_.flows[1].index, 257u);
  further_.identity(0).sequence = 4;
  further_.identity(0).qpn = 300;
  ASSERT_THAT(read_both().flows, SizeIs(4));
  EXPECT_EQ(process_.flows[1].qpn, 300u);
}

TEST_F(FurtherSegmentTest, IsReadNoFurtherThanThereIsRoom) {
  ASSERT_THAT(read_both(2).flows, SizeIs(2));
  EXPECT_EQ(reader_->lines_in_use(), 3u);
  EXPECT_EQ(process_.flows[1].qpn, 257u);
  EXPECT_THAT(read_both(0).flows, SizeIs(0));
  EXPECT_THAT(read_both().flows, SizeIs(3));
}

TEST_F(FurtherSegmentTest, FullOfNoiseGivesNoMoreFlowsThanItHasLines) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    for (std::byte& byte : further_.bytes()) byte = static_cast<std::byte>(random());
    ASSERT_LE(read_both().flows.size(), size_t{1 + 512});
    for (const model::Flow& flow : process_.flows) ASSERT_LE(flow.last_post_mono_ns.value_or(0), kNow);
  }
}

TEST_F(SegmentReaderTest, LivesThroughAJobThatWritesNoiseAndPunchesHolesAllTheTime) {
  std::atomic<bool> stop = false;
  std::latch started(2);
  const size_t size = geometry().segment_bytes;
  std::thread job([&] {
    const MappedSegment mapped(fd_);
    auto* words = reinterpret_cast<volatile uint64_t*>(mapped.bytes());
    std::mt19937_64 random(3);
    started.arrive_and_wait();
    for (int round = 0; !stop.load(); ++round) {
      for (size_t i = 0; i < geometry().histograms_offset / sizeof(uint64_t); ++i) words[i] = random();
      if (round % 4 == 0) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
    }
  });
  started.arrive_and_wait();
  // Where the processor is shared, the job may not have written anything in 3000 readings.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int i = 0; i < 3000 || (process_.segment_problem.empty() && std::chrono::steady_clock::now() < end); ++i) {
    ASSERT_TRUE(reader_->read({{1'000'000, kCreated, 0.5}, kStart, kNow}, buffer_, process_).ok());
    ASSERT_LE(process_.flows.size(), size_t{RAILWITNESS_FLOW_CAPACITY});
    for (const model::Flow& flow : process_.flows) ASSERT_LE(flow.last_post_mono_ns.value_or(0), kNow);
  }
  stop = true;
  job.join();
  EXPECT_NE(process_.segment_problem, "");
}

// An honest writer at full speed must never be taken for a liar.
TEST_F(SegmentReaderTest, FindsNoFaultWithAnHonestWriterThatIsFast) {
  std::atomic<bool> stop = false;
  std::latch started(2);
  hand_.add_rail("mlx5_0");
  hand_.add_flow(1);
  hand_.write_to(fd_);
  std::thread job([&] {
    const MappedSegment mapped(fd_);
    railwitness_state* state = &mapped.state(0);
    railwitness_identity* identity = &mapped.identity(0);
    const auto store = [](auto& word, auto value) {
      std::atomic_ref(word).store(static_cast<std::remove_reference_t<decltype(word)>>(value),
                                  std::memory_order_release);
    };
    started.arrive_and_wait();
    for (uint64_t i = 1; !stop.load(); ++i) {
      store(state->posted_bytes, i * 100);
      store(state->posted, i);
      store(state->completed, i);
      store(state->completed_bytes, i * 100);
      if (i % 1000 != 0) continue;
      store(identity->sequence, identity->sequence + 1);  // another queue pair takes the line
      store(state->completed, uint64_t{0});
      store(state->completed_bytes, uint64_t{0});
      store(state->posted, uint64_t{0});
      store(state->posted_bytes, uint64_t{0});
      store(identity->sequence, identity->sequence + 1);
      i = 0;
    }
  });
  started.arrive_and_wait();
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(reader_->read({{1'000'000, kCreated, 0.5}, kStart, kNow}, buffer_, process_).ok());
    ASSERT_EQ(process_.segment_problem, "");
  }
  stop = true;
  job.join();
}

// As the plugin does it: never more than one store away from a line that says of itself that it is not filled.
TEST_F(SegmentReaderTest, TakesNoCommunicatorFromALineThatBecomesAnothersMeanwhile) {
  const Geometry g = geometry();
  const MappedSegment mapped(fd_);
  ASSERT_TRUE(mapped.is_mapped());
  railwitness_comm* comms = &mapped.comm(0);
  __atomic_store_n(&mapped.writer().comms, g.comm_capacity, __ATOMIC_RELEASE);
  std::atomic<bool> stop = false;
  std::thread job([&] {
    for (uint64_t k = 1; !stop; ++k) {
      for (uint32_t i = 0; i < g.comm_capacity; ++i) {
        railwitness_comm& line = comms[i];
        const std::string name(40, static_cast<char>('a' + k % 26));
        __atomic_store_n(&line.open, 0u, __ATOMIC_RELEASE);
        __atomic_store_n(&line.comm_hash, k % 26, __ATOMIC_RELEASE);
        __atomic_store_n(&line.nranks, 2, __ATOMIC_RELEASE);
        __atomic_store_n(&line.opened_ticks, k, __ATOMIC_RELEASE);
        for (size_t c = 0; c < name.size(); ++c) __atomic_store_n(&line.name[c], name[c], __ATOMIC_RELEASE);
        __atomic_store_n(&line.open, 1u, __ATOMIC_RELEASE);
        __atomic_store_n(&line.open, 2u, __ATOMIC_RELEASE);
      }
    }
  });
  size_t seen = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(reader_->read({{1'000'000, kCreated, 0.5}, kStart, kNow}, buffer_, process_).ok());
    for (const model::Comm& comm : process_.comms) {
      ++seen;
      EXPECT_EQ(comm.name, std::string(40, static_cast<char>('a' + comm.hash))) << seen;
    }
    if (HasFailure()) break;
  }
  stop = true;
  job.join();
  EXPECT_GT(seen, 0u);
}

TEST(TickClock, AgreesWithTheMonotonicClock) {
  TickClock clock;
  const TickRate first = clock.rate();
  const timespec pause{0, 50'000'000};
  nanosleep(&pause, nullptr);
  clock.sample();
  const TickRate second = clock.rate();
#if defined(__x86_64__)
  const double ticks_ns = static_cast<double>(second.ticks - first.ticks) * second.ns_per_tick;
  EXPECT_NEAR(ticks_ns, static_cast<double>(second.mono_ns - first.mono_ns), 1e6);
#endif
  EXPECT_GE(second.mono_ns - first.mono_ns, 50'000'000);
}

}  // namespace
}  // namespace railwitness::ring
