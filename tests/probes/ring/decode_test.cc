#include "probes/ring/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/probes/ring/hand_segment.h"

namespace railwitness::ring {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(DecodeSegment, GivesTheFlowOfAnHonestWriter) {
  HandSegment segment;
  segment.add_rail("mlx5_0");
  segment.add_rail("mlx5_1");
  const uint32_t flow = segment.add_flow(0x1a2b, 1);
  segment.identity(flow).peer_qpn = 77;
  segment.identity(flow).local_gid[0] = 0xfe;
  segment.identity(flow).local_gid[1] = 0x80;
  segment.identity(flow).local_gid[15] = 9;
  railwitness_state& state = segment.state(flow);
  state.posted = 10;
  state.completed = 7;
  state.posted_bytes = 1000;
  state.completed_bytes = 700;
  state.oldest_post_ticks = ticks_at(kNow - 3 * kSecond);
  state.last_completion_ticks = ticks_at(kNow - 4 * kSecond);

  const DecodedSegment decoded = segment.decode();
  EXPECT_EQ(decoded.problem, "");
  EXPECT_EQ(decoded.attach, model::Attach::kStub);
  ASSERT_THAT(decoded.flows, SizeIs(1));
  const model::Flow& facts = decoded.flows[0].facts;
  EXPECT_EQ(facts.device, "mlx5_1");
  EXPECT_EQ(facts.qpn, 0x1a2bu);
  EXPECT_EQ(facts.peer_qpn, 77u);
  EXPECT_EQ(facts.local_gid, "fe80:0000:0000:0000:0000:0000:0000:0009");
  EXPECT_EQ(facts.peer_gid, "");
  EXPECT_EQ(facts.direction, model::Direction::kSend);
  EXPECT_EQ(facts.role, model::Role::kData);
  EXPECT_EQ(facts.posted - facts.completed, 3u);
  EXPECT_EQ(facts.oldest_post_mono_ns, kNow - 3 * kSecond);
  EXPECT_EQ(facts.last_completion_mono_ns, kNow - 4 * kSecond);
  EXPECT_FALSE(facts.last_post_mono_ns.has_value()) << "0 ticks is never";
  EXPECT_FALSE(facts.destroyed);
  EXPECT_EQ(decoded.flows[0].contradiction, "");
}

TEST(DecodeSegment, ASendConnectionsWaitIsOverWithItsNextPost) {
  HandSegment segment;
  segment.add_rail("eth0");
  const uint32_t flow = segment.add_flow(5);
  railwitness_state& state = segment.state(flow);
  state.posted = state.completed = 1;
  state.last_post_ticks = ticks_at(kNow - 5 * kSecond);
  state.receive_wait_ticks = ticks_at(kNow - 3 * kSecond);
  segment.identity(flow).kind = RAILWITNESS_FLOW_CONNECTION;
  EXPECT_TRUE(segment.decode().flows[0].facts.connection);
  EXPECT_EQ(segment.decode().flows[0].facts.receive_wait_mono_ns, kNow - 3 * kSecond);
  state.last_post_ticks = ticks_at(kNow - 2 * kSecond);
  EXPECT_FALSE(segment.decode().flows[0].facts.receive_wait_mono_ns.has_value());
  segment.identity(flow).kind = RAILWITNESS_FLOW_QUEUE_PAIR;
  EXPECT_TRUE(segment.decode().flows[0].facts.receive_wait_mono_ns.has_value()) << "of a queue pair it is a receive's";
}

// A reader keeps its flows from one reading to the next.
TEST(FlowDecoder, LeavesNothingOfAnEarlierState) {
  HandSegment segment;
  segment.add_rail("eth0");
  const uint32_t line = segment.add_flow(5);
  segment.identity(line).kind = RAILWITNESS_FLOW_CONNECTION;
  railwitness_state& state = segment.state(line);
  state.posted = 2;
  state.completed = 1;
  state.last_post_ticks = ticks_at(kNow - 5 * kSecond);
  state.oldest_post_ticks = ticks_at(kNow - 5 * kSecond);
  state.receive_wait_ticks = ticks_at(kNow - 3 * kSecond);
  state.first_error_ticks = ticks_at(kNow - 4 * kSecond);
  state.errors = 1;
  const FlowContext context{RAILWITNESS_CLOCK_TSC, false, {"eth0"}};
  const FlowDecoder decoder(segment.bytes(), segment.geometry_used(), 0, context, test_bounds());
  model::Flow flow;
  decoder.read_identity(line, flow);
  decoder.read_state(line, flow);
  ASSERT_TRUE(flow.oldest_post_mono_ns && flow.receive_wait_mono_ns && flow.first_error);

  state.completed = 2;
  state.last_post_ticks = ticks_at(kNow - 2 * kSecond);  // after the wait
  state.first_error_ticks = 0;
  state.errors = 0;
  decoder.read_state(line, flow);
  EXPECT_FALSE(flow.oldest_post_mono_ns.has_value());
  EXPECT_FALSE(flow.receive_wait_mono_ns.has_value()) << "the wait is over";
  EXPECT_FALSE(flow.first_error.has_value());
  EXPECT_EQ(flow.errors, 0u);
  EXPECT_EQ(flow.last_post_mono_ns, kNow - 2 * kSecond);

  state = {};
  decoder.read_state(line, flow);
  EXPECT_FALSE(flow.first_post_mono_ns || flow.last_post_mono_ns || flow.last_completion_mono_ns ||
               flow.last_receive_mono_ns);
  EXPECT_EQ(flow.posted + flow.completed + flow.receives_posted + flow.received_bytes, 0u);
}

TEST(DecodeSegment, ClampsEveryCountToItsTableAndSaysSo) {
  HandSegment segment;
  segment.writer().threads = segment.writer().rails = segment.writer().comms = segment.writer().flows = UINT32_MAX;
  for (uint32_t i = 0; i < RAILWITNESS_FLOW_CAPACITY; ++i) segment.identity(i).sequence = 2;
  const DecodedSegment decoded = segment.decode();
  EXPECT_THAT(decoded.flows, SizeIs(RAILWITNESS_FLOW_CAPACITY));
  EXPECT_THAT(decoded.problem, HasSubstr("4294967295 threads in a table of 64"));
}

TEST(DecodeSegment, ReplacesWhatIsNotPlainInNames) {
  HandSegment segment;
  segment.add_rail("mlx5_0\"><script>\n\x1b[31m\xff");
  segment.add_flow(1, 0);
  segment.add_comm(0, 1);
  std::memset(segment.comm(0).name, 'a', sizeof(segment.comm(0).name));  // without an end
  const DecodedSegment decoded = segment.decode();
  EXPECT_EQ(decoded.flows.at(0).facts.device, "mlx5_0???script????31m?");
  EXPECT_EQ(decoded.comms.at(0).name, std::string(64, 'a'));
}

TEST(DecodeSegment, TakesEnumerationsOutOfRangeAsUnknown) {
  HandSegment segment;
  segment.writer().attach = 99;
  const uint32_t flow = segment.add_flow(1, UINT32_MAX);
  segment.identity(flow).direction = 200;
  segment.identity(flow).role = 4;
  const DecodedSegment decoded = segment.decode();
  EXPECT_EQ(decoded.attach, model::Attach::kNone);
  EXPECT_EQ(decoded.flows.at(0).facts.direction, model::Direction::kUnknown);
  EXPECT_EQ(decoded.flows.at(0).facts.role, model::Role::kUnknown);
  EXPECT_EQ(decoded.flows.at(0).facts.device, "");
}

TEST(DecodeSegment, SkipsLinesThatAreFreeOrBeingWritten) {
  HandSegment segment;
  segment.add_flow(1);
  segment.add_flow(2);
  segment.add_flow(3);
  segment.identity(0).sequence = 0;
  segment.identity(1).sequence = 5;
  const DecodedSegment decoded = segment.decode();
  ASSERT_THAT(decoded.flows, SizeIs(1));
  EXPECT_EQ(decoded.flows[0].facts.qpn, 3u);
  EXPECT_EQ(decoded.flows[0].facts.index, 2u);
}

TEST(DecodeSegment, MovesStampsIntoTheLifeOfTheSegment) {
  HandSegment segment;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).posted = 1;
  segment.state(flow).oldest_post_ticks = 1;                              // before the segment was made
  segment.state(flow).last_post_ticks = ticks_at(kNow + 1000 * kSecond);  // in the future
  segment.state(flow).last_receive_ticks = UINT64_MAX;
  segment.state(flow).last_completion_ticks = uint64_t{1} << 63;
  const model::Flow facts = segment.decode().flows.at(0).facts;
  EXPECT_EQ(facts.oldest_post_mono_ns, kCreated);
  EXPECT_EQ(facts.last_post_mono_ns, kNow);
  EXPECT_GE(*facts.last_receive_mono_ns, kCreated);
  EXPECT_LE(*facts.last_receive_mono_ns, kNow);
  EXPECT_GE(*facts.last_completion_mono_ns, kCreated);
  EXPECT_LE(*facts.last_completion_mono_ns, kNow);
}

