#include "plugin/witness/layout.h"

#include "tests/plugin/fake_sidecar.h"

#include <gtest/gtest.h>

#include <functional>

namespace railwitness::test {
namespace {

TEST(Layout, OfOurOwnPassesItsOwnCheck) {
  const auto h = good_header();
  const Status s = witness::check_header(h, h.segment_bytes);
  EXPECT_TRUE(s.is_ok()) << s.what();
  EXPECT_LT(h.segment_bytes, 4u << 20);
  EXPECT_NE(h.created_wall_ns, 0u);
}

TEST(Layout, OfAnotherMinorOrWithUnknownFeaturesOrLargerTablesIsTaken) {
  auto h = good_header();
  h.abi_minor = 99;
  h.features = ~0ull;
  EXPECT_TRUE(witness::check_header(h, h.segment_bytes).is_ok());
  h.comm_capacity += 0;
  h.control_capacity *= 2;
  h.segment_bytes += 64 * RAILWITNESS_CONTROL_CAPACITY;
  EXPECT_TRUE(witness::check_header(h, h.segment_bytes).is_ok());
}

struct Harm {
  const char* name;
  std::function<void(railwitness_segment_header&)> apply;
};

TEST(Layout, ThatCouldHarmIsRefused) {
  using H = railwitness_segment_header;
  const Harm harms[] = {
      {"magic", [](H& h) { h.magic = 1; }},
      {"major", [](H& h) { h.abi_major++; }},
      {"short header", [](H& h) { h.header_bytes = 64; }},
      {"long header", [](H& h) { h.header_bytes = ~0u; }},
      {"size", [](H& h) { h.segment_bytes--; }},
      {"few threads", [](H& h) { h.thread_capacity--; }},
      {"few rails", [](H& h) { h.rail_capacity--; }},
      {"few comms", [](H& h) { h.comm_capacity--; }},
      {"few flows", [](H& h) { h.flow_capacity--; }},
      {"many flows", [](H& h) { h.flow_capacity = ~0u; }},
      {"no records", [](H& h) { h.records_per_flow = 0; }},
      {"other records", [](H& h) { h.records_per_flow = 256; }},
      {"no control", [](H& h) { h.control_capacity = 0; }},
      {"odd control", [](H& h) { h.control_capacity = 1025; }},
      {"huge control", [](H& h) { h.control_capacity = 1u << 31; }},
      {"offset that wraps", [](H& h) { h.states_offset = ~0ull - 63; }},
      {"offset at the end", [](H& h) { h.records_offset = h.segment_bytes; }},
      {"offset off its line", [](H& h) { h.comms_offset += 8; }},
      {"tables on one another", [](H& h) { h.states_offset = h.identities_offset; }},
      {"table on the header", [](H& h) { h.writer_offset = 128; }},
      {"table at zero", [](H& h) { h.control_offset = 0; }},
  };
  for (const Harm& harm : harms) {
    auto h = good_header();
    const uint64_t bytes = h.segment_bytes;
    harm.apply(h);
    EXPECT_FALSE(witness::check_header(h, bytes).is_ok()) << harm.name;
  }
  auto h = good_header();
  h.segment_bytes = witness::kMaxSegmentBytes + 4096;
  EXPECT_FALSE(witness::check_header(h, h.segment_bytes).is_ok()) << "too large";
}

}  // namespace
}  // namespace railwitness::test
