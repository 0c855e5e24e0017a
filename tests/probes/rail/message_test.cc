#include "probes/rail/message.h"

#include <gtest/gtest.h>

#include <random>

#include "probes/model/words.h"

namespace railwitness::rail {
namespace {

Gid gid(const std::string& text) { return parse_gid(text).value(); }

TEST(Message, ComesBackAsItWasSent) {
  const Message sent{MessageKind::kPong, 2, 77, 0x1234567890, "host0", std::string(64, 'n')};
  const auto bytes = encode_message(sent);
  const auto came = parse_message(bytes);
  ASSERT_TRUE(came.has_value());
  EXPECT_EQ(came->kind, MessageKind::kPong);
  EXPECT_EQ(came->index, 2u);
  EXPECT_EQ(came->round, 77u);
  EXPECT_EQ(came->nonce, 0x1234567890u);
  EXPECT_EQ(came->from_node, "host0");
  EXPECT_EQ(came->to_node, std::string(64, 'n'));
}

TEST(Message, CutsNamesOnBothSidesAlike) {
  const std::string name(100, 'x');
  const auto bytes = encode_message({MessageKind::kPing, 0, 0, 0, name, name});
  EXPECT_EQ(parse_message(bytes)->to_node, wire_name(name));
}

TEST(Message, IgnoresEverythingThatIsNotOneOfOurs) {
  auto bytes = encode_message({MessageKind::kPing, 0, 1, 2, "a", "b"});
  EXPECT_FALSE(parse_message(std::span(bytes).first(bytes.size() - 1)).has_value());
  EXPECT_FALSE(parse_message({}).has_value());
  auto other_kind = bytes;
  other_kind[8] = std::byte{3};
  EXPECT_FALSE(parse_message(other_kind).has_value());
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(parse_message(bytes).has_value());
}

TEST(Gid, IsReadAndWrittenAsSysfsDoes) {
  const std::string text = "fe80:0000:0000:0000:0000:00ff:fe00:0001";
  EXPECT_EQ(model::gid_text(gid(text)), text);
  EXPECT_EQ(model::gid_text(gid("::ffff:10.1.0.2")), "0000:0000:0000:0000:0000:ffff:0a01:0002");
  EXPECT_FALSE(parse_gid("").has_value());
  EXPECT_FALSE(parse_gid("mlx5_0").has_value());
}

TEST(DatagramHeader, GivesTheAddressesOfAGrh) {
  std::array<std::byte, 40> bytes{};
  bytes[0] = std::byte{0x60};
  const Gid source = gid("fe80::1"), destination = gid("fe80::2");
  std::copy_n(reinterpret_cast<const std::byte*>(source.data()), 16, bytes.begin() + 8);
  std::copy_n(reinterpret_cast<const std::byte*>(destination.data()), 16, bytes.begin() + 24);
  const auto addresses = parse_datagram_header(bytes);
  ASSERT_TRUE(addresses.has_value());
  EXPECT_EQ(addresses->source, source);
  EXPECT_EQ(addresses->destination, destination);
}

TEST(DatagramHeader, GivesTheAddressesOfAnIpv4HeaderAfterGarbage) {
  // 20 undefined bytes, then a header of 10.0.0.1 to 10.0.0.2 with its checksum.
  std::array<uint8_t, 40> bytes{};
  bytes.fill(0x66);
  const uint8_t header[20] = {0x45, 0, 0, 0x54, 0, 0, 0x40, 0, 0x40, 0x11, 0x26, 0x97, 10, 0, 0, 1, 10, 0, 0, 2};
  std::copy_n(header, 20, bytes.begin() + 20);
  const auto addresses = parse_datagram_header(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(addresses.has_value());
  EXPECT_EQ(addresses->source, gid("::ffff:10.0.0.1"));
  EXPECT_EQ(addresses->destination, gid("::ffff:10.0.0.2"));
  bytes[0] = 0;
  bytes[30] ^= 1;  // the checksum no longer fits
  EXPECT_FALSE(parse_datagram_header(std::as_bytes(std::span(bytes))).has_value());
  EXPECT_FALSE(parse_datagram_header(std::as_bytes(std::span(bytes).first(39))).has_value());
}

TEST(ChooseSource, TakesTheUsableEntryOfTheTargetsFamily) {
  const std::vector<LocalGid> table = {{gid("fe80::1"), 0, false},
                                       {gid("fe80::1"), 1, true},
                                       {gid("::ffff:10.0.0.1"), 2, false},
                                       {gid("::ffff:10.0.0.1"), 3, true}};
  EXPECT_EQ(choose_source(table, gid("::ffff:10.0.0.9")), 3);
  EXPECT_EQ(choose_source(table, gid("fe80::9")), 1);
  EXPECT_FALSE(choose_source(table, gid("2001:db8::9")).has_value());
  EXPECT_EQ(choose_own(table), gid("::ffff:10.0.0.1"));
  EXPECT_FALSE(choose_own({}).has_value());
}

}  // namespace
}  // namespace railwitness::rail