TEST(DecodeSegment, BelievesOlderStampsOfLinesThatWereTakenOverOnlyBackToTheStartOfTheProcess) {
  HandSegment segment;
  const uint32_t flow = segment.add_flow(1);
  segment.writer().copied_forward = 1;
  segment.state(flow).posted = 2;
  segment.writer().clock = RAILWITNESS_CLOCK_MONO_NS;
  segment.state(flow).oldest_post_ticks = static_cast<uint64_t>(kCreated - 20 * kSecond);
  segment.state(flow).first_post_ticks = 1;
  const model::Flow facts = segment.decode().flows.at(0).facts;
  EXPECT_EQ(facts.oldest_post_mono_ns, kCreated - 20 * kSecond);
  EXPECT_EQ(facts.first_post_mono_ns, kStart);
}

TEST(DecodeSegment, ReadsNanosecondsWhereTheWriterHasNoInvariantCounter) {
  HandSegment segment;
  segment.writer().clock = RAILWITNESS_CLOCK_MONO_NS;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).last_post_ticks = static_cast<uint64_t>(kNow - 123);
  segment.state(flow).last_completion_ticks = UINT64_MAX;
  const model::Flow facts = segment.decode().flows.at(0).facts;
  EXPECT_EQ(facts.last_post_mono_ns, kNow - 123);
  EXPECT_EQ(facts.last_completion_mono_ns, kNow);
}

