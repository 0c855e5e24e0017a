#include "probes/rail/message.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace railwitness::rail {
namespace {

constexpr uint64_t kMagic = 0x30474E4950575752;  // "RWWPING0", little-endian

struct WireMessage {
  uint64_t magic;
  uint16_t kind;
  uint16_t reserved;
  uint32_t index;
  uint64_t round;
  uint64_t nonce;
  char from_node[kNameBytes];
  char to_node[kNameBytes];
};
static_assert(sizeof(WireMessage) == kMessageBytes);

enum class Family { kIpv4, kLinkLocal, kOther };

Family family_of(const Gid& gid) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(std::begin(kMapped), std::end(kMapped), gid.begin())) return Family::kIpv4;
  if (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80) return Family::kLinkLocal;
  return Family::kOther;
}

std::string bounded_name(const char (&name)[kNameBytes]) { return std::string(name, strnlen(name, kNameBytes)); }

uint8_t byte_at(std::span<const std::byte> bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

Gid mapped_ipv4(std::span<const std::byte> address) {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  std::memcpy(gid.data() + 12, address.data(), 4);
  return gid;
}

// The ones' complement sum of a good IPv4 header is all ones.
bool is_ipv4_header(std::span<const std::byte> header) {
  if (byte_at(header, 0) != 0x45) return false;
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += uint32_t{byte_at(header, i)} << 8 | byte_at(header, i + 1);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

std::string wire_name(const std::string& node) { return node.substr(0, kNameBytes); }

std::array<std::byte, kMessageBytes> encode_message(const Message& message) {
  WireMessage wire{};
  wire.magic = kMagic;
  wire.kind = static_cast<uint16_t>(message.kind);
  wire.index = message.index;
  wire.round = message.round;
  wire.nonce = message.nonce;
  std::memcpy(wire.from_node, message.from_node.data(), std::min(message.from_node.size(), kNameBytes));
  std::memcpy(wire.to_node, message.to_node.data(), std::min(message.to_node.size(), kNameBytes));
  std::array<std::byte, kMessageBytes> bytes;
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  return bytes;
}

std::optional<Message> parse_message(std::span<const std::byte> bytes_untrusted) {
  WireMessage wire;
  if (bytes_untrusted.size() != sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes_untrusted.data(), sizeof(wire));
  const bool known = wire.kind == static_cast<uint16_t>(MessageKind::kPing) ||
                     wire.kind == static_cast<uint16_t>(MessageKind::kPong);
  if (wire.magic != kMagic || !known) return std::nullopt;
  Message message;
  message.kind = static_cast<MessageKind>(wire.kind);
  message.index = wire.index;
  message.round = wire.round;
  message.nonce = wire.nonce;
  message.from_node = bounded_name(wire.from_node);
  message.to_node = bounded_name(wire.to_node);
  return message;
}

std::optional<Gid> parse_gid(const std::string& text) {
  Gid gid{};
  if (inet_pton(AF_INET6, text.c_str(), gid.data()) != 1) return std::nullopt;
  return gid;
}

std::optional<DatagramAddresses> parse_datagram_header(std::span<const std::byte> bytes_untrusted) {
  if (bytes_untrusted.size() < 40) return std::nullopt;
  DatagramAddresses addresses;
  // The first 20 bytes are undefined before an IPv4 header, so that one is recognised first, by its checksum.
  if (is_ipv4_header(bytes_untrusted.subspan(20, 20))) {
    addresses.source = mapped_ipv4(bytes_untrusted.subspan(32, 4));
    addresses.destination = mapped_ipv4(bytes_untrusted.subspan(36, 4));
    return addresses;
  }
  if (byte_at(bytes_untrusted, 0) >> 4 != 6) return std::nullopt;
  std::memcpy(addresses.source.data(), bytes_untrusted.data() + 8, 16);
  std::memcpy(addresses.destination.data(), bytes_untrusted.data() + 24, 16);
  return addresses;
}

std::optional<uint8_t> choose_source(const std::vector<LocalGid>& table, const Gid& target) {
  for (const LocalGid& entry : table) {
    if (entry.usable && family_of(entry.gid) == family_of(target)) return entry.index;
  }
  return std::nullopt;
}

std::optional<Gid> choose_own(const std::vector<LocalGid>& table) {
  for (const Family family : {Family::kIpv4, Family::kOther, Family::kLinkLocal}) {
    for (const LocalGid& entry : table) {
      if (entry.usable && family_of(entry.gid) == family) return entry.gid;
    }
  }
  return std::nullopt;
}

}  // namespace railwitness::rail
