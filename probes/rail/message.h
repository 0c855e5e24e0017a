// What an active probe sends and what comes back: the datagram and the addresses around it. Pure functions.
//
// A ping is answered only by a living sidecar that goes by the name in it; the answer carries the ping's nonce, so
// nobody who did not see the ping can answer it.
#ifndef RAILWITNESS_PROBES_RAIL_MESSAGE_H_
#define RAILWITNESS_PROBES_RAIL_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace railwitness::rail {

enum class MessageKind : uint16_t { kPing = 1, kPong = 2 };

struct Message {
  MessageKind kind = MessageKind::kPing;
  uint32_t index = 0;  // of the packet in its probe
  uint64_t round = 0;  // id of the request
  uint64_t nonce = 0;  // of the probe
  std::string from_node, to_node;  // who asked, who is to answer; at most kNameBytes
};

constexpr size_t kNameBytes = 64;
constexpr size_t kMessageBytes = 32 + 2 * kNameBytes;

// Names that are too long are cut, on both sides alike.
std::array<std::byte, kMessageBytes> encode_message(const Message& message);
std::optional<Message> parse_message(std::span<const std::byte> bytes_untrusted);
std::string wire_name(const std::string& node);  // as it arrives: cut to kNameBytes

using Gid = std::array<uint8_t, 16>;

// "fe80:0000:..." and every other spelling of an IPv6 address.
std::optional<Gid> parse_gid(const std::string& text);

// Source and destination in the 40 bytes that precede a datagram: a GRH, or 20 undefined bytes and an IPv4 header.
struct DatagramAddresses {
  Gid source{}, destination{};
};
std::optional<DatagramAddresses> parse_datagram_header(std::span<const std::byte> bytes_untrusted);

// An entry of a port's address table.
struct LocalGid {
  Gid gid{};
  uint8_t index = 0;
  bool usable = false;  // InfiniBand, or RoCE v2
};

// The entry that can reach `target`: of its family (IPv4, link-local, other). Nothing if there is none.
std::optional<uint8_t> choose_source(const std::vector<LocalGid>& table, const Gid& target);
// The entry to be reached at: IPv4 before global IPv6 before link-local, as the first is what networks route.
std::optional<Gid> choose_own(const std::vector<LocalGid>& table);

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_MESSAGE_H_