TEST(DecodeSegment, GivesNoTimesForAClockItDoesNotKnow) {
  HandSegment segment;
  segment.writer().clock = 17;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).posted = 1;
  segment.state(flow).oldest_post_ticks = 12345;
  EXPECT_FALSE(segment.decode().flows.at(0).facts.oldest_post_mono_ns.has_value());
}

TEST(DecodeSegment, TellsWhatThePluginSaysOfItsOwnCost) {
  HandSegment segment;
  EXPECT_FALSE(segment.decode().witness_cost) << "a plugin of before minor 4 says nothing";
  railwitness_writer& w = segment.writer();
  w.cost_events = 640;
  w.cost_ppm = 1234;
  w.cost_max_permille = 20;
  w.cost_event_ticks = 48;
  EXPECT_FALSE(segment.decode().witness_cost->counters_only);
  EXPECT_FALSE(segment.decode().witness_cost->since_mono_ns);
  w.detail = RAILWITNESS_DETAIL_COUNTERS;
  w.detail_since_ticks = ticks_at(kNow - kSecond);
  w.detail_ppm = 55'000;
  w.detail_reductions = 3;
  const model::WitnessCost cost = *segment.decode().witness_cost;
  EXPECT_EQ(cost.events, 640u);
  EXPECT_EQ(cost.ppm, 1234u);
  EXPECT_EQ(cost.max_permille, 20u);
  EXPECT_EQ(cost.event_ns, static_cast<uint32_t>(48 * test_bounds().rate.ns_per_tick));
  EXPECT_TRUE(cost.counters_only);
  EXPECT_EQ(cost.since_ppm, 55'000u);
  EXPECT_EQ(cost.reductions, 3u);
  EXPECT_NEAR(static_cast<double>(*cost.since_mono_ns), static_cast<double>(kNow - kSecond), 1000);
}

TEST(DecodeSegment, BelievesNoCostBeyondWhatThereCanBe) {
  HandSegment segment;
  memset(&segment.writer().cost_events, 0xff, offsetof(railwitness_writer, reserved) - offsetof(railwitness_writer, cost_events));
  const model::WitnessCost cost = *segment.decode().witness_cost;
  EXPECT_EQ(cost.max_permille, 1000u);
  EXPECT_FALSE(cost.counters_only) << "a detail that is not known";
  EXPECT_LE(cost.event_ns, 4'000'000'000u);
  EXPECT_LE(*cost.since_mono_ns, kNow);
}

TEST(DecodeSegment, SeesThatMoreWasCompletedThanPosted) {
  HandSegment segment;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).posted = 5;
  segment.state(flow).completed = 7;
  EXPECT_EQ(segment.decode().flows.at(0).contradiction, "flow 0: 7 requests completed of 5 posted");
}

TEST(DecodeSegment, DropsTheOldestPostWhenNothingIsOutstanding) {
  HandSegment segment;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).posted = segment.state(flow).completed = 5;
  segment.state(flow).oldest_post_ticks = ticks_at(kNow - kSecond);
  EXPECT_FALSE(segment.decode().flows.at(0).facts.oldest_post_mono_ns.has_value());
}

TEST(DecodeSegment, RefusesRanksThatCannotBe) {
  HandSegment segment;
  segment.add_comm(3, 4);
  segment.add_comm(7, 4);
  segment.add_comm(-1, 4);
  segment.add_comm(0, INT32_MAX);
  const DecodedSegment decoded = segment.decode();
  ASSERT_THAT(decoded.comms, SizeIs(1));
  EXPECT_EQ(decoded.comms[0].rank, 3);
  EXPECT_EQ(decoded.problem, "communicator 1: rank 7 of 4");
}

TEST(DecodeSegment, TellsTheSpanWithoutASidecar) {
  HandSegment segment;
  segment.writer().clock = RAILWITNESS_CLOCK_MONO_NS;
  segment.writer().alone_begin_ticks = static_cast<uint64_t>(kCreated - 3 * kSecond);
  segment.writer().alone_end_ticks = static_cast<uint64_t>(kCreated);
  const DecodedSegment decoded = segment.decode();
  EXPECT_EQ(decoded.alone_begin_mono_ns, kCreated - 3 * kSecond);
  EXPECT_EQ(decoded.alone_end_mono_ns, kCreated);
}

TEST(DecodeSegment, TellsTheFirstError) {
  HandSegment segment;
  const uint32_t flow = segment.add_flow(1);
  segment.state(flow).errors = 3;
  segment.state(flow).first_error_status = 12;
  segment.state(flow).first_error_vendor = 0x81;
  segment.state(flow).first_error_ticks = ticks_at(kNow - kSecond);
  const model::Flow facts = segment.decode().flows.at(0).facts;
  ASSERT_TRUE(facts.first_error.has_value());
  EXPECT_EQ(facts.first_error->status, 12u);
  EXPECT_EQ(facts.first_error->vendor, 0x81u);
  EXPECT_EQ(facts.first_error->mono_ns, kNow - kSecond);
  EXPECT_EQ(facts.errors, 3u);
}

TEST(DecodeSegment, StandsBytesThatEndAnywhere) {
  HandSegment segment;
  segment.add_rail("mlx5_0");
  segment.add_thread(1, 2);
  segment.add_comm(0, 2);
  for (int i = 0; i < 256; ++i) segment.add_flow(1);
  for (size_t length = 0; length < segment.geometry_used().histograms_offset; length += 61) {
    decode_segment(segment.bytes().first(length), segment.geometry_used(), test_bounds());
  }
  EXPECT_THAT(decode_segment({}, segment.geometry_used(), test_bounds()).flows, IsEmpty());
}

TEST(DecodeSegment, StandsNoise) {
  HandSegment segment;
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    for (std::byte& byte : segment.bytes().first(segment.geometry_used().histograms_offset)) {
      byte = static_cast<std::byte>(random());
    }
    const DecodedSegment decoded = segment.decode();
    EXPECT_LE(decoded.flows.size(), size_t{RAILWITNESS_FLOW_CAPACITY});
    for (const DecodedFlow& flow : decoded.flows) {
      EXPECT_LE(flow.facts.last_post_mono_ns.value_or(kNow), kNow);
    }
  }
}

std::span<const std::byte> ring_of(HandSegment& segment, uint64_t flow) {
  return segment.bytes().subspan(segment.geometry_used().records_offset +
                                     flow * RAILWITNESS_RECORDS_PER_FLOW * sizeof(railwitness_record),
                                 RAILWITNESS_RECORDS_PER_FLOW * sizeof(railwitness_record));
}

void write_record(HandSegment& segment, uint64_t index) {
  railwitness_record& record = segment.record(0, index % RAILWITNESS_RECORDS_PER_FLOW);
  record.sequence = index + 1;
  record.bytes = index;
  record.post_ticks = ticks_at(kCreated + kSecond);
  record.flags = RAILWITNESS_RECORD_SIGNALLED;
}

TEST(DecodeRecords, GivesTheLastOnesOldestFirst) {
  HandSegment segment;
  for (uint64_t i = 0; i < 1000; ++i) write_record(segment, i);
  segment.record(0, 999 % 128).done_ticks = ticks_at(kCreated + 2 * kSecond);
  segment.record(0, 999 % 128).status = 12;
  segment.record(0, 998 % 128).status = 12;
  const auto records = decode_records(ring_of(segment, 0), 1000, 1000, RAILWITNESS_CLOCK_TSC, test_bounds());
  ASSERT_THAT(records, SizeIs(127)) << "the writer may be at the oldest slot already";
  EXPECT_EQ(records.front().index, 873u);
  EXPECT_EQ(records.back().index, 999u);
  EXPECT_TRUE(records.back().signalled);
  EXPECT_EQ(records.back().post_mono_ns, kCreated + kSecond);
  EXPECT_EQ(records.back().done_mono_ns, kCreated + 2 * kSecond);
  EXPECT_EQ(records.back().status, 12);
  EXPECT_EQ(records[records.size() - 2].status, 0) << "without a completion there is no status";
}

TEST(DecodeRecords, LeavesOutSlotsThatWereOverwrittenDuringTheCopy) {
  HandSegment segment;
  for (uint64_t i = 0; i < 128; ++i) write_record(segment, i);
  const auto records = decode_records(ring_of(segment, 0), 128, 228, RAILWITNESS_CLOCK_TSC, test_bounds());
  ASSERT_THAT(records, SizeIs(27));
  EXPECT_EQ(records.front().index, 101u);
  EXPECT_THAT(decode_records(ring_of(segment, 0), 128, 1000, RAILWITNESS_CLOCK_TSC, test_bounds()), IsEmpty());
}

TEST(DecodeRecords, LeavesOutASlotWhoseSequenceIsNotItsOwn) {
  HandSegment segment;
  for (uint64_t i = 0; i < 5; ++i) write_record(segment, i);
  segment.record(0, 3).sequence = 0;
  segment.record(0, 2).sequence = 131;
  EXPECT_THAT(decode_records(ring_of(segment, 0), 5, 5, RAILWITNESS_CLOCK_TSC, test_bounds()), SizeIs(3));
}

TEST(DecodeRecords, StandsCountsAtTheEndOfTheirRange) {
  HandSegment segment;
  const auto ring = ring_of(segment, 0);
  EXPECT_THAT(decode_records(ring, UINT64_MAX, UINT64_MAX, 1, test_bounds()), IsEmpty());
  EXPECT_THAT(decode_records(ring, UINT64_MAX, 3, 1, test_bounds()), IsEmpty());
  EXPECT_THAT(decode_records(ring, 0, UINT64_MAX, 1, test_bounds()), IsEmpty());
  EXPECT_THAT(decode_records({}, 5, 5, 1, test_bounds()), IsEmpty());
}

TEST(DecodeControl, GivesEventsOldestFirstAndSkipsUnfinishedOnes) {
  HandSegment segment;
  for (uint64_t i = 0; i < 1030; ++i) {
    railwitness_control& event = segment.control(i % RAILWITNESS_CONTROL_CAPACITY);
    event.sequence = i + 1;
    event.kind = RAILWITNESS_CONTROL_QP_CREATED;
    event.rail = UINT16_MAX;
    event.qpn = static_cast<uint32_t>(i);
    event.ticks = ticks_at(kCreated + kSecond);
  }
  segment.control(1029 % RAILWITNESS_CONTROL_CAPACITY).sequence = 0;
  const auto ring = std::span<const std::byte>(segment.bytes())
                        .subspan(segment.geometry_used().control_offset,
                                 RAILWITNESS_CONTROL_CAPACITY * sizeof(railwitness_control));
  const auto events = decode_control(ring, 1030, RAILWITNESS_CLOCK_TSC, test_bounds());
  ASSERT_THAT(events, SizeIs(1023));
  EXPECT_EQ(events.front().index, 6u);
  EXPECT_EQ(events.back().qpn, 1028u);
  EXPECT_FALSE(events.back().rail.has_value());
  EXPECT_THAT(decode_control(ring, UINT64_MAX, RAILWITNESS_CLOCK_TSC, test_bounds()), IsEmpty());
}

}  // namespace
}  // namespace railwitness::ring
